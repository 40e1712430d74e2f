import { parseDurationMs } from '../../core/index.ts';
import { foldName } from '../../wire/http/index.ts';
import {
  asList,
  asMap,
  type ConfigFile,
  isMap,
  nearestWord,
  type Path,
  type RawMap,
  Section,
  textsIn,
} from '../file/index.ts';
import { listedHeaders, RULES_BY_DEFAULT } from '../policies/index.ts';
import {
  AUDIENCE_EXPECTED,
  gatewaySchema,
  routeKeys,
  tokenRules,
  writtenProviders,
} from '../settings/index.ts';
import { EACH, formatSize, parseSizeBytes, secretInFile, secretPaths } from '../values/index.ts';
import { routesIn } from './route-checks.ts';

/** Checks the sections about tokens against the routes. Reads the raw value, as all cross-checks do. */
export function checkIdentity(file: ConfigFile): void {
  const root = asMap(file.value);
  // Validation reports a misspelt key; here it counts as the intended one.
  const isThere = (key: string) => Object.keys(root).some(word => intended(word) === key);
  const section = SECTIONS.find(isThere) ?? null;
  checkRoutes(file, section);
  if (SECTIONS.every(key => root[key] !== undefined)) addBoth(file);
  else if (section === 'identity_provider') checkSole(file, root, isThere('access_tokens'));
  else if (section === 'identity_providers') checkProviders(file);
  else if (root.access_tokens !== undefined) checkTokensAlone(file, root);
  const tokens = new Section(file, ['access_tokens'], root.access_tokens);
  checkIdentityHeaders(tokens);
  checkCertificateField(tokens);
  checkTokenLength(tokens);
  checkDpop(tokens);
  checkTokenKind(tokens, asMap(root.identity_provider));
  for (const provider of writtenProviders(file)) {
    if (provider.path[0] === 'identity_providers') checkTokenKind(provider, provider.raw);
    checkRedirectUris(provider);
  }
}

/** Warns of a redirect URI with a wildcard, as Keycloak and Auth0 allow: the gateway would not redeem codes for it. */
function checkRedirectUris(provider: Section): void {
  const message =
    'the * stands for itself, since URIs are compared character by character: list each one (* is for the port of loopback alone)';
  // A * as the port of another host is an error.
  for (const [index, uri] of asList(provider.raw.redirect_uris).entries())
    if (typeof uri === 'string' && uri.replace(':*', '').includes('*'))
      provider.warn(['redirect_uris', index], message);
}

/** Checks that ID tokens, if accepted, are those for this API, and explains the consequence. */
function checkTokenKind(rules: Section, { client_id: client }: RawMap): void {
  const { token_kind: kind, audience } = rules.raw;
  if (kind !== 'access_or_id') return;
  const everyone =
    'would accept the ID tokens of every client: name the audience, since nothing else distinguishes them';
  const own = `every ID token that the client ${JSON.stringify(client)} ever gets opens this API, and ID tokens are often passed on and logged: have the provider issue tokens for an audience of their own`;
  const also = 'ID tokens for this audience open this API as well: keep them as secret as access tokens';
  if (audience === 'any') rules.add('token_kind', everyone);
  else if (typeof client === 'string' && [audience].flat().includes(client)) rules.warn('token_kind', own);
  else rules.hint('token_kind', also);
}

const SECTIONS = ['identity_provider', 'identity_providers'] as const;

/**
 * The section that a key names, or was probably meant to name. Looks for an exact match first, since two names differ in one
 * letter.
 */
function intended(word: string): string | undefined {
  const known: readonly string[] = [...SECTIONS, 'access_tokens'];
  return known.includes(word) ? word : nearestWord(word, known);
}

function addBoth(file: ConfigFile): void {
  const message =
    '"identity_provider" and "identity_providers" cannot be combined: move the former into this list as its first entry, with a name and with audience, principal and bots of access_tokens';
  file.addKey(['identity_providers'], message);
}

/** Checks that access_tokens, with the rules for tokens, is only used with identity_provider. */
function checkSole(file: ConfigFile, root: RawMap, hasTokens: boolean): void {
  if (!hasTokens) {
    const message =
      'missing key "access_tokens" next to it: its "audience" says which tokens are for this API';
    file.addKey(['identity_provider'], message);
  }
  const tokens = root.access_tokens;
  const meant = (word: string) => nearestWord(word, ['audience', 'audience_claim']);
  if (!isMap(tokens) || Object.keys(tokens).some(word => meant(word) === 'audience')) return;
  file.add(['access_tokens'], `missing key "audience": ${AUDIENCE_EXPECTED}`);
}

/** Checks access_tokens without a provider: only `identity_headers` has an effect then, for callers with API keys. */
function checkTokensAlone(file: ConfigFile, { access_tokens: tokens, api_keys: keys }: RawMap): void {
  const useless =
    keys === undefined
      ? [['access_tokens']]
      : Object.keys(asMap(tokens))
          .filter(key => nearestWord(key, ['identity_headers']) === undefined)
          .map(key => ['access_tokens', key])
          .filter(path => file.has(path));
  for (const path of useless) file.addUseless(path, 'without "identity_provider", which issues the tokens');
}

function checkRoutes(file: ConfigFile, section: (typeof SECTIONS)[number] | null): void {
  const routes = routesIn(file);
  const kinds = routes.map(({ raw }) => routeKeys.authentication.safeParse(raw.authentication).data);
  for (const [index, route] of routes.entries()) {
    const isForKeys = asList(route.raw.accept).join() === 'api_key';
    if (section === null && !isForKeys && ![undefined, 'none'].includes(kinds[index]))
      addNeedsProvider(route);
  }
  if (section === null || !file.has([section]) || kinds.length === 0) return;
  if (!kinds.every(kind => kind === 'none')) return;
  file.addKey([section], `"${section}" has no effect: every route says "authentication: none"`, 'warning');
}

function addNeedsProvider(route: Section): void {
  const byDefault =
    'a route requires a token by default, and there is no "identity_provider" to check it: add one, or write "authentication: none"';
  if (route.has('authentication'))
    route.add(
      'authentication',
      'there is no "identity_provider" to check tokens with: add one, or write none',
    );
  else route.add([], byDefault);
}

function checkIdentityHeaders(tokens: Section): void {
  const names = Object.keys(asMap(tokens.raw.identity_headers));
  const listed = listedHeaders(tokens.file);
  const [removed, kept] = [listed.remove, listed.keep].map(list => new Set(list.map(foldName)));
  const before = new Map<string, string>();
  for (const name of names) {
    const twin = before.get(foldName(name));
    before.set(foldName(name), name);
    const add = (message: string) => tokens.addKey(['identity_headers', name], message);
    // The gateway may set fields in which proxies would name the caller.
    if (![undefined, 'caller'].includes(RULES_BY_DEFAULT.get(name)))
      add(`the gateway uses "${name}" itself: choose another name`);
    else if (removed?.has(foldName(name)))
      add(`"${name}" is listed in forwarding_headers, so trusted proxies may send it: choose another name`);
    else if (kept?.has(foldName(name)))
      add(`"${name}" is kept by forwarding_headers, so anyone could send it: choose another name`);
    else if (twin !== undefined) add(`"${name}" is the same header field as "${twin}"`);
  }
}

/** Checks that the longest token fits into the head of a request, which would be refused first. */
function checkTokenLength(tokens: Section): void {
  const maxLength = sizeIn(tokens.raw.max_length);
  const head = sizeIn(asMap(asMap(tokens.file.value).caps).head ?? DEFAULT_HEAD);
  if (maxLength === undefined || head === undefined || maxLength <= head) return;
  const message = `is more than the head of a request may have: raise "head" under "caps" (${formatSize(head)}) above it as well`;
  tokens.add('max_length', message);
}

/** The shortest leeway with which proofs work: clients write whole seconds. */
const MIN_PROOF_LEEWAY_MS = 5_000;

/** Checks what proofs of possession need, and that their scheme has no other meaning. */
function checkDpop(tokens: Section): void {
  const { dpop, schemes, leeway } = tokens.raw;
  if (dpop === undefined || dpop === 'off') return;
  const index = textsIn(schemes).findIndex(scheme => scheme.toLowerCase() === 'dpop');
  if (index !== -1)
    tokens.add(['schemes', index], 'is accepted by "dpop" already, with a proof: leave it out here');
  const leewayMs = typeof leeway === 'string' ? parseDurationMs(leeway) : undefined;
  const message =
    'is too short for "dpop": proofs are made by the clocks of clients, so leave them 5s or more';
  if (leewayMs !== undefined && leewayMs < MIN_PROOF_LEEWAY_MS) tokens.add('leeway', message);
}

function sizeIn(written: unknown): number | undefined {
  return typeof written === 'string' ? parseSizeBytes(written) : undefined;
}

const DEFAULT_HEAD = '16KiB';

/** Checks that certificates are only taken from proxies, in a field that has no other use. */
function checkCertificateField(tokens: Section): void {
  const { file } = tokens;
  const { certificate_field: name, identity_headers: headers } = tokens.raw;
  if (typeof name !== 'string') return;
  const add = (message: string) => tokens.add('certificate_field', message);
  const twin = Object.keys(asMap(headers)).find(header => foldName(header) === foldName(name));
  const isKept = listedHeaders(file).keep.some(header => foldName(header) === foldName(name));
  if (![undefined, 'origin', 'caller'].includes(RULES_BY_DEFAULT.get(name)))
    add(`the gateway uses "${name}" itself: name the field in which your proxies send certificates`);
  else if (twin !== undefined) {
    const { line } = file.place(tokens.at(['identity_headers', twin]), 'key');
    add(`the gateway writes this field itself, see identity_headers in line ${line}: choose another`);
  } else if (isKept)
    add(`"${name}" is kept by forwarding_headers, so anyone could send it: remove it from that list`);
  else if (asList(asMap(file.value).trusted_proxies).length === 0)
    add('no proxy is trusted to send this field: list your proxies under trusted_proxies');
}

/** Checks the entries of `identity_providers` against each other and against access_tokens. */
function checkProviders(file: ConfigFile): void {
  const { access_tokens: tokens } = asMap(file.value);
  const entries = writtenProviders(file);
  for (const key of ['name', 'issuer'])
    eachTwin(
      entries,
      ({ [key]: value }) => value,
      (entry, twin) => entry.add(key, `the provider in line ${twin.lineOf(key)} has this ${key} already`),
    );
  eachTwin(
    entries,
    ({ redirect_uri: uri }) => uri !== undefined || undefined,
    (entry, twin) =>
      entry.addKey(
        'redirect_uri',
        `users already sign in at the provider in line ${twin.lineOf('redirect_uri', 'key')}: only one provider may have "redirect_uri"`,
      ),
  );
  eachTwin(
    entries,
    raw => takesOpaque(raw) || undefined,
    (entry, twin) =>
      entry.addKey(
        'opaque_tokens',
        `opaque tokens are those of the provider in line ${twin.lineOf('opaque_tokens', 'key')}: nothing in such a token says which provider to ask`,
      ),
  );
  for (const entry of entries) checkClaims(entry);
  for (const key of Object.keys(tokenRules)) {
    if (asMap(tokens)[key] === undefined) continue;
    const message = `"${key}" belongs to each provider: move it to the entries of identity_providers`;
    file.addKey(['access_tokens', key], message);
  }
}

/** Reports each provider that has a value in common with an earlier one; `undefined` is not a value. */
function eachTwin(
  entries: readonly Section[],
  keyOf: (raw: RawMap) => unknown,
  report: (entry: Section, twin: Section) => void,
): void {
  const first = new Map<unknown, Section>();
  for (const entry of entries) {
    const value = keyOf(entry.raw);
    const twin = first.get(value);
    if (twin !== undefined) report(entry, twin);
    else if (value !== undefined) first.set(value, entry);
  }
}

function takesOpaque({ opaque_tokens: written }: RawMap): boolean {
  return written !== undefined && written !== 'off';
}

/** Reports claims named `provider`: in lists of callers in limits.yaml, this key has another meaning. */
function checkClaims(entry: Section): void {
  const message = 'in limits.yaml "provider" names the provider: no caller can be identified by this claim';
  for (const keys of [['principal'], ['bots', 'principal']]) {
    const index = asList(entry.file.valueAt(entry.at(keys))).indexOf('provider');
    if (index !== -1) entry.add([...keys, index], message);
  }
}

/**
 * Checks that the gateway can ask a provider about tokens (RFC 7662): every provider if a route requires that, and the one whose
 * opaque tokens are accepted. That takes a client and an address.
 */
export function checkIntrospection(file: ConfigFile): void {
  const first = routesIn(file).find(({ raw: { introspection = false } }) => introspection !== false);
  const providers = writtenProviders(file);
  if (first !== undefined)
    for (const provider of providers)
      checkAsked(provider, `the route in line ${first.lineOf('introspection')}`);
  for (const provider of providers) {
    const rules = provider.path[0] === 'identity_provider' ? ['access_tokens'] : provider.path;
    if (!takesOpaque(asMap(file.valueAt(rules)))) continue;
    const { line } = file.place([...rules, 'opaque_tokens'], 'key');
    checkAsked(provider, `"opaque_tokens" in line ${line}`);
  }
}

function checkAsked(provider: Section, who: string): void {
  const { client_id, client_authentication, endpoints, redirect_uri } = provider.raw;
  const asksAs = 'asks this provider about its tokens, for which the gateway has to authenticate there';
  if (client_id === undefined) provider.add([], `${who} ${asksAs}: add "client_id" and a secret`);
  else if (client_authentication === 'none')
    provider.add('client_authentication', `${who} ${asksAs}: none is not enough`);
  const { authorization, token, key_set: keySet, introspection } = asMap(endpoints);
  const readsNoDocument =
    keySet !== undefined &&
    (redirect_uri === undefined || (authorization !== undefined && token !== undefined));
  if (!readsNoDocument || introspection !== undefined) return;
  const message = `${who} asks this provider about its tokens, and with these endpoints the discovery document is not read: add "introspection"`;
  provider.add('endpoints', message);
}

/**
 * Reports secrets written directly into gateway.yaml, because the history and copies of that file are not protected. Checks the
 * raw file, so that a secret is reported whatever else is wrong.
 */
export function checkSecrets(file: ConfigFile): void {
  for (const path of secretsIn(file))
    if (file.has(path) && !file.isVariable(path)) file.add(path, secretInFile(String(path.at(-1))));
}

/** Returns the paths of all secrets, whether or not they are present. */
export function secretsIn(file: ConfigFile): Path[] {
  return SECRET_PATHS.flatMap(path => pathsIn(file, path));
}

/** Returns the paths that a pattern path matches: one for each entry of a list. */
function pathsIn(file: ConfigFile, path: Path): Path[] {
  const at = path.indexOf(EACH);
  if (at === -1) return [path];
  return asList(file.valueAt(path.slice(0, at))).map((_, index) => path.with(at, index));
}

const SECRET_PATHS = secretPaths(gatewaySchema);

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
  textsIn,
} from '../file/index.ts';
import {
  AUDIENCE,
  gatewaySchema,
  listedHeaders,
  RULES_BY_DEFAULT,
  routeKeys,
  tokenRules,
  type WrittenProvider,
  writtenProviders,
} from '../settings/index.ts';
import { EACH, formatSize, parseSizeBytes, secretInFile, secretPaths } from '../values/index.ts';

/** Checks the sections about tokens against the routes. Reads the raw value, as all cross-checks do. */
export function checkIdentity(file: ConfigFile): void {
  const root = asMap(file.value);
  // Validation reports a misspelt key; here it counts as the intended one.
  const isThere = (key: string) => Object.keys(root).some(word => intended(word) === key);
  const section = SECTIONS.find(isThere) ?? null;
  if (Array.isArray(root.routes)) checkRoutes(file, root.routes, section);
  if (SECTIONS.every(key => root[key] !== undefined)) addBoth(file);
  else if (section === 'identity_provider') checkSole(file, root, isThere('access_tokens'));
  else if (section === 'identity_providers') checkProviders(file);
  else if (root.access_tokens !== undefined) checkTokensAlone(file, root);
  checkIdentityHeaders(file, root);
  checkCertificateField(file, root);
  checkTokenLength(file, root);
  checkDpop(file, asMap(root.access_tokens));
  checkTokenKind(file, ['access_tokens'], asMap(root.access_tokens), asMap(root.identity_provider));
  checkRedirectUris(file, ['identity_provider'], asMap(root.identity_provider));
  for (const [index, entry] of asList(root.identity_providers).entries()) {
    checkTokenKind(file, ['identity_providers', index], asMap(entry), asMap(entry));
    checkRedirectUris(file, ['identity_providers', index], asMap(entry));
  }
}

/** Warns of a wildcard, as Keycloak and Auth0 have it: no code for such a URI would ever be redeemed. */
function checkRedirectUris(file: ConfigFile, path: Path, { redirect_uris: uris }: RawMap): void {
  // A * as the port of another host is an error.
  for (const [index, uri] of asList(uris).entries())
    if (typeof uri === 'string' && uri.replace(':*', '').includes('*'))
      file.add(
        [...path, 'redirect_uris', index],
        'the * stands for itself, since URIs are compared character by character: list each one (* is for the port of loopback alone)',
        { severity: 'warning' },
      );
}

/** Checks that ID tokens, where they are accepted, are those for this API, and says what that means. */
function checkTokenKind(
  file: ConfigFile,
  path: Path,
  { token_kind: kind, audience }: RawMap,
  { client_id: client }: RawMap,
): void {
  if (kind !== 'access_or_id') return;
  const at = [...path, 'token_kind'];
  if (audience === 'any')
    file.add(
      at,
      'would let in the ID tokens of every client: name the audience, since nothing else tells them apart',
    );
  else if (typeof client === 'string' && [audience].flat().includes(client))
    file.add(
      at,
      `every ID token that the client ${JSON.stringify(client)} ever gets opens this API, and ID tokens are often passed on and logged: have the provider issue tokens for an audience of their own`,
      { severity: 'warning' },
    );
  else
    file.add(at, 'ID tokens for this audience open this API as well: keep them as secret as access tokens', {
      severity: 'hint',
    });
}

const SECTIONS = ['identity_provider', 'identity_providers'] as const;
type Section = (typeof SECTIONS)[number];

/**
 * Returns the section that a key of the file is or was meant to be. Exact matches take precedence, because the names of two
 * sections differ in one letter.
 */
function intended(word: string): string | undefined {
  const known: readonly string[] = [...SECTIONS, 'access_tokens'];
  return known.includes(word) ? word : nearestWord(word, known);
}

function addBoth(file: ConfigFile): void {
  const message =
    '"identity_provider" and "identity_providers" cannot be combined: move the former into this list as its first entry, with a name and with audience, principal and bots of access_tokens';
  file.add(['identity_providers'], message, { about: 'key' });
}

/** Checks that access_tokens, with the rules for tokens, is only used with identity_provider. */
function checkSole(file: ConfigFile, root: RawMap, hasTokens: boolean): void {
  if (!hasTokens) {
    const message =
      'missing key "access_tokens" next to it: its "audience" says which tokens are for this API';
    file.add(['identity_provider'], message, { about: 'key' });
  }
  const tokens = root.access_tokens;
  const meant = (word: string) => nearestWord(word, ['audience', 'audience_claim']);
  if (!isMap(tokens) || Object.keys(tokens).some(word => meant(word) === 'audience')) return;
  file.add(['access_tokens'], `missing key "audience": ${AUDIENCE}`);
}

/** Checks access_tokens without a provider: only the names of callers who have API keys are told to services. */
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

function checkRoutes(file: ConfigFile, routes: readonly unknown[], section: Section | null): void {
  const kinds = routes.map(route => routeKeys.authentication.safeParse(asMap(route).authentication).data);
  for (const [index, kind] of kinds.entries()) {
    const isForKeys = asList(asMap(routes[index]).accept).join() === 'api_key';
    if (section === null && !isForKeys && kind !== undefined && kind !== 'none')
      addNeedsProvider(file, index);
  }
  if (section === null || !file.has([section]) || kinds.length === 0) return;
  if (!kinds.every(kind => kind === 'none')) return;
  const message = `"${section}" has no effect: every route says "authentication: none"`;
  file.add([section], message, { about: 'key', severity: 'warning' });
}

function addNeedsProvider(file: ConfigFile, index: number): void {
  const written = ['routes', index, 'authentication'];
  if (file.has(written)) {
    file.add(written, 'there is no "identity_provider" to check tokens with: add one, or write none');
  } else {
    const message =
      'a route requires a token by default, and there is no "identity_provider" to check it: add one, or write "authentication: none"';
    file.add(['routes', index], message);
  }
}

function checkIdentityHeaders(file: ConfigFile, root: RawMap): void {
  const path = ['access_tokens', 'identity_headers'];
  const names = Object.keys(asMap(asMap(root.access_tokens).identity_headers));
  const listed = listedHeaders(file);
  const [removed, kept] = [listed.remove, listed.keep].map(list => new Set(list.map(foldName)));
  const before = new Map<string, string>();
  for (const name of names) {
    const twin = before.get(foldName(name));
    before.set(foldName(name), name);
    const add = (message: string) => file.add([...path, name], message, { about: 'key' });
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
function checkTokenLength(file: ConfigFile, root: RawMap): void {
  const maxLength = sizeIn(asMap(root.access_tokens).max_length);
  const head = sizeIn(asMap(root.caps).head ?? DEFAULT_HEAD);
  if (maxLength === undefined || head === undefined || maxLength <= head) return;
  const message = `is more than the head of a request may have: raise "head" under "caps" (${formatSize(head)}) above it as well`;
  file.add(['access_tokens', 'max_length'], message);
}

/** The shortest leeway with which proofs work: clients write whole seconds. */
const MIN_PROOF_LEEWAY_MS = 5_000;

/** Checks what proofs of possession need, and that their scheme has no other meaning. */
function checkDpop(file: ConfigFile, { dpop, schemes, leeway }: RawMap): void {
  if (dpop === undefined || dpop === 'off') return;
  const index = textsIn(schemes).findIndex(scheme => scheme.toLowerCase() === 'dpop');
  if (index !== -1)
    file.add(
      ['access_tokens', 'schemes', index],
      'is accepted by "dpop" already, with a proof: leave it out here',
    );
  const leewayMs = typeof leeway === 'string' ? parseDurationMs(leeway) : undefined;
  if (leewayMs !== undefined && leewayMs < MIN_PROOF_LEEWAY_MS)
    file.add(
      ['access_tokens', 'leeway'],
      'is too short for "dpop": proofs are made by the clocks of clients, so leave them 5s or more',
    );
}

function sizeIn(written: unknown): number | undefined {
  return typeof written === 'string' ? parseSizeBytes(written) : undefined;
}

const DEFAULT_HEAD = '16KiB';

/** Checks that certificates are only taken from proxies, in a field that has no other use. */
function checkCertificateField(file: ConfigFile, root: RawMap): void {
  const path = ['access_tokens', 'certificate_field'];
  const { certificate_field: name, identity_headers: headers } = asMap(root.access_tokens);
  if (typeof name !== 'string') return;
  const add = (message: string) => file.add(path, message);
  const twin = Object.keys(asMap(headers)).find(header => foldName(header) === foldName(name));
  const isKept = listedHeaders(file).keep.some(header => foldName(header) === foldName(name));
  if (![undefined, 'origin', 'caller'].includes(RULES_BY_DEFAULT.get(name)))
    add(`the gateway uses "${name}" itself: name the field in which your proxies send certificates`);
  else if (twin !== undefined) {
    const { line } = file.place([...path.slice(0, 1), 'identity_headers', twin], 'key');
    add(`the gateway writes this field itself, see identity_headers in line ${line}: choose another`);
  } else if (isKept)
    add(`"${name}" is kept by forwarding_headers, so anyone could send it: remove it from that list`);
  else if (asList(root.trusted_proxies).length === 0)
    add('no proxy is trusted to send this field: list your proxies under trusted_proxies');
}

/** Checks the entries of `identity_providers` against each other and against access_tokens. */
function checkProviders(file: ConfigFile): void {
  const { identity_providers: several, access_tokens: tokens } = asMap(file.value);
  const entries = asList(several);
  checkUnique(file, entries, 'name');
  checkUnique(file, entries, 'issuer');
  checkSignIn(file, entries);
  checkOpaque(file, entries);
  checkClaims(file, entries);
  for (const key of Object.keys(tokenRules)) {
    if (asMap(tokens)[key] === undefined) continue;
    const message = `"${key}" belongs to each provider: move it to the entries of identity_providers`;
    file.add(['access_tokens', key], message, { about: 'key' });
  }
}

/** Reports duplicate names and issuers: each must identify one provider. */
function checkUnique(file: ConfigFile, entries: readonly unknown[], key: 'name' | 'issuer'): void {
  const first = new Map<unknown, number>();
  for (const [index, entry] of entries.entries()) {
    const value = asMap(entry)[key];
    if (value === undefined) continue;
    const twin = first.get(value);
    if (twin === undefined) first.set(value, index);
    else {
      const { line } = file.place(['identity_providers', twin, key]);
      file.add(['identity_providers', index, key], `the provider in line ${line} has this ${key} already`);
    }
  }
}

/** Reports a second provider that signs users in: the anonymous endpoints serve one. */
function checkSignIn(file: ConfigFile, entries: readonly unknown[]): void {
  const [first, ...others] = [...entries.keys()].filter(
    index => asMap(entries[index]).redirect_uri !== undefined,
  );
  for (const index of others) {
    const { line } = file.place(['identity_providers', first ?? 0, 'redirect_uri'], 'key');
    const message = `users already sign in at the provider in line ${line}: only one provider may have "redirect_uri"`;
    file.add(['identity_providers', index, 'redirect_uri'], message, { about: 'key' });
  }
}

/** Reports a second provider with opaque tokens: nothing in such a token says which one to ask. */
function checkOpaque(file: ConfigFile, entries: readonly unknown[]): void {
  const [first = 0, ...others] = [...entries.keys()].filter(index => takesOpaque(asMap(entries[index])));
  for (const index of others) {
    const { line } = file.place(['identity_providers', first, 'opaque_tokens'], 'key');
    const message = `opaque tokens are those of the provider in line ${line}: nothing in such a token says which provider to ask`;
    file.add(['identity_providers', index, 'opaque_tokens'], message, { about: 'key' });
  }
}

function takesOpaque({ opaque_tokens: written }: RawMap): boolean {
  return written !== undefined && written !== 'off';
}

/** Reports claims named `provider`, a key that means something else where limits.yaml lists callers. */
function checkClaims(file: ConfigFile, entries: readonly unknown[]): void {
  for (const [index, entry] of entries.entries()) {
    const { principal, bots } = asMap(entry);
    const add = (path: readonly string[], list: unknown) => {
      const at = asList(list).indexOf('provider');
      if (at === -1) return;
      const message =
        'in limits.yaml "provider" names the provider: no caller can be identified by this claim';
      file.add(['identity_providers', index, ...path, at], message);
    };
    add(['principal'], principal);
    add(['bots', 'principal'], asMap(bots).principal);
  }
}

/**
 * Checks that every provider can be asked about tokens if a route requires that (RFC 7662): with a client and an address. Reads
 * the raw value, as all cross-checks do.
 */
export function checkIntrospection(file: ConfigFile): void {
  const all = asList(asMap(file.value).routes);
  const asking = [...all.keys()].filter(index => asks(all[index]));
  const [first] = asking;
  if (first === undefined) return;
  const { line } = file.place(['routes', first, 'introspection']);
  for (const provider of writtenProviders(file)) checkSection(file, provider, `the route in line ${line}`);
}

/** The same for the provider whose opaque tokens are accepted. */
export function checkOpaqueTokens(file: ConfigFile): void {
  for (const { path, raw } of writtenProviders(file)) {
    const rules = path[0] === 'identity_provider' ? ['access_tokens'] : path;
    if (!takesOpaque(asMap(file.valueAt(rules)))) continue;
    const { line } = file.place([...rules, 'opaque_tokens'], 'key');
    checkSection(file, { path, raw }, `"opaque_tokens" in line ${line}`);
  }
}

function asks(route: unknown): boolean {
  const { introspection } = asMap(route);
  return introspection !== undefined && introspection !== false;
}

function checkSection(file: ConfigFile, { path, raw }: WrittenProvider, route: string): void {
  const asksAs = 'asks this provider about its tokens, for which the gateway has to authenticate there';
  if (raw.client_id === undefined) file.add(path, `${route} ${asksAs}: add "client_id" and a secret`);
  else if (raw.client_authentication === 'none')
    file.add([...path, 'client_authentication'], `${route} ${asksAs}: none is not enough`);
  const { authorization, token, key_set: keySet, introspection } = asMap(raw.endpoints);
  const readsNoDocument =
    keySet !== undefined &&
    (raw.redirect_uri === undefined || (authorization !== undefined && token !== undefined));
  if (!readsNoDocument || introspection !== undefined) return;
  const message = `${route} asks this provider about its tokens, and with these endpoints the discovery document is not read: add "introspection"`;
  file.add([...path, 'endpoints'], message);
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

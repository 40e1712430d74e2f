import { foldName } from '../../http/index.ts';
import { asMap, type ConfigFile, isMap, suggest } from '../file/index.ts';
import { AUDIENCE, RULES_BY_DEFAULT, routeKeys } from '../schema/index.ts';
import { listedHeaders } from './forwarding-checks.ts';
import { checkProviders } from './provider-checks.ts';

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
  else if (root.access_tokens !== undefined) {
    const message = '"access_tokens" has no effect without "identity_provider", which issues the tokens';
    file.add(['access_tokens'], message, { about: 'key' });
  }
  checkIdentityHeaders(file, root);
}

const SECTIONS = ['identity_provider', 'identity_providers'] as const;
type Section = (typeof SECTIONS)[number];

/** The section that a key of the file is or was meant to be. One is the other with one letter more, so suggestions come last. */
function intended(word: string): string | undefined {
  const known: readonly string[] = [...SECTIONS, 'access_tokens'];
  return known.includes(word) ? word : suggest(word, known);
}

function addBoth(file: ConfigFile): void {
  const message =
    '"identity_provider" stands beside it: make that the first entry of this list, with a name and the audience, principal and bots of access_tokens';
  file.add(['identity_providers'], message, { about: 'key' });
}

/** What tokens must be like stands under access_tokens. */
function checkSole(file: ConfigFile, root: Readonly<Record<string, unknown>>, hasTokens: boolean): void {
  if (!hasTokens) {
    const message =
      'missing key "access_tokens" beside it, whose "audience" says which tokens are for this API';
    file.add(['identity_provider'], message, { about: 'key' });
  }
  const tokens = root.access_tokens;
  if (!isMap(tokens) || Object.keys(tokens).some(word => suggest(word, ['audience']) !== undefined)) return;
  file.add(['access_tokens'], `missing key "audience": ${AUDIENCE}`);
}

function checkRoutes(file: ConfigFile, routes: readonly unknown[], section: Section | null): void {
  const kinds = routes.map(route => routeKeys.authentication.safeParse(asMap(route).authentication).data);
  for (const [index, kind] of kinds.entries()) {
    const path = ['routes', index];
    if (section === null && kind !== undefined && kind !== 'none') addNeedsProvider(file, index);
    const closes = asMap(routes[index]).close_at_expiry === true;
    if (closes && kind === 'none') {
      const message = 'has no effect with "authentication: none", which ignores tokens';
      file.add([...path, 'close_at_expiry'], message);
    }
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

function checkIdentityHeaders(file: ConfigFile, root: Readonly<Record<string, unknown>>): void {
  const path = ['access_tokens', 'identity_headers'];
  const names = Object.keys(asMap(asMap(root.access_tokens).identity_headers));
  const listed = listedHeaders(file);
  const [removed, kept] = [listed.remove, listed.keep].map(list => new Set(list.map(foldName)));
  const before = new Map<string, string>();
  for (const name of names) {
    const twin = before.get(foldName(name));
    before.set(foldName(name), name);
    const add = (message: string) => file.add([...path, name], message, { about: 'key' });
    // The gateway may set fields in which proxies name the caller.
    if (![undefined, 'caller'].includes(RULES_BY_DEFAULT.get(name)))
      add(`the gateway uses "${name}" itself: choose another name`);
    else if (removed?.has(foldName(name)))
      add(`"${name}" is listed in forwarding_headers, so trusted proxies may send it: choose another name`);
    else if (kept?.has(foldName(name)))
      add(`"${name}" is kept by forwarding_headers, so anyone could send it: choose another name`);
    else if (twin !== undefined) add(`"${name}" is the same header field as "${twin}"`);
  }
}

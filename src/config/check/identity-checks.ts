import { foldName } from '../../http/index.ts';
import { asMap, type ConfigFile, suggest } from '../file/index.ts';
import { RULES_BY_DEFAULT, routeKeys } from '../schema/index.ts';
import { listedHeaders } from './forwarding-checks.ts';

/** Checks the sections about tokens against the routes. Reads the raw value, as all cross-checks do. */
export function checkIdentity(file: ConfigFile): void {
  const root = asMap(file.value);
  // Validation reports a misspelt key; here it counts as the intended one.
  const isThere = (key: string) => Object.keys(root).some(word => suggest(word, [key]) !== undefined);
  const provider = isThere('identity_provider');
  if (Array.isArray(root.routes)) checkRoutes(file, root.routes, provider);
  if (provider && !isThere('access_tokens')) {
    const message =
      'missing key "access_tokens" beside it, whose "audience" says which tokens are for this API';
    file.add(['identity_provider'], message, { about: 'key' });
  }
  if (!provider && root.access_tokens !== undefined) {
    const message = '"access_tokens" has no effect without "identity_provider", which issues the tokens';
    file.add(['access_tokens'], message, { about: 'key' });
  }
  checkIdentityHeaders(file, root);
}

function checkRoutes(file: ConfigFile, routes: readonly unknown[], provider: boolean): void {
  const kinds = routes.map(route => routeKeys.authentication.safeParse(asMap(route).authentication).data);
  for (const [index, kind] of kinds.entries()) {
    const path = ['routes', index];
    if (!provider && kind !== undefined && kind !== 'none') addNeedsProvider(file, index);
    const closes = asMap(routes[index]).close_at_expiry === true;
    if (closes && kind === 'none') {
      const message = 'has no effect with "authentication: none", which ignores tokens';
      file.add([...path, 'close_at_expiry'], message);
    }
  }
  if (!provider || !file.has(['identity_provider']) || kinds.length === 0) return;
  if (!kinds.every(kind => kind === 'none')) return;
  const message = '"identity_provider" has no effect: every route says "authentication: none"';
  file.add(['identity_provider'], message, { about: 'key', severity: 'warning' });
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

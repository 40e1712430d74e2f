import { findConflicts, type RouteEntry, type RoutePattern } from '../../routing/index.ts';
import { SIGN_IN_PREFIX, signInRoutes } from '../compile/index.ts';
import { asMap, type ConfigFile, suggest } from '../file/index.ts';
import type { OwnRoute, SignInRoute } from '../model/index.ts';
import { signInPaths } from '../schema/index.ts';
import { noticeRoutesIn } from './notice-places.ts';

/** The gateway's own routes, as far as `sign_in` and `notices` are valid in themselves. */
export function ownRoutesIn(file: ConfigFile): readonly RouteEntry<OwnRoute>[] {
  return [...signInRoutesIn(file), ...noticeRoutesIn(file)];
}

/** Those for sign-in. */
export function signInRoutesIn(file: ConfigFile): readonly RouteEntry<SignInRoute>[] {
  return signInRoutes(Object.fromEntries(pathsIn(file)));
}

/** Checks the paths of `sign_in` against the anonymous endpoints and each other. Reads the raw value, as all cross-checks do. */
export function checkSignIn(file: ConfigFile): void {
  const root = asMap(file.value);
  if (root.sign_in === undefined) return;
  // Validation reports a misspelt key; here it counts as the intended one.
  if (!Object.keys(root).some(word => suggest(word, ['identity_provider']) !== undefined)) {
    const message = '"sign_in" has no effect without "identity_provider", which issues the tokens';
    file.add(['sign_in'], message, { about: 'key' });
  } else addNeedsSignIn(file, root);
  const taken = signInRoutes({}).map(({ pattern }) => ({ pattern, by: 'an anonymous endpoint' }));
  for (const [key, path] of pathsIn(file)) {
    const pattern = signInRoutes({ [key]: path }).at(-1)?.pattern;
    if (pattern === undefined) continue;
    const twin = taken.find(own => isOfOnePath(own.pattern, pattern));
    if (twin !== undefined) file.add(['sign_in', key], `this path is that of ${twin.by}: choose another`);
    else if (isReserved(pattern))
      file.add(['sign_in', key], 'paths under /v1/anonymous are for the anonymous endpoints: choose another');
    taken.push({ pattern, by: `"${key}"` });
  }
  checkSignOut(file, asMap(root.sign_in));
}

/** Adds an error if no provider signs users in: only their refresh tokens are of use to these endpoints. */
function addNeedsSignIn(
  file: ConfigFile,
  { identity_provider: only, identity_providers: list }: Readonly<Record<string, unknown>>,
): void {
  const add = (needs: string, without: string) => {
    const message = `"sign_in" needs ${needs}: without ${without} nobody signs in through the gateway`;
    file.add(['sign_in'], message, { about: 'key' });
  };
  if (Array.isArray(list)) {
    if (!list.some(signsIn)) add('"redirect_uri" in an entry of identity_providers', 'it');
  } else if (only !== undefined && !signsIn(only)) {
    if (asMap(only).client_id === undefined)
      add('"redirect_uri" and "client_id" in identity_provider', 'them');
    else add('"redirect_uri" in identity_provider', 'it');
  }
}

/** The first three make the gateway read no discovery document, which would name the others. */
const ENDPOINTS = ['authorization', 'token', 'key_set'] as const;

function checkSignOut(
  file: ConfigFile,
  { sign_out, sign_out_ends }: Readonly<Record<string, unknown>>,
): void {
  if (sign_out === undefined) {
    if (sign_out_ends === undefined) return;
    file.add(['sign_in', 'sign_out_ends'], '"sign_out_ends" has no effect without "sign_out"', {
      about: 'key',
    });
    return;
  }
  if (sign_out_ends === 'nothing') return;
  const endpoints = asMap(signInProvider(asMap(file.value)).endpoints);
  const needed = sign_out_ends === 'session' ? 'end_session' : 'revocation';
  if (endpoints[needed] !== undefined || ENDPOINTS.some(key => endpoints[key] === undefined)) return;
  const message = `needs "${needed}" under "endpoints" of the provider: with the three others, no discovery document is read`;
  file.add(['sign_in', 'sign_out'], message);
}

/** The one that signs users in, as written. */
function signInProvider({
  identity_provider: only,
  identity_providers: list,
}: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return asMap(Array.isArray(list) ? list.find(signsIn) : only);
}

/** A misspelt key counts as the intended one: validation reports it. */
function signsIn(entry: unknown): boolean {
  return Object.keys(asMap(entry)).some(
    key => suggest(key, ['redirect_uri', 'redirect_uris']) === 'redirect_uri',
  );
}

/** Whether both patterns match the same paths, ignoring methods. */
export function isOfOnePath(a: RoutePattern, b: RoutePattern): boolean {
  return findConflicts([a, b].map(pattern => ({ ...pattern, methods: null }))).length > 0;
}

function isReserved({ segments }: RoutePattern): boolean {
  const reserved = SIGN_IN_PREFIX.segments.slice(0, -1);
  return reserved.every((own, index) => {
    const segment = segments[index];
    return own.kind === 'literal' && segment?.kind === 'literal' && segment.folded === own.folded;
  });
}

function pathsIn(file: ConfigFile): [key: keyof typeof signInPaths, path: string][] {
  const raw = asMap(asMap(file.value).sign_in);
  return keysOf(signInPaths).flatMap(key => {
    const { data: path } = signInPaths[key].safeParse(raw[key]);
    return path === undefined ? [] : [[key, path]];
  });
}

function keysOf<Key extends string>(map: Readonly<Record<Key, unknown>>): Key[] {
  return Object.keys(map) as Key[];
}

import { findConflicts, type RouteEntry, type RoutePattern } from '../../routing/index.ts';
import { SIGN_IN_PREFIX, signInRoutes } from '../compile/index.ts';
import { asMap, type ConfigFile, suggest } from '../file/index.ts';
import type { SignInRoute } from '../model/index.ts';
import { signInKeys } from '../schema/index.ts';

/** The gateway's own routes, as far as `sign_in` is valid in itself. */
export function ownRoutesIn(file: ConfigFile): readonly RouteEntry<SignInRoute>[] {
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
  }
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

function pathsIn(file: ConfigFile): [key: keyof typeof signInKeys, path: string][] {
  const raw = asMap(asMap(file.value).sign_in);
  return keysOf(signInKeys).flatMap(key => {
    const { data: path } = signInKeys[key].safeParse(raw[key]);
    return path === undefined ? [] : [[key, path]];
  });
}

function keysOf<Key extends string>(map: Readonly<Record<Key, unknown>>): Key[] {
  return Object.keys(map) as Key[];
}

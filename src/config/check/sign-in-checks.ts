import { NOTICE_KINDS, type NoticeKind } from '../../core/index.ts';
import { isLoopback } from '../../wire/http/index.ts';
import { asMap, type ConfigFile, nearestWord, type RawMap, type Section } from '../file/index.ts';
import type { MetadataRoute, NoticePlaces, NoticeRoute, OwnRoute, SignInRoute } from '../model/index.ts';
import { parseRoutePattern, placeOf, type RouteEntry, type RoutePattern } from '../routing/index.ts';
import {
  listenSchema,
  metadataRoutes,
  noticeKeys,
  noticeRoutes,
  protectedResource,
  SIGN_IN_PREFIX,
  signInPaths,
  signInRoutes,
  writtenProviders,
} from '../settings/index.ts';

/** The gateway's own routes, as far as `sign_in` and `notices` are valid. */
export function ownRoutesIn(file: ConfigFile): readonly RouteEntry<OwnRoute>[] {
  return [...signInRoutesIn(file), ...noticeRoutesIn(file), ...metadataRoutesIn(file)];
}

/** The routes of `protected_resource`, without the content of their document. */
function metadataRoutesIn(file: ConfigFile): readonly RouteEntry<MetadataRoute>[] {
  const { data } = protectedResource.keys.protected_resource.safeParse(asMap(file.value).protected_resource);
  const facts = { issuers: [], scopes: [], certificates: false, dpop: 'off' } as const;
  return data === undefined ? [] : metadataRoutes({ ...data, ...facts });
}

/** Checks that there are tokens for the document to describe. */
export function checkProtectedResource(file: ConfigFile): void {
  if (asMap(file.value).protected_resource !== undefined) checkHasProvider(file, 'protected_resource');
}

/** Reports a section that needs a provider. A misspelt key, which validation reports, counts as the intended one. */
function checkHasProvider(file: ConfigFile, section: string): boolean {
  const keys = Object.keys(asMap(file.value));
  const has = keys.some(word => nearestWord(word, ['identity_provider']) !== undefined);
  if (!has) file.addUseless([section], 'without "identity_provider", which issues the tokens');
  return has;
}

function signInRoutesIn(file: ConfigFile): readonly RouteEntry<SignInRoute>[] {
  return signInRoutes(Object.fromEntries(pathsIn(file)));
}

/** Checks the paths of `sign_in` against the anonymous endpoints and each other. Reads the raw value, as all cross-checks do. */
export function checkSignIn(file: ConfigFile): void {
  const root = asMap(file.value);
  if (root.sign_in === undefined) return;
  if (checkHasProvider(file, 'sign_in')) addNeedsSignIn(file, root);
  const taken = [
    ...signInRoutes({}).map(({ pattern }) => ({ pattern, by: 'an anonymous endpoint' })),
    ...metadataRoutesIn(file).map(({ pattern }) => ({ pattern, by: '"protected_resource"' })),
  ];
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

/** Adds an error if no provider signs users in: these endpoints only handle its refresh tokens. */
function addNeedsSignIn(
  file: ConfigFile,
  { identity_provider: only, identity_providers: list }: RawMap,
): void {
  const add = (needs: string, without: string) => {
    const message = `"sign_in" needs ${needs}: without ${without} nobody signs in through the gateway`;
    file.addKey(['sign_in'], message);
  };
  if (Array.isArray(list)) {
    if (!list.some(signsIn)) add('"redirect_uri" in an entry of identity_providers', 'it');
  } else if (only !== undefined && !signsIn(only)) {
    if (asMap(only).client_id === undefined)
      add('"redirect_uri" and "client_id" in identity_provider', 'them');
    else add('"redirect_uri" in identity_provider', 'it');
  }
}

/** If all of these endpoints are configured, the gateway reads no discovery document, and so learns of no other endpoint. */
const ENDPOINTS = ['authorization', 'token', 'key_set'] as const;

function checkSignOut(file: ConfigFile, { sign_out, sign_out_ends }: RawMap): void {
  if (sign_out === undefined) {
    if (sign_out_ends !== undefined) file.addUseless(['sign_in', 'sign_out_ends'], 'without "sign_out"');
    return;
  }
  if (sign_out_ends === 'nothing') return;
  const { identity_provider: only, identity_providers: list } = asMap(file.value);
  const provider = asMap(Array.isArray(list) ? list.find(signsIn) : only);
  const endpoints = asMap(provider.endpoints);
  const needed = sign_out_ends === 'session' ? 'end_session' : 'revocation';
  if (endpoints[needed] !== undefined || ENDPOINTS.some(key => endpoints[key] === undefined)) return;
  const message = `needs "${needed}" under "endpoints" of the provider: with the three others, no discovery document is read`;
  file.add(['sign_in', 'sign_out'], message);
}

/** A misspelt key counts as the intended one: validation reports it. */
function signsIn(entry: unknown): boolean {
  return Object.keys(asMap(entry)).some(
    key => nearestWord(key, ['redirect_uri', 'redirect_uris']) === 'redirect_uri',
  );
}

/** Whether both patterns match the same paths, ignoring methods and hosts. */
export function isOfOnePath(a: RoutePattern, b: RoutePattern): boolean {
  const place = (pattern: RoutePattern) => placeOf({ ...pattern, host: null });
  return a.segments.length === b.segments.length && place(a) === place(b);
}

function isReserved({ segments }: RoutePattern): boolean {
  const reserved = SIGN_IN_PREFIX.segments.slice(0, -1);
  return reserved.every((own, index) => {
    const segment = segments[index];
    return own.kind === 'literal' && segment?.kind === 'literal' && segment.folded === own.folded;
  });
}

function pathsIn(file: ConfigFile): [key: string, path: string][] {
  const raw = asMap(asMap(file.value).sign_in);
  return Object.entries(signInPaths).flatMap(([key, schema]) => {
    const { data: path } = schema.safeParse(raw[key]);
    return path === undefined ? [] : [[key, path]];
  });
}

/** Checks the `notices` of each provider. Reads the raw value, as all cross-checks do. */
export function checkNotices(file: ConfigFile): void {
  for (const provider of writtenProviders(file)) {
    const notices = noticesOf(provider.raw);
    for (const kind of NOTICE_KINDS) {
      const place = notices[kind];
      if (place === 'admin') checkAdmin(provider, kind);
      else if (place !== null) checkPath(provider, kind, place);
    }
  }
}

function checkAdmin(provider: Section, kind: NoticeKind): void {
  const listen = listenSchema.safeParse(asMap(provider.file.value).listen ?? {});
  if (!listen.success) return;
  const { admin } = listen.data;
  const at = ['notices', kind];
  if (admin === null) provider.add(at, 'there is no admin listener: "listen.admin" is off');
  else if (isLoopback(admin.address.host) && !isLoopback(hostOf(provider.raw.issuer)))
    provider.warn(
      at,
      `the provider cannot reach the admin listener, which is bound to ${admin.address.host}: bind "listen.admin" to an address that only your network reaches`,
    );
}

function checkPath(provider: Section, kind: NoticeKind, place: string): void {
  const { file } = provider;
  const own = parseRoutePattern(place, null);
  const isOwn = ({ pattern }: RouteEntry<OwnRoute>) => isOfOnePath(pattern, own);
  const add = (whose: string) =>
    provider.add(['notices', kind], `this path is that of ${whose}: choose another`);
  if (signInRoutesIn(file).some(isOwn)) add('a sign-in endpoint');
  if (metadataRoutesIn(file).some(isOwn)) add('"protected_resource"');
  // Reports each pair once, at its second member.
  const other = noticeRoutesIn(file).find(each => each.value.notice !== kind && isOwn(each));
  if (other !== undefined && kind === 'back_channel_logout') add(`"${other.value.notice}"`);
  const message =
    'Keycloak only calls paths that end in /k_push_not_before, which it adds to the admin URL of the client';
  if (kind === 'not_before_push' && !place.endsWith('/k_push_not_before'))
    provider.warn(['notices', kind], message);
}

function hostOf(issuer: unknown): string {
  return typeof issuer === 'string' && URL.canParse(issuer) ? new URL(issuer).hostname : '';
}

function noticeRoutesIn(file: ConfigFile): readonly RouteEntry<NoticeRoute>[] {
  return noticeRoutes(writtenProviders(file).map(({ raw }) => noticesOf(raw)));
}

/** The places of notices that are valid; `null` for the others. */
function noticesOf({ notices }: RawMap): NoticePlaces {
  const raw = asMap(notices);
  const [push = null, logout = null] = NOTICE_KINDS.map(kind => noticeKeys[kind].safeParse(raw[kind]).data);
  return { not_before_push: push, back_channel_logout: logout };
}

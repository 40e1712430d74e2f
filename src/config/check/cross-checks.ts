import { asList, asMap, type ConfigFile, didYouMean, isMap, type Section } from '../file/index.ts';
import type { OwnRoute } from '../model/index.ts';
import { isAnswered, upstreamsNamed } from '../policies/index.ts';
import type { RoutePattern } from '../routing/index.ts';
import {
  findConflicts,
  findHidden,
  GRPC_METHOD,
  parseRoutePattern,
  Reach,
  RouteTable,
} from '../routing/index.ts';
import { checkSettings, listenSchema, routeKeys, upstreamKeys, upstreamsIn } from '../settings/index.ts';
import { checkClasses } from './caller-checks.ts';
import { checkIdentity, checkIntrospection, checkSecrets } from './identity-checks.ts';
import { checkRoutes, routesIn, writtenPatternsOf } from './route-checks.ts';
import { checkServicePaths } from './service-path-checks.ts';
import * as signIn from './sign-in-checks.ts';
import { checkTenants } from './tenant-checks.ts';

/**
 * Checks how the parts of gateway.yaml fit together. Reads the raw value, so that an error in one part does not hide errors
 * in others; skips parts that are invalid in themselves, which validation has reported.
 */
export function crossCheck(file: ConfigFile): void {
  const { upstreams, routes: written } = asMap(file.value);
  const routes = routesIn(file);
  checkSettings(file);
  checkPatterns(file, routes);
  if (isMap(upstreams) && Array.isArray(written)) checkUpstreams(file, Object.keys(upstreams), routes);
  checkOwnAddresses(file);
  checkRoutes(file);
  checkRedirects(routes);
  checkExcepted(file, routes);
  checkServicePaths(file);
  checkIdentity(file);
  checkClasses(file);
  checkTenants(file);
  checkIntrospection(file);
  signIn.checkSignIn(file);
  signIn.checkNotices(file);
  signIn.checkProtectedResource(file);
  checkSecrets(file);
}

function checkUpstreams(file: ConfigFile, names: readonly string[], routes: readonly Section[]): void {
  const used = new Set<string>();
  let areKnown = true;
  for (const { raw, path } of routes) {
    const named = upstreamsNamed(raw, path);
    for (const { name, path: at, about } of named) {
      used.add(name);
      if (names.includes(name)) continue;
      areKnown = false;
      const shown = about === 'key' ? file.shownKey(at) : file.shown(at);
      file.add(at, `no upstream is named ${shown}${didYouMean(name, names)}`, { about });
    }
    const isSound = routeKeys.upstream.safeParse(raw.upstream).success;
    areKnown &&= isSound && (raw.upstream !== undefined || isAnswered(raw));
  }
  // A route with an unknown upstream may be meant to use an unused one, so do not report those.
  for (const name of areKnown ? names : [])
    if (!used.has(name)) file.addKey(['upstreams', name], `no route uses the upstream "${name}"`, 'warning');
}

/** Reports upstreams that are the gateway itself: a request would be forwarded again and again, until it has too many fields. */
function checkOwnAddresses(file: ConfigFile): void {
  const { data: listen } = listenSchema.safeParse(asMap(file.value).listen ?? {});
  for (const [, upstream] of upstreamsIn(file)) {
    const { url, urls } = upstream.raw;
    for (const [index, entry] of (url === undefined ? asList(urls) : [url]).entries()) {
      const { data: place } = upstreamKeys.url.safeParse(isMap(entry) ? entry.url : entry);
      const own = Object.entries(listen ?? {}).find(([, listener]) => isAt(listener?.address, place));
      if (own === undefined) continue;
      const message = `this is the gateway itself (listen.${own[0]}), so each request would return to it: in a container, localhost is the container`;
      const at = url === undefined ? ['urls', index] : ['url'];
      upstream.warn(at, message);
    }
  }
}

type Place = { readonly host: string; readonly port: number };

/** Whether the listener receives what is sent to this place, if both are on this machine. */
function isAt(listener: Place | undefined, place: Place | undefined): boolean {
  if (listener === undefined || place?.port !== listener.port || listener.port === 0) return false;
  const hosts = [place.host, listener.host];
  if (place.host === listener.host) return true;
  // Different loopback addresses, such as 127.0.0.1 and 127.0.0.2, are different places.
  return hosts.every(host => HERE.test(host)) && !hosts.every(host => LOOPBACK.test(host));
}

const LOOPBACK = /^127\.|^::1$/;

/** Loopback addresses, and the addresses that mean all addresses of a machine. */
const HERE = /^(?:localhost|127\.\d+\.\d+\.\d+|0\.0\.0\.0|::1?)$/;

function checkPatterns(file: ConfigFile, routes: readonly Section[]): void {
  const sound = soundPatterns(routes);
  const patterns = sound.map(({ pattern }) => pattern);
  const pathOf = (position: number) => {
    const { index = 0, pattern } = sound[position] ?? {};
    return ['routes', index, pattern?.methods?.includes(GRPC_METHOD) ? 'grpc' : 'path'];
  };
  /** The part that distinguishes this pattern from the route's others: its host, if it has one. */
  const ownPlaceOf = (position: number) => {
    const { index = 0, pattern, at = 0 } = sound[position] ?? {};
    return (pattern?.host ?? null) === null ? pathOf(position) : ['routes', index, 'hosts', at];
  };
  const lineOf = (position: number) => file.place(ownPlaceOf(position)).line;
  const onHost = (position: number) => {
    const host = patterns[position]?.host ?? null;
    return host === null ? '' : ` on "${host}"`;
  };
  const own = signIn.ownRoutesIn(file);
  for (const [position, { pattern, at }] of sound.entries()) {
    const twin = at > 0 ? undefined : own.find(route => signIn.isOfOnePath(route.pattern, pattern));
    if (twin === undefined) continue;
    const what = WHAT[twin.value.kind];
    const where = pattern.host === null ? '' : ' on every host';
    file.add(pathOf(position), `the gateway serves this path itself${where}, for ${what}: remove the route`);
  }
  for (const [first, second] of findConflicts(patterns)) {
    const message = `this route matches the same requests${onHost(second)} as the one in line ${lineOf(first)}`;
    file.add(ownPlaceOf(second), message);
  }
  for (const { index, hiddenBy } of findHidden(patterns)) {
    const lines = [...new Set(hiddenBy.map(lineOf))].join(', ');
    const message = `no request${onHost(index)} reaches this route: more specific ones (line ${lines}) take them all`;
    file.warn(ownPlaceOf(index), message);
  }
}

/** The purpose of each of the gateway's own routes, in messages. */
const WHAT: Readonly<Record<OwnRoute['kind'], string>> = {
  'sign-in': 'sign-in',
  notice: 'notices of the provider',
  metadata: '"protected_resource"',
};

/** The patterns of all valid routes, one per host. */
function soundPatterns(routes: readonly Section[]) {
  return routes.flatMap(({ raw }, index) =>
    (writtenPatternsOf(raw) ?? []).map((pattern, at) => ({ pattern, index, at })),
  );
}

/** Warns about redirects to a path that the same route matches again: browsers give up after twenty rounds. */
function checkRedirects(routes: readonly Section[]): void {
  if (routes.every(({ raw }) => raw.redirect === undefined)) return;
  const sound = soundPatterns(routes);
  if (findConflicts(sound.map(({ pattern }) => pattern)).length > 0) return;
  const table = new RouteTable(sound.map(({ pattern, index: value }) => ({ pattern, value })));
  const message = 'this route takes that path itself: clients would be redirected in a circle';
  for (const { pattern, index } of sound) {
    const { to } = asMap(routes[index]?.raw.redirect);
    if (typeof to === 'string' && to.startsWith('/') && redirectLoops(table, index, pattern, to))
      routes[index]?.warn(['redirect', 'to'], message);
  }
}

/** Whether a request that follows the redirect matches the same route. A wildcard represents any of its hosts. */
function redirectLoops(
  table: RouteTable<number>,
  index: number,
  { methods, host }: RoutePattern,
  to: string,
): boolean {
  // Any value will do for the rest, which is passed on unchanged.
  const path = (to.split(/[?#]/)[0] ?? to).replace('{rest}', 'x');
  return table.find(methods?.[0] ?? 'GET', (host ?? '').replace('*', 'any'), path)?.value === index;
}

/** Warns of paths that are served over http without effect, or with tokens that others can read in transit. */
function checkExcepted(file: ConfigFile, routes: readonly Section[]): void {
  const { except } = asMap(asMap(asMap(file.value).listen).redirect);
  if (except === undefined) return;
  const written = soundPatterns(routes);
  const reach = new Reach(written.map(({ pattern }) => pattern));
  for (const [at, text] of asList(except).entries()) {
    const path = routeKeys.path.safeParse(text);
    if (!path.success || path.data === undefined) continue;
    const takers = reach.takersOf(parseRoutePattern(path.data, null)).flatMap(each => written[each] ?? []);
    const ofTokens = takers.find(({ index }) => routes[index]?.raw.authentication !== 'none');
    const warn = (message: string) => file.warn(['listen', 'redirect', 'except', at], message);
    if (takers.length === 0) warn('no route takes this path: it gets 404 over http');
    else if (ofTokens !== undefined) {
      const { line } = file.place(['routes', ofTokens.index]);
      warn(`the route in line ${line} takes tokens, which others can read over http: except only open paths`);
    }
  }
}

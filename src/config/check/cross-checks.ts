import type { RoutePattern } from '../../gateway/routing/index.ts';
import {
  findConflicts,
  findHidden,
  GRPC_METHOD,
  parseRoutePattern,
  Reach,
  RouteTable,
} from '../../gateway/routing/index.ts';
import { asList, asMap, type ConfigFile, didYouMean, isMap, type RawMap } from '../file/index.ts';
import type { OwnRoute } from '../model/index.ts';
import { isAnswered, partsOf, upstreamsNamed } from '../policies/index.ts';
import { checkSettings, listenSchema, type RouteConfig, routeKeys, upstreamKeys } from '../settings/index.ts';
import { checkClasses } from './caller-checks.ts';
import { checkIdentity, checkIntrospection, checkOpaqueTokens, checkSecrets } from './identity-checks.ts';
import { checkRoutes, writtenPatternsOf } from './route-checks.ts';
import { checkServicePaths } from './service-path-checks.ts';
import * as signIn from './sign-in-checks.ts';
import { checkTenants } from './tenant-checks.ts';

/**
 * Checks how the parts of gateway.yaml fit together. Reads the raw value, so that an error in one part does not hide errors
 * in others; skips parts that are invalid in themselves, which validation has reported.
 */
export function crossCheck(file: ConfigFile): void {
  const { upstreams, routes } = asMap(file.value);
  checkSettings(file);
  const sketches = asList(routes).map(sketchOf);
  checkPatterns(file, sketches);
  if (isMap(upstreams) && Array.isArray(routes)) checkUpstreams(file, Object.keys(upstreams), sketches);
  checkOwnAddresses(file);
  checkRoutes(file);
  checkRedirects(file);
  checkExcepted(file, sketches);
  checkServicePaths(file);
  checkIdentity(file);
  checkClasses(file);
  checkTenants(file);
  checkIntrospection(file);
  checkOpaqueTokens(file);
  signIn.checkSignIn(file);
  signIn.checkNotices(file);
  signIn.checkProtectedResource(file);
  checkSecrets(file);
}

/** The parts of a route that checks compare; `null` if one is invalid. */
interface RouteSketch {
  /** The patterns of the route, one per host. */
  readonly patterns: readonly RoutePattern[] | null;
  readonly upstreams: readonly string[] | null;
}

function sketchOf(route: unknown): RouteSketch {
  const raw = asMap(route);
  const upstream = routeKeys.upstream.safeParse(raw.upstream);
  return {
    patterns: writtenPatternsOf(raw),
    upstreams: upstream.success ? namesOf(upstream.data, raw) : null,
  };
}

function checkUpstreams(file: ConfigFile, names: readonly string[], routes: readonly RouteSketch[]): void {
  const known = new Set(names);
  for (const [index] of routes.entries()) checkNamed(file, index, names);
  // A route with an unknown upstream may have been meant to use an unused one.
  if (!routes.every(({ upstreams }) => upstreams?.every(name => known.has(name)) === true)) return;
  const used = new Set(routes.flatMap(({ upstreams }) => upstreams ?? []));
  for (const name of names) {
    if (used.has(name)) continue;
    const message = `no route uses the upstream "${name}"`;
    file.add(['upstreams', name], message, { about: 'key', severity: 'warning' });
  }
}

/** Reports upstreams that are the gateway itself: a request would come again and again, until it has too many fields. */
function checkOwnAddresses(file: ConfigFile): void {
  const { data: listen } = listenSchema.safeParse(asMap(file.value).listen ?? {});
  for (const [name, upstream] of Object.entries(asMap(asMap(file.value).upstreams))) {
    const { url, urls } = asMap(upstream);
    for (const [index, entry] of (url === undefined ? asList(urls) : [url]).entries()) {
      const { data: place } = upstreamKeys.url.safeParse(isMap(entry) ? entry.url : entry);
      const own = Object.entries(listen ?? {}).find(([, listener]) => isAt(listener?.address, place));
      if (own === undefined) continue;
      const message = `this is the gateway itself (listen.${own[0]}), and each request would come again: in a container, localhost is the container`;
      const at = url === undefined ? ['urls', index] : ['url'];
      file.add(['upstreams', name, ...at], message, { severity: 'warning' });
    }
  }
}

type Place = { readonly host: string; readonly port: number };

/** Whether a listener gets what is sent to this place, as far as both are on this machine. */
function isAt(listener: Place | undefined, place: Place | undefined): boolean {
  if (listener === undefined || place?.port !== listener.port || listener.port === 0) return false;
  const hosts = [place.host, listener.host];
  if (place.host === listener.host) return true;
  // Two addresses of loopback are two places, such as 127.0.0.1 and 127.0.0.2.
  return hosts.every(host => HERE.test(host)) && !hosts.every(host => LOOPBACK.test(host));
}

const LOOPBACK = /^127\.|^::1$/;

/** Loopback, and the addresses that stand for all of a machine. */
const HERE = /^(?:localhost|127\.\d+\.\d+\.\d+|0\.0\.0\.0|::1?)$/;

/** The upstreams of a route; `null` if it lacks one. */
function namesOf(upstream: RouteConfig['upstream'], route: RawMap): readonly string[] | null {
  if (upstream !== undefined) return partsOf(upstream).map(({ name }) => name);
  return isAnswered(route) ? [] : null;
}

function checkNamed(file: ConfigFile, index: number, names: readonly string[]): void {
  const route = asMap(file.valueAt(['routes', index]));
  for (const { name, path, about } of upstreamsNamed(route, ['routes', index])) {
    if (names.includes(name)) continue;
    const shown = about === 'key' ? file.shownKey(path) : file.shown(path);
    file.add(path, `no upstream is named ${shown}${didYouMean(name, names)}`, { about });
  }
}

function checkPatterns(file: ConfigFile, routes: readonly RouteSketch[]): void {
  const sound = routes.flatMap(({ patterns }, index) =>
    (patterns ?? []).map((pattern, at) => ({ pattern, index, at })),
  );
  const patterns = sound.map(({ pattern }) => pattern);
  const pathOf = (position: number) => {
    const { index = 0, pattern } = sound[position] ?? {};
    return ['routes', index, pattern?.methods?.includes(GRPC_METHOD) ? 'grpc' : 'path'];
  };
  /** Where the pattern differs from the route's others: at its host, if it has one. */
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
    file.add(ownPlaceOf(index), message, { severity: 'warning' });
  }
}

/** What each of the gateway's own routes is for. */
const WHAT: Readonly<Record<OwnRoute['kind'], string>> = {
  'sign-in': 'sign-in',
  notice: 'notices of the provider',
  metadata: '"protected_resource"',
};

/** Warns about redirects to a path that the same route matches again: browsers give up after twenty rounds. */
function checkRedirects(file: ConfigFile): void {
  const written = asList(asMap(file.value).routes).map(asMap);
  const targets = written.flatMap(({ redirect }, index) => {
    const { to } = asMap(redirect);
    return typeof to === 'string' && to.startsWith('/') ? [{ index, to }] : [];
  });
  if (targets.length === 0) return;
  const patterns = written.map(route => writtenPatternsOf(route) ?? []);
  const entries = patterns.flatMap((all, value) => all.map(pattern => ({ pattern, value })));
  if (findConflicts(entries.map(({ pattern }) => pattern)).length > 0) return;
  const table = new RouteTable(entries);
  for (const { index, to } of targets) {
    if (!patterns[index]?.some(pattern => redirectLoops(table, index, pattern, to))) continue;
    const message = 'this route takes that path itself: clients would be redirected in a circle';
    file.add(['routes', index, 'redirect', 'to'], message, { severity: 'warning' });
  }
}

/** Whether a request that follows the redirect matches the same route. A wildcard represents any of its hosts. */
function redirectLoops(
  table: RouteTable<number>,
  index: number,
  { methods, host }: RoutePattern,
  to: string,
): boolean {
  // Any rest will do: it goes on as it is.
  const path = (to.split(/[?#]/)[0] ?? to).replace('{rest}', 'x');
  return table.find(methods?.[0] ?? 'GET', (host ?? '').replace('*', 'any'), path)?.value === index;
}

/** Warns of paths that are served over http for nothing, or with tokens that others can read on the way. */
function checkExcepted(file: ConfigFile, routes: readonly RouteSketch[]): void {
  const { except } = asMap(asMap(asMap(file.value).listen).redirect);
  if (except === undefined) return;
  const written = routes.flatMap(({ patterns }, index) =>
    (patterns ?? []).map(pattern => ({ pattern, index })),
  );
  const reach = new Reach(written.map(({ pattern }) => pattern));
  for (const [at, text] of asList(except).entries()) {
    const path = routeKeys.path.safeParse(text);
    if (!path.success || path.data === undefined) continue;
    const takers = reach.takersOf(parseRoutePattern(path.data, null)).flatMap(each => written[each] ?? []);
    const ofTokens = takers.find(({ index }) => {
      const { authentication = 'required' } = asMap(file.valueAt(['routes', index]));
      return authentication !== 'none';
    });
    const warn = (message: string) =>
      file.add(['listen', 'redirect', 'except', at], message, { severity: 'warning' });
    if (takers.length === 0) warn('no route takes this path: it gets 404 over http');
    else if (ofTokens !== undefined) {
      const { line } = file.place(['routes', ofTokens.index]);
      warn(`the route in line ${line} takes tokens, which others can read over http: except only open paths`);
    }
  }
}

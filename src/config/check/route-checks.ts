import { isRoutable, ROUTABLE_METHODS, type RoutePattern, whyNoMethod } from '../../gateway/routing/index.ts';
import { patternsOfRoute } from '../compile/index.ts';
import { asList, asMap, type ConfigFile, didYouMean, type Path, type RawMap } from '../file/index.ts';
import * as policies from '../policies/index.ts';
import { routeKeys } from '../settings/index.ts';

export function checkRoutes(file: ConfigFile): void {
  checkMethods(file);
  checkGrpc(file);
  checkRoutePolicies(file);
}

/** Warns about methods that are probably misspelt: any token may be one. */
function checkMethods(file: ConfigFile): void {
  for (const [index, route] of asList(asMap(file.value).routes).entries())
    for (const [at, method] of asList(asMap(route).methods).entries()) {
      if (typeof method !== 'string' || isRoutable(method) || whyNoMethod(method) !== null) continue;
      const meant = didYouMean(method, ROUTABLE_METHODS);
      const message = `"${method}" is no method of HTTP that gateways know${meant}`;
      if (meant !== '') file.add(['routes', index, 'methods', at], message, { severity: 'warning' });
    }
}

function checkRoutePolicies(file: ConfigFile): void {
  const { routes, upstreams } = asMap(file.value);
  for (const [index, value] of asList(routes).entries()) {
    const [route, path] = [asMap(value), ['routes', index]];
    policies.checkServed(file, path, route);
    policies.checkShares(file, path, route);
    if (policies.isAnswered(route)) checkAnswered(file, path, route);
    addUnserved(file, path, route);
    const named = policies.upstreamsNamed(route, path).map(({ name }) => name);
    for (const upstream of named.length === 0 ? [undefined] : named) {
      const keys = upstream === undefined ? {} : asMap(asMap(upstreams)[upstream]);
      policies.checkPolicies({ file, path, route: { ...route, upstream }, upstream: keys });
    }
  }
}

/** Reports a route without a target, unless a misspelt key, which validation reports, may be it. */
function addUnserved(file: ConfigFile, path: Path, route: RawMap): void {
  if (policies.SERVED_BY.some(key => file.has([...path, key])) || !hasKnownKeys(route)) return;
  file.add(path, 'missing key "upstream": expected the name of an upstream');
}

function hasKnownKeys(route: RawMap): boolean {
  return Object.keys(route).every(key => Object.hasOwn(routeKeys, key));
}

/** Reports keys about an upstream on a route that has none. */
function checkAnswered(file: ConfigFile, path: Path, route: RawMap): void {
  for (const key of policies.FORWARD_ONLY) {
    const message = `"${key}" is about an upstream, and none serves this route: leave it out`;
    if (route[key] !== undefined) file.add([...path, key], message, { about: 'key' });
  }
}

/** Checks whether each route serves paths or gRPC calls, and that its upstream does too. */
function checkGrpc(file: ConfigFile): void {
  const { routes, upstreams } = asMap(file.value);
  if (!Array.isArray(routes)) return;
  checkListeners(file, routes.map(asMap));
  for (const [index, route] of routes.entries()) {
    const raw = asMap(route);
    if (raw.grpc !== undefined) checkKeys(file, index, raw);
    else if (raw.path === undefined) addMissing(file, index, raw);
    checkUpstream(file, index, raw, asMap(upstreams));
  }
}

function checkListeners(file: ConfigFile, routes: readonly RawMap[]): void {
  const { http, grpc = 'off' } = asMap(asMap(file.value).listen);
  const { tls, h2c } = asMap(http);
  if (asMap(asMap(grpc).tls).http2 === false)
    file.add(['listen', 'grpc', 'tls', 'http2'], 'gRPC needs HTTP/2: leave this out');
  if (routes.every(route => route.grpc === undefined) && grpc !== 'off')
    file.add(['listen', 'grpc'], 'no route has "grpc": nothing is served here', { severity: 'warning' });
  const isServed = grpc !== 'off' || h2c === true || (tls !== undefined && asMap(tls).http2 !== false);
  // gRPC-Web also works over HTTP/1.1.
  const first = routes.findIndex(route => route.grpc !== undefined && route.grpc_web !== true);
  if (first === -1 || isServed) return;
  const message =
    'no listener speaks HTTP/2, which gRPC needs: add "listen.grpc", or "tls" or "h2c: true" to "listen.http"';
  file.add(['routes', first, 'grpc'], message, { severity: 'warning' });
}

function checkKeys(file: ConfigFile, index: number, route: RawMap): void {
  const add = (key: string, message: string) => file.add(['routes', index, key], message, { about: 'key' });
  if (route.path !== undefined) add('path', 'a route has "path" or "grpc", not both: write two routes');
  for (const key of ['methods', ...policies.PATH_ONLY])
    if (route[key] !== undefined) add(key, `"${key}" does not apply to gRPC calls: leave it out`);
}

/** Reports a missing path, unless a misspelt key, which validation reports, may be it. */
function addMissing(file: ConfigFile, index: number, route: RawMap): void {
  const path = ['routes', index];
  if (hasKnownKeys(route) && policies.SERVED_BY.some(key => file.has([...path, key])))
    file.add(path, 'missing key "path": expected a path such as /v1/things/{id} or /v1/**');
}

function checkUpstream(file: ConfigFile, index: number, route: RawMap, upstreams: RawMap): void {
  const { grpc, path } = route;
  for (const { name, path: at, about } of policies.upstreamsNamed(route, ['routes', index])) {
    if (!Object.hasOwn(upstreams, name)) continue;
    const speaksGrpc = asMap(upstreams[name]).protocol === 'grpc';
    const add = (message: string) => file.add(at, message, { about });
    if (grpc !== undefined && !speaksGrpc)
      add(`the upstream "${name}" does not say "protocol: grpc", which gRPC calls need`);
    if (path !== undefined && grpc === undefined && speaksGrpc)
      add(`this route has a path, but "${name}" speaks gRPC: give the route "grpc"`);
  }
}

/** The patterns of routes: several checks ask for them. */
const PATTERNS = new WeakMap<RawMap, readonly RoutePattern[] | null>();

/** Returns the patterns of a route as written, one per host; `null` if it is invalid. */
export function writtenPatternsOf(route: RawMap): readonly RoutePattern[] | null {
  const known = PATTERNS.get(route);
  if (known !== undefined) return known;
  const read = readPatterns(route);
  PATTERNS.set(route, read);
  return read;
}

function readPatterns(route: RawMap): readonly RoutePattern[] | null {
  const grpc = routeKeys.grpc.safeParse(route.grpc);
  const path = routeKeys.path.safeParse(route.path);
  const hosts = routeKeys.hosts.safeParse(route.hosts);
  const methods = routeKeys.methods.safeParse(route.methods);
  if (!grpc.success || !path.success || !hosts.success || !methods.success) return null;
  if ((grpc.data === undefined) === (path.data === undefined)) return null;
  return patternsOfRoute({ grpc: grpc.data, path: path.data, hosts: hosts.data, methods: methods.data });
}

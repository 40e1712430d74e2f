import { asList, asMap, type ConfigFile, didYouMean, type RawMap, Section } from '../file/index.ts';
import * as policies from '../policies/index.ts';
import { isRoutable, ROUTABLE_METHODS, type RoutePattern, whyNoMethod } from '../routing/index.ts';
import { patternsOfRoute, routeKeys } from '../settings/index.ts';

export function routesIn(file: ConfigFile): Section[] {
  return asList(asMap(file.value).routes).map((route, index) => new Section(file, ['routes', index], route));
}

export function checkRoutes(file: ConfigFile): void {
  const routes = routesIn(file);
  for (const route of routes) checkMethods(route);
  if (Array.isArray(asMap(file.value).routes)) checkListeners(file, routes);
  for (const route of routes) checkGrpc(route);
  for (const route of routes) checkRoutePolicies(route);
}

/** Warns about methods that are probably misspelt: any token may be one. */
function checkMethods(route: Section): void {
  for (const [at, method] of asList(route.raw.methods).entries()) {
    if (typeof method !== 'string' || isRoutable(method) || whyNoMethod(method) !== null) continue;
    const meant = didYouMean(method, ROUTABLE_METHODS);
    if (meant !== '')
      route.warn(['methods', at], `"${method}" is not an HTTP method that gateways know${meant}`);
  }
}

function checkRoutePolicies(route: Section): void {
  policies.checkServed(route);
  policies.checkShares(route);
  if (policies.isAnswered(route.raw)) checkAnswered(route);
  // A misspelt key, which validation reports, may be the target.
  if (!isServed(route) && hasKnownKeys(route))
    route.add([], 'missing key "upstream": expected the name of an upstream');
  const named = policies.upstreamsNamed(route.raw, route.path).map(({ name }) => name);
  for (const upstream of named.length === 0 ? [undefined] : named)
    policies.checkPolicies(new policies.RouteInFile(route, upstream));
}

function isServed(route: Section): boolean {
  return policies.SERVED_BY.some(key => route.has(key));
}

function hasKnownKeys({ raw }: Section): boolean {
  return Object.keys(raw).every(key => Object.hasOwn(routeKeys, key));
}

function checkAnswered(route: Section): void {
  for (const key of policies.FORWARD_ONLY)
    if (route.raw[key] !== undefined)
      route.addKey(key, `"${key}" is about an upstream, and none serves this route: leave it out`);
}

/** Checks whether a route serves paths or gRPC calls, and that its upstream does too. */
function checkGrpc(route: Section): void {
  const { grpc, path } = route.raw;
  if (grpc !== undefined) checkKeys(route);
  // A misspelt key, which validation reports, may be the path.
  else if (path === undefined && hasKnownKeys(route) && isServed(route))
    route.add([], 'missing key "path": expected a path such as /v1/things/{id} or /v1/**');
  checkUpstream(route);
}

function checkListeners(file: ConfigFile, routes: readonly Section[]): void {
  const { http, grpc = 'off' } = asMap(asMap(file.value).listen);
  const { tls, h2c } = asMap(http);
  if (asMap(asMap(grpc).tls).http2 === false)
    file.add(['listen', 'grpc', 'tls', 'http2'], 'gRPC needs HTTP/2: leave this out');
  if (routes.every(({ raw }) => raw.grpc === undefined) && grpc !== 'off')
    file.warn(['listen', 'grpc'], 'no route has "grpc": nothing is served here');
  const hasHttp2 = grpc !== 'off' || h2c === true || (tls !== undefined && asMap(tls).http2 !== false);
  // gRPC-Web also works over HTTP/1.1.
  const first = routes.find(({ raw }) => raw.grpc !== undefined && raw.grpc_web !== true);
  const message =
    'no listener speaks HTTP/2, which gRPC needs: add "listen.grpc", or "tls" or "h2c: true" to "listen.http"';
  if (!hasHttp2) first?.warn('grpc', message);
}

function checkKeys(route: Section): void {
  if (route.raw.path !== undefined)
    route.addKey('path', 'a route has "path" or "grpc", not both: write two routes');
  for (const key of ['methods', ...policies.PATH_ONLY])
    if (route.raw[key] !== undefined)
      route.addKey(key, `"${key}" does not apply to gRPC calls: leave it out`);
}

function checkUpstream({ file, raw, path: ofRoute }: Section): void {
  const { grpc, path } = raw;
  const upstreams = asMap(asMap(file.value).upstreams);
  for (const { name, path: at, about } of policies.upstreamsNamed(raw, ofRoute)) {
    if (!Object.hasOwn(upstreams, name)) continue;
    const speaksGrpc = asMap(upstreams[name]).protocol === 'grpc';
    const add = (message: string) => file.add(at, message, { about });
    if (grpc !== undefined && !speaksGrpc)
      add(`the upstream "${name}" does not say "protocol: grpc", which gRPC calls need`);
    if (path !== undefined && grpc === undefined && speaksGrpc)
      add(`this route has a path, but "${name}" speaks gRPC: give the route "grpc"`);
  }
}

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

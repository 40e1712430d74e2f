import { mainValue } from '../../http/index.ts';
import type { PathNaming } from '../../observe/index.ts';
import {
  PathWords,
  parseGrpcPattern,
  parseRoutePattern,
  type RouteEntry,
  type RoutePattern,
  shapeOf,
} from '../../routing/index.ts';
import type { ForwardRoute, UpstreamModel } from '../model/index.ts';
import type { GatewayConfig, RouteConfig, UpstreamConfig } from '../schema/index.ts';

/** Compiles a route. Throws where the checks were not made: they report what keeps a route from being compiled. */
export function compileRoute(
  config: RouteConfig,
  { upstreams: upstreamConfigs }: GatewayConfig,
  upstreams: ReadonlyMap<string, UpstreamModel>,
): RouteEntry<ForwardRoute> {
  const upstream = upstreams.get(config.upstream);
  const defaults = upstreamConfigs[config.upstream]?.timeouts;
  const pattern = patternOf(config);
  if (upstream === undefined || defaults === undefined || pattern === null) {
    throw new Error(`a route to the upstream ${config.upstream} was not checked`);
  }
  const value: ForwardRoute = {
    kind: 'forward',
    id: pattern.methods === null ? pattern.path : `${pattern.methods.join(',')} ${pattern.path}`,
    upstream,
    authentication: config.authentication,
    closeAtExpiry: config.close_at_expiry,
    introspectionMs: config.introspection === null ? null : config.introspection.cacheMs,
    globalLimitExempt: config.global_limit === 'exempt',
    parameters: pattern.parameters,
    ...(config.grpc === undefined
      ? rulesOfPaths(config, defaults, upstream)
      : rulesOfCalls(config, upstream)),
  };
  return { pattern, value };
}

/** Null: it was not checked. */
function patternOf({ path, grpc, methods }: RouteConfig): RoutePattern | null {
  if (grpc !== undefined) return parseGrpcPattern(grpc);
  return path === undefined ? null : parseRoutePattern(path, methods ?? null);
}

/** What routes of paths and routes of gRPC calls differ in. */
type RulesOfKind = Omit<
  ForwardRoute,
  | 'kind'
  | 'id'
  | 'upstream'
  | 'authentication'
  | 'closeAtExpiry'
  | 'introspectionMs'
  | 'globalLimitExempt'
  | 'parameters'
>;

function rulesOfPaths(
  config: RouteConfig,
  defaults: UpstreamConfig['timeouts'],
  { pools }: UpstreamModel,
): RulesOfKind {
  return {
    pool: pools.requests,
    webhook: config.webhook,
    upstream429: config.upstream_429,
    cors: config.cors,
    semicolons: config.semicolons,
    firstByteTimeoutMs: config.timeouts.first_byte ?? defaults.first_byte,
    idleTimeoutMs: config.timeouts.idle ?? defaults.idle,
    websocket: config.websocket
      ? {
          pool: pools.websockets,
          idleMs: config.timeouts.websocket_idle ?? defaults.websocket_idle,
        }
      : null,
    body: { maxBytes: config.max_body, minBytesPerS: config.min_body_rate, deadlineMs: null },
  };
}

/** A call may rightly be silent for hours: its own deadline bounds it, and PINGs tell whether its connection lives. */
function rulesOfCalls(config: RouteConfig, { pools }: UpstreamModel): RulesOfKind {
  return {
    pool: pools.grpc_calls,
    webhook: false,
    upstream429: 'pass',
    cors: false,
    semicolons: 'refuse',
    firstByteTimeoutMs: null,
    idleTimeoutMs: null,
    websocket: null,
    body: { maxBytes: config.max_body, minBytesPerS: null, deadlineMs: null },
  };
}

/**
 * Makes the route table for preflights that are left to upstreams, keyed by the method that the browser asks for. On each path
 * one route also takes the methods that no route there names. If a route names OPTIONS, its service expects preflights and gets
 * all of them for the path.
 */
export function preflightRoutes(routes: readonly RouteEntry<ForwardRoute>[]): RouteEntry<ForwardRoute>[] {
  const left = routes.filter(({ value }) => !value.cors);
  const byPath = Map.groupBy(left, ({ pattern }) => shapeOf(pattern.segments));
  return [...byPath.values()].flatMap(ofOnePath);
}

function ofOnePath(routes: readonly RouteEntry<ForwardRoute>[]): RouteEntry<ForwardRoute>[] {
  const named = routes.find(({ pattern }) => pattern.methods?.includes('OPTIONS'));
  const others = named === undefined ? routes : [];
  const first = named ?? routes.find(({ pattern }) => pattern.methods === null) ?? routes[0];
  return first === undefined ? [] : [forEveryMethod(first), ...others.filter(route => route !== first)];
}

function forEveryMethod({ pattern, value }: RouteEntry<ForwardRoute>): RouteEntry<ForwardRoute> {
  return { pattern: { ...pattern, methods: null }, value };
}

/**
 * Names paths in the log by the literals of all routes, those of limits.yaml included. A segment is named by the value that a
 * main parameter would have there, so that a replay can count by another parameter.
 */
export function pathNaming(routes: readonly { readonly pattern: RoutePattern }[]): PathNaming {
  const words = new PathWords(routes.map(({ pattern }) => pattern));
  return {
    rewrite: (path, isCall, name) =>
      words.rewrite(path, isCall, segment => name(mainValue(segment) ?? segment)),
  };
}

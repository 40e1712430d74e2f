import {
  type ForwardRoute,
  formatHostPort,
  formatSize,
  type IdentityModel,
  type PoolModel,
  type ProviderModel,
  type UpstreamModel,
} from '../config/index.ts';
import { formatDuration } from '../core/index.ts';
import { findConflicts, GRPC_METHOD, RouteTable } from '../routing/index.ts';
import type { ExplainedRow } from './explanation.ts';
import type { ListedRoute } from './routes.ts';

/** Names a route and where it is written: `/v1/** (config/gateway.yaml:12)`. */
function nameOfRoute({ value, place }: ListedRoute): string {
  return `${value.id} (${place === null ? "the gateway's own" : `${place.file}:${place.line}`})`;
}

export function routeRow(route: ListedRoute): ExplainedRow {
  return ['route', nameOfRoute(route)];
}

/** Describes what a route does with its requests. */
export function describeForwarding(
  route: ForwardRoute,
  params: readonly string[],
  identity: IdentityModel | null,
): ExplainedRow[] {
  const { upstream } = route;
  return [
    ...route.parameters.map(
      (name, index): ExplainedRow => ['parameters', `${name} = ${params[index] ?? ''}`],
    ),
    ['upstream', describeUpstream(upstream)],
    ...describeAuthentication(route, identity),
    ['Host', upstream.hostHeader ?? "the client's own"],
    ['body', describeBody(route)],
    ['semicolons', route.semicolons === 'pass' ? 'passed on' : 'refused with 400'],
    ['upstream 429', UPSTREAM_429[route.upstream429]],
    ['timeouts', describeTimeouts(route, upstream)],
    ['caps', describePool(route.pool)],
    ...describeWebSockets(route),
  ];
}

/** What a route of gRPC does with the calls it takes. */
export function describeCall(route: ForwardRoute, identity: IdentityModel | null): ExplainedRow[] {
  const { upstream } = route;
  return [
    ['upstream', describeUpstream(upstream)],
    ...describeAuthentication(route, identity),
    ['Host', upstream.hostHeader ?? "the client's own"],
    ['body', describeBody(route)],
    ['deadline', "the call's own grpc-timeout; past it DEADLINE_EXCEEDED"],
    ['timeouts', `connect ${formatDuration(upstream.options.connectTimeoutMs)}`],
    ['caps', describePool(route.pool)],
    ['statuses', '401 goes out as UNAUTHENTICATED, 429 as RESOURCE_EXHAUSTED, 503 as UNAVAILABLE'],
  ];
}

const POOLS = {
  requests: 'requests in flight to the upstream',
  websockets: 'WebSockets open to the upstream',
  grpc_calls: 'gRPC calls in flight to the upstream',
} as const;

function describeWebSockets({ websocket }: ForwardRoute): ExplainedRow[] {
  if (websocket === null) return [];
  return [
    ['WebSockets', `served, ended after ${formatDuration(websocket.idleMs)} without traffic`],
    ['caps', describePool(websocket.pool)],
  ];
}

function describePool({ name, max, maxPerCaller }: PoolModel): string {
  return `${max} ${POOLS[name]}, ${maxPerCaller} per caller`;
}

const UPSTREAM_429 = {
  rewrite: 'rewritten unless clients of the gateway understand it',
  pass: 'passed on unchanged',
} as const;

const AUTHENTICATION = {
  required: 'required: 401 without a valid token',
  optional: 'optional: without a valid token the caller is its address',
  none: 'none: open to everyone',
} as const;

const PASSED_ON = {
  required: 'the token is passed on, as Bearer',
  optional: 'a valid token is passed on, as Bearer; anything else is removed',
  none: 'passed on unchanged',
} as const;

function describeAuthentication(route: ForwardRoute, identity: IdentityModel | null): ExplainedRow[] {
  const rows: ExplainedRow[] = [['authentication', AUTHENTICATION[route.authentication]]];
  if (route.closeAtExpiry) rows.push(['authentication', 'a response is cut off when its token expires']);
  rows.push(['Authorization', describeAuthorization(route)]);
  if (route.authentication === 'none' || identity === null) return rows;
  if (route.introspectionMs !== null)
    rows.push(['introspection', describeIntrospection(route.introspectionMs)]);
  const [first] = identity.providers;
  for (const { name, claim } of first?.accessTokens.identityHeaders ?? [])
    rows.push(['identity headers', `${name} from the claim ${claim}`]);
  return [...rows, ...identity.providers.flatMap(describeTokens)];
}

function describeIntrospection(cacheMs: number): string {
  return `the provider is asked whether a token is still valid, at most every ${formatDuration(cacheMs)}; 503 while it cannot say`;
}

function describeTokens({
  label,
  accessTokens: { issuer, audience, principal, bots },
}: ProviderModel): ExplainedRow[] {
  // With several, a caller is one of its issuer's.
  const all = (claims: readonly string[]) => [...(label === null ? [] : ['iss']), ...claims].join(' and ');
  const of = label === null ? '' : `${label}: `;
  const rows: ExplainedRow[] = [
    ['tokens', `${of}issued by ${issuer} for ${audience ?? 'anyone'}`],
    ['callers', `${of}users, identified by ${all(principal)}`],
  ];
  if (bots === null) return rows;
  const mark = bots.value === null ? bots.claim : `${bots.claim} ${JSON.stringify(bots.value)}`;
  return [...rows, ['callers', `${of}bots (tokens with ${mark}), identified by ${all(bots.principal)}`]];
}

function describeUpstream({ name, protocol, options }: UpstreamModel): string {
  const address = `${name}, http://${formatHostPort(options)}`;
  return protocol === 'http1' ? address : `${address}, ${protocol}`;
}

function describeAuthorization({ authentication, upstream }: ForwardRoute): string {
  if (!upstream.passAuthorization) return 'removed';
  return PASSED_ON[authentication];
}

function describeBody({ body: { maxBytes, minBytesPerS } }: ForwardRoute): string {
  const size = maxBytes === null ? 'any size' : `at most ${formatSize(maxBytes)}, else 413`;
  return minBytesPerS === null
    ? size
    : `${size}; at least ${formatSize(minBytesPerS)}/s on average, else 408`;
}

function describeTimeouts(route: ForwardRoute, upstream: UpstreamModel): string {
  const times = [
    ['connect', upstream.options.connectTimeoutMs],
    ['first byte', route.firstByteTimeoutMs],
    ['idle', route.idleTimeoutMs],
  ] as const;
  return times.map(([name, ms]) => `${name} ${ms === null ? 'none' : formatDuration(ms)}`).join(', ');
}

/** Lists the other routes that match the path, and why they do not take the request. `winner`: undefined if no route does. */
export function rivalsOf(
  winner: ListedRoute | undefined,
  method: string,
  path: string,
  routes: readonly ListedRoute[],
): ExplainedRow[] {
  return routes
    .filter(route => route !== winner && matchesPath(route, method, path))
    .map(route => {
      const { methods } = route.pattern;
      const why =
        new RouteTable([route]).find(method, path) === null
          ? `only for ${methods?.join(', ')}`
          : whyItLost(route, winner);
      return ['also matches', `${nameOfRoute(route)}: ${why}`];
    });
}

function matchesPath({ pattern, value }: ListedRoute, method: string, path: string): boolean {
  const isOfCalls = pattern.methods?.includes(GRPC_METHOD) === true;
  if (isOfCalls !== (method === GRPC_METHOD)) return false;
  const entry = { pattern: isOfCalls ? pattern : { ...pattern, methods: null }, value };
  return new RouteTable([entry]).find(method, path) !== null;
}

function whyItLost({ pattern }: ListedRoute, winner: ListedRoute | undefined): string {
  if (winner === undefined) return 'only routes that name /v1/anonymous serve paths under it';
  const samePath = findConflicts([
    { ...pattern, methods: null },
    { ...winner.pattern, methods: null },
  ]);
  return samePath.length > 0 ? 'same path, but the route above names the method' : 'less specific';
}

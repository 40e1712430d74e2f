import {
  type ForwardRoute,
  formatHostPort,
  formatSize,
  type IdentityModel,
  type LoadedRoute,
  type PoolModel,
  type UpstreamModel,
} from '../../config/index.ts';
import { formatDuration } from '../units.ts';
import type { ExplainedFact } from './fact.ts';

/** `/v1/** (config/gateway.yaml:12)`: which route it is, and where it is written. */
export function nameOfRoute({ value, place }: LoadedRoute): string {
  return `${value.id} (${place === null ? "the gateway's own" : `${place.file}:${place.line}`})`;
}

export function routeFact(route: LoadedRoute): ExplainedFact {
  return ['route', nameOfRoute(route)];
}

/** What a route does with the requests it takes. */
export function describeForwarding(
  route: ForwardRoute,
  params: readonly string[],
  identity: IdentityModel | null,
): ExplainedFact[] {
  const { upstream } = route;
  return [
    ...route.parameters.map(
      (name, index): ExplainedFact => ['parameters', `${name} = ${params[index] ?? ''}`],
    ),
    ['upstream', describeUpstream(upstream)],
    ...describeAuthentication(route, identity),
    ['Host', upstream.hostHeader ?? "the client's own"],
    ['body', describeBody(route)],
    ['semicolons', route.semicolons === 'pass' ? 'passed on' : 'refused with 400'],
    ['upstream 429', UPSTREAM_429[route.upstream429]],
    ['timeouts', describeTimeouts(route, upstream)],
    ['caps', describePool(route.pool)],
  ];
}

const POOLS = { requests: 'requests to the upstream in flight' } as const;

function describePool({ name, max, maxPerCaller }: PoolModel): string {
  return `${max} ${POOLS[name]}, ${maxPerCaller} of one caller`;
}

const UPSTREAM_429 = {
  rewrite: 'rewritten, unless clients of the gateway understand it',
  pass: 'passed on as it is',
} as const;

const AUTHENTICATION = {
  required: 'required: 401 without a valid token',
  optional: 'optional: without a valid token the caller is its address',
  none: 'none: everyone may use it',
} as const;

const PASSED_ON = {
  required: 'the token is passed on, as Bearer',
  optional: 'a valid token is passed on, as Bearer; anything else is removed',
  none: 'passed on as it came',
} as const;

function describeAuthentication(route: ForwardRoute, identity: IdentityModel | null): ExplainedFact[] {
  const facts: ExplainedFact[] = [['authentication', AUTHENTICATION[route.authentication]]];
  if (route.closeAtExpiry) facts.push(['authentication', 'a response is broken off when its token expires']);
  facts.push(['Authorization', describeAuthorization(route)]);
  if (route.authentication === 'none' || identity === null) return facts;
  const { identityHeaders, issuer, audience } = identity.accessTokens;
  for (const { name, claim } of identityHeaders)
    facts.push(['identity headers', `${name} from the claim ${claim}`]);
  facts.push(['tokens', `issued by ${issuer} for ${audience ?? 'anyone'}`]);
  return [...facts, ...describeCallers(identity.accessTokens)];
}

function describeCallers({ principal, bots }: IdentityModel['accessTokens']): ExplainedFact[] {
  const users: ExplainedFact = ['callers', `users, told apart by ${principal.join(' and ')}`];
  if (bots === null) return [users];
  const mark = bots.value === null ? bots.claim : `${bots.claim} ${JSON.stringify(bots.value)}`;
  return [
    users,
    ['callers', `bots, whose tokens have ${mark}, told apart by ${bots.principal.join(' and ')}`],
  ];
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
  const size = maxBytes === null ? 'of any size' : `up to ${formatSize(maxBytes)}, beyond it 413`;
  return minBytesPerS === null ? size : `${size}; below ${formatSize(minBytesPerS)}/s on average 408`;
}

function describeTimeouts(route: ForwardRoute, upstream: UpstreamModel): string {
  const times = [
    ['connect', upstream.options.connectTimeoutMs],
    ['first byte', route.firstByteTimeoutMs],
    ['idle', route.idleTimeoutMs],
  ] as const;
  return times.map(([name, ms]) => `${name} ${formatDuration(ms)}`).join(', ');
}

import {
  type AnswerRoute,
  applying,
  describeAnswer,
  describePolicies,
  describeUpstreamSettings,
  type FilePlace,
  type ForwardRoute,
  type IdentityModel,
  type ProviderModel,
  type RouteModel,
  type RouteOfFile,
  type Snapshot,
  type UpstreamModel,
} from '../config/index.ts';
import type { RouteEntry } from '../config/routing/index.ts';
import { EVERY_HOST, findConflicts, GRPC_METHOD, RouteTable, wildcardOf } from '../config/routing/index.ts';
import { formatDuration, formatHostPort, type PoolModel } from '../core/index.ts';
import type { ProofOptions } from '../identity/auth/index.ts';
import { servicePath } from '../wire/http/index.ts';
import type { ExplainedRow } from './explanation.ts';

/** Formats a route and where it is written: `/v1/** (config/gateway.yaml:12)`. */
function nameOfRoute({ value, place }: ListedRoute): string {
  return `${value.id} (${place === null ? "the gateway's own" : `${place.file}:${place.line}`})`;
}

export function routeRow(route: ListedRoute): ExplainedRow {
  return ['route', nameOfRoute(route)];
}

export function describeForwarding(
  route: ForwardRoute,
  path: string,
  params: readonly string[],
  identity: IdentityModel | null,
): ExplainedRow[] {
  return [
    ...describeSentPath(route, path),
    ...describeParameters(route, params),
    ...describeCaller(route, 'paths', identity),
    ...describePolicies(route, 'paths', 'request'),
    ['caps', describePool(route.pool)],
    ...describePolicies(route, 'paths', 'websocket'),
    ...applying([['caps', route.websocket && describePool(route.websocket.pool)]]),
  ];
}

export function describeSentFields({ sentFields }: Snapshot): ExplainedRow[] {
  return applying([['forwarding headers', sentFields && `also ${sentFields.join(', ')}`]]);
}

/** Describes how a request is answered and logged, if keys of the route change that. */
export function describeAnswering({ errorPages, log }: Snapshot): ExplainedRow[] {
  return applying([
    ['errors', errorPages && `for browsers, the pages ${[...errorPages.keys()].join(', ')}`],
    ['log', log.plainPaths ? 'with the path as it is, without its query' : null],
  ]);
}

function describeParameters({ parameters }: RouteOfFile, params: readonly string[]): ExplainedRow[] {
  return parameters.map((name, index) => ['parameters', `${name} = ${params[index] ?? ''}`]);
}

/** The name of the row with the path for the service, if that is not the client's. */
export const PATH_SENT = 'path sent';

/** Describes the path that is sent, if it is not the received one. */
function describeSentPath(route: ForwardRoute, path: string): ExplainedRow[] {
  const sent = servicePath(path, route);
  return applying([[PATH_SENT, sent === path ? null : sent]]);
}

export function describeAnswered(route: AnswerRoute, params: readonly string[]): ExplainedRow[] {
  return [
    ...describeParameters(route, params),
    ['answer', describeAnswer(route.answer)],
    ...describePolicies(route, 'paths', 'caller'),
    ...describePolicies(route, 'paths', 'request'),
  ];
}

export function describeCall(
  route: ForwardRoute,
  path: string,
  identity: IdentityModel | null,
): ExplainedRow[] {
  const forbidden = route.requirement === null ? '' : '403 as PERMISSION_DENIED, ';
  return [
    ...describeSentPath(route, path),
    ...describeCaller(route, 'calls', identity),
    ...describePolicies(route, 'calls', 'request'),
    ['deadline', "the call's own grpc-timeout; past it DEADLINE_EXCEEDED"],
    ['timeouts', `connect ${formatDuration(route.upstream.options.connectTimeoutMs)}`],
    ['caps', describePool(route.pool)],
    [
      'statuses',
      `401 goes out as UNAUTHENTICATED, ${forbidden}429 as RESOURCE_EXHAUSTED, 503 as UNAVAILABLE`,
    ],
  ];
}

const POOLS = {
  requests: 'requests in flight to the upstream',
  websockets: 'WebSockets open to the upstream',
  grpc_calls: 'gRPC calls in flight to the upstream',
} as const;

function describePool({ name, max, maxPerCaller }: PoolModel): string {
  return `${max} ${POOLS[name]}, ${maxPerCaller} per caller`;
}

/** Describes where the route leads, who may use it, and what identity the upstream sees. */
function describeCaller(
  route: ForwardRoute,
  serves: 'paths' | 'calls',
  identity: IdentityModel | null,
): ExplainedRow[] {
  const { upstream } = route;
  return [
    ['upstream', describeUpstream(upstream)],
    ...describePolicies(route, serves, 'caller'),
    ...(route.authentication === 'none' || identity === null ? [] : describeIdentity(identity, route)),
    ...describeUpstreamSettings(upstream),
  ];
}

function describeIdentity(
  { providers: all, apiKeys, certificateField: field, dpop }: IdentityModel,
  { requirement, acceptsTokens, acceptsApiKeys }: ForwardRoute,
): ExplainedRow[] {
  const providers = acceptsTokens ? all : [];
  const keys = acceptsApiKeys ? apiKeys : null;
  const { identityHeaders: headers = keys?.identityHeaders ?? [], roleClaims = [] } =
    providers[0]?.accessTokens ?? {};
  const ofRealm = requirement?.roles.some(({ client }) => client === null) === true;
  const removed = `removed${keys?.forward === true ? ' unless valid' : ''}`;
  return applying([
    ...(ofRealm ? roleClaims : []).map(
      (claim): ExplainedRow => ['roles', `those of the realm, and those in the claim ${claim}`],
    ),
    ['API keys', keys && `in ${keys.header}, of ${keys.lines.length} callers; ${removed}`],
    [
      'certificates',
      acceptsTokens && field !== null
        ? `of tokens that are bound to one: in ${field} of a trusted proxy`
        : null,
    ],
    ['proofs', acceptsTokens && dpop !== null ? describeProofs(dpop) : null],
    ...headers.map(
      ({ name, claim }): ExplainedRow => ['identity headers', `${name} from the claim ${claim}`],
    ),
    ...providers.flatMap(describeTokens),
  ]);
}

function describeProofs({ required, leewayMs, nonceMs }: ProofOptions): string {
  const whose = required ? 'every token needs one' : 'a token that is bound to a key needs one';
  const nonce =
    nonceMs === null ? '' : `, with a nonce of the gateway that is valid for ${formatDuration(nonceMs)}`;
  return `${whose} (DPoP), made at most ${formatDuration(leewayMs)} ago${nonce}`;
}

function describeTokens({
  label,
  opaqueTokens,
  accessTokens: { issuer, audience, tokenKind, principal, bots, classes },
}: ProviderModel): ExplainedRow[] {
  // With several providers, the issuer is part of a caller's identity.
  const all = (claims: readonly string[]) => [...(label === null ? [] : ['iss']), ...claims].join(' and ');
  const of = label === null ? '' : `${label}: `;
  const named = classes.map(({ name, marked, callers }): ExplainedRow => {
    const whose = [marked && `tokens with ${markOf(marked)}`, callers.size > 0 && `${callers.size} listed`];
    return ['callers', `${of}class ${name} (${whose.filter(Boolean).join(', ')})`];
  });
  return applying([
    ['tokens', `${of}issued by ${issuer} for ${audience?.join(' or ') ?? 'anyone'}`],
    ['tokens', tokenKind === 'access' ? null : `${of}${describeKind(tokenKind)}`],
    ['callers', `${of}users, identified by ${all(principal)}`],
    [
      'tokens',
      opaqueTokens &&
        `${of}opaque ones: the provider is asked, at most every ${formatDuration(opaqueTokens.cacheMs)}; 503 while it cannot answer`,
    ],
    ['callers', bots && `${of}bots (tokens with ${markOf(bots)}), identified by ${all(bots.principal)}`],
    ...named,
  ]);
}

function describeKind(kind: Exclude<ProviderModel['accessTokens']['tokenKind'], 'access'>): string {
  return kind === 'access_or_id'
    ? 'ID tokens as well, unless they say that they are such'
    : `with ${markOf(kind)} or the mark of a standard, since ID tokens have neither`;
}

function markOf({ claim, value }: { readonly claim: string; readonly value: string | null }): string {
  return value === null ? claim : `${claim} ${JSON.stringify(value)}`;
}

function describeUpstream({ name, protocol, base, options, endpoints, balance }: UpstreamModel): string {
  const scheme = options.tls === null ? 'http' : 'https';
  const addresses = endpoints.map(endpoint => {
    const weight = endpoint.weight === 1 ? '' : ` (weight ${endpoint.weight})`;
    const backup = endpoint.backup === true ? ' (backup)' : '';
    const url =
      endpoint.lookup === 'srv'
        ? `srv+${scheme}://${endpoint.host}`
        : urlOf(scheme, formatHostPort(endpoint));
    return `${url}${base}${weight}${backup}`;
  });
  const spread = endpoints.length === 1 ? [] : [describeBalance(balance)];
  return [name, ...addresses, ...spread, ...(protocol === 'http1' ? [] : [protocol])].join(', ');
}

function describeBalance(balance: UpstreamModel['balance']): string {
  return typeof balance === 'string' ? `balance ${balance}` : `balance by the cookie ${balance.cookie}`;
}

function urlOf(scheme: string, place: string): string {
  return place.startsWith('unix:') ? place : `${scheme}://${place}`;
}

/** Returns a route by its policies, with its most specific pattern for this host. */
export function entryOf(
  value: RouteModel | undefined,
  host: string,
  routes: readonly ListedRoute[],
): ListedRoute | undefined {
  const entries = routes.filter(route => route.value === value);
  return (
    entries.find(({ pattern }) => pattern.host === host) ??
    entries.find(({ pattern }) => pattern.host === wildcardOf(host)) ??
    entries[0]
  );
}

/**
 * Returns the other routes that match the path, and why they do not get the request. `winner` is `undefined` if no route does.
 */
export function rivalsOf(
  winner: ListedRoute | undefined,
  method: string,
  host: string,
  path: string,
  routes: readonly ListedRoute[],
): ExplainedRow[] {
  const others = routes.filter(
    route => route.value !== winner?.value && matchesPath(route, method, host, path),
  );
  return [...new Set(others.map(({ value }) => value))]
    .flatMap(value => entryOf(value, host, others) ?? [])
    .map(route => {
      const { methods } = route.pattern;
      const why =
        new RouteTable([route]).find(method, host, path) === null
          ? `only for ${methods?.join(', ')}`
          : whyItLost(route, winner);
      return ['also matches', `${nameOfRoute(route)}: ${why}`];
    });
}

function matchesPath({ pattern, value }: ListedRoute, method: string, host: string, path: string): boolean {
  const isOfCalls = pattern.methods?.includes(GRPC_METHOD) === true;
  if (isOfCalls !== (method === GRPC_METHOD)) return false;
  const entry = { pattern: isOfCalls ? pattern : { ...pattern, methods: null }, value };
  return new RouteTable([entry]).find(method, host, path) !== null;
}

function whyItLost({ pattern }: ListedRoute, winner: ListedRoute | undefined): string {
  if (winner === undefined) return 'only routes that name /v1/anonymous serve paths under it';
  const samePath = findConflicts([
    { ...pattern, methods: null },
    { ...winner.pattern, methods: null },
  ]);
  if (samePath.length > 0) return 'same path, but the route above names the method';
  // The gateway's own routes apply to every host, and precede all others.
  const isOfHost = winner.pattern.host !== EVERY_HOST && pattern.host !== winner.pattern.host;
  return isOfHost ? 'its host is less specific' : 'less specific';
}

/** A route with its pattern and where it is written. */
interface ListedRoute extends RouteEntry<RouteModel> {
  /** Where it is written; `null` for the gateway's own routes. */
  readonly place: FilePlace | null;
}

/** The routes in file order, then the gateway's own. */
export function routesOf({ outline: { routes, ownRoutes } }: Snapshot): readonly ListedRoute[] {
  return [...routes, ...ownRoutes.map(route => ({ ...route, place: null }))];
}

import type { ForwardRoute, RouteModel, Snapshot } from '../config/index.ts';
import { admits, isOfFile, refusesSemicolons, routeOfCaller, whyOddPathRefused } from '../config/index.ts';
import { GRPC_METHOD, isRoutable, servesMethod, whyNoMethod } from '../config/routing/index.ts';
import { METHODS } from '../core/index.ts';
import {
  type AddressKeying,
  addressKey,
  authorityOf,
  isLoose,
  type LooseTarget,
  parseLooseTarget,
  parseTarget,
  pathToFind,
  readHost,
  type Target,
} from '../wire/http/index.ts';
import * as describe from './describe-route.ts';
import { describeLimits, describeUnserved, whyBucketRefuses } from './explain-limits.ts';
import type { ActiveRestrictions } from './explain-restrictions.ts';
import { describeActive, describeCors, describeRestrictions, whyBlocked } from './explain-restrictions.ts';
import { describeMetadata, describeNotice, describeSignIn, whyOwnRefuses } from './explain-sign-in.ts';
import type { AskedCaller, AskedRequest, ExplainedRow, Explanation } from './explanation.ts';

export const EXPLAINED_METHODS: readonly string[] = [...METHODS, GRPC_METHOD];

/** Whether a word is a method that the gateway knows, or that a route may name. */
export function isExplained(method: string): boolean {
  return EXPLAINED_METHODS.includes(method) || whyNoMethod(method) === null;
}

/**
 * Returns what a gateway with this configuration would do with a request, and why. Sends nothing.
 *
 * @param active the restrictions of a running gateway; `null` if unknown
 */
export function explain(
  request: AskedRequest,
  snapshot: Snapshot,
  active: ActiveRestrictions | null = null,
): Explanation {
  const { caller } = request;
  const { rows, taken, route } =
    request.method === GRPC_METHOD ? explainCall(request, snapshot) : explainRequest(request, snapshot);
  const now = describeActive(caller, route ?? null, active, snapshot);
  const blocked = whyBlocked(route?.route ?? null, caller, snapshot);
  const first: ExplainedRow[] = blocked === null ? [] : [['blocked', blocked]];
  const { address } = caller;
  const last: ExplainedRow[] = address === null ? [] : [['address', describeAddress(address, snapshot)]];
  return {
    rows: [...first, ...now.rows, ...rows, ...last],
    taken: taken && blocked === null && !now.isRestricted,
  };
}

function describeAddress(address: string, snapshot: Snapshot): string {
  const key = addressKey(address, snapshot.limits.keying);
  const counts = key === address ? `${address} is counted separately` : `${address} counts as ${key}`;
  if (!snapshot.trustedProxies.has(address)) {
    return `${counts}; not a trusted proxy: its forwarding headers are ignored`;
  }
  return `${address} is a trusted proxy: the client's address is read from its X-Forwarded-For`;
}

/** Traces a request through the gates, in order. */
function explainRequest(request: AskedRequest, snapshot: Snapshot): Explanation {
  const { method, target: sent } = request;
  if (Buffer.byteLength(`${method} ${sent} HTTP/1.1`) > snapshot.caps.headBytes)
    return refused('431, the request line alone is longer than "head" of "caps"');
  const noHost = whyNoHost(sent);
  if (noHost !== null) return refused(noHost);
  const unserved = describeUnserved(snapshot, request.caller.as);
  if (!isRoutable(method) && !snapshot.namedMethods.has(method))
    return refused(`405, the gateway does not serve ${method}`, [], unserved);
  // Assumes that `Host` agrees with an absolute form.
  const strict = parseTarget(sent, authorityOf(sent) ?? '', method);
  const target =
    'rejected' in strict && snapshot.takesOddPaths
      ? parseLooseTarget(sent, authorityOf(sent) ?? '', method)
      : strict;
  if ('rejected' in target) return refused(`400, ${target.rejected}`);
  const host = hostOf(sent);
  const explained: Explanation =
    target.path === '*'
      ? { rows: describeServerWide(), taken: true }
      : explainRouted(request, host, target, snapshot);
  const isSentAsRouted = !explained.rows.some(([about]) => about === describe.PATH_SENT);
  const before = [...describeHost(sent, host, snapshot), ...describeTarget(sent, target, isSentAsRouted)];
  return { ...explained, rows: [...before, ...explained.rows] };
}

/** Traces a request from the route lookup on. */
function explainRouted(
  { method, caller }: AskedRequest,
  host: string,
  target: Target | LooseTarget,
  snapshot: Snapshot,
): Explanation {
  const path = pathToFind(target);
  const match = snapshot.routes.find(method, host, path);
  const routes = describe.routesOf(snapshot);
  const route = describe.entryOf(match?.value, host, routes);
  const found = route === undefined ? [] : [describe.routeRow(route)];
  if (!servesMethod(match?.value.methods ?? null, method))
    return refused(`405, no route for this path names ${method}`, found);
  if (target.semicolon && refusesSemicolons(match?.value ?? null))
    return refused(
      '400, the path contains a semicolon, which only a route with "semicolons: pass" accepts',
      found,
    );
  const odd = isLoose(target) ? target : { path, escapedSlash: false, emptySegment: false };
  const rules = match !== null && isOfFile(match.value) ? match.value : null;
  const why = whyOddPathRefused(rules, odd);
  if (why !== null) return refused(`400, ${why}`, found);
  const rivals = describe.rivalsOf(route, method, host, path, routes);
  if (match === null || route === undefined)
    return refused('404, no route matches', [], [...rivals, ...describeUnserved(snapshot, caller.as)]);
  const { value, params } = match;
  const matched = explainMatched(
    { method, caller, host, path, route: value, params, found, rivals },
    snapshot,
  );
  return { ...matched, route: { route: value, params } };
}

interface Matched extends Pick<AskedRequest, 'method' | 'caller'> {
  readonly host: string;
  readonly path: string;
  readonly route: RouteModel;
  readonly params: readonly string[];
  /** The rows about the route and about other routes that match. */
  readonly found: readonly ExplainedRow[];
  readonly rivals: readonly ExplainedRow[];
}

/** Traces a request from its route on. */
function explainMatched(matched: Matched, snapshot: Snapshot): Explanation {
  const { method, caller, host, path, route: value, found, rivals } = matched;
  const refusal = isOfFile(value) ? null : whyOwnRefuses(value, method, caller.as, snapshot.identity);
  const limited = { method, host, path, route: value, caller };
  const outside = whyOutside(value, caller, snapshot);
  if (outside !== null) return refused(outside, [...found, ...rivals]);
  if (refusal !== null) return refused(refusal, found, [...rivals, ...describeLimits(limited, snapshot)]);
  const unread = whyBucketRefuses(limited, snapshot);
  if (unread !== null) return refused(unread.why, [...found, ...unread.rows]);
  const policies = [...describePolicies(matched, snapshot), ...describeLimits(limited, snapshot)];
  const others = [
    ...describeRestrictions(value, caller, snapshot),
    ...describeCors(value, snapshot),
    ...describe.describeAnswering(snapshot),
    ...rivals,
  ];
  return { rows: [...found, ...policies, ...others], taken: true };
}

/** Why the address may not use the route; `null` if it may, or if the address is unknown. */
function whyOutside(route: RouteModel, { address }: AskedCaller, { limits }: Snapshot): string | null {
  if (address === null || !isOfFile(route) || route.networks === null) return null;
  const key = addressKey(address, limits.keying);
  return admits(route.networks, address, key) ? null : `403, ${address} may not use this route (networks)`;
}

function refused(
  why: string,
  before: readonly ExplainedRow[] = [],
  after: readonly ExplainedRow[] = [],
): Explanation {
  return { rows: [...before, ['refused', why], ...after], taken: false };
}

function describePolicies({ route, path, params, caller }: Matched, snapshot: Snapshot): ExplainedRow[] {
  const { identity, limits } = snapshot;
  if (route.kind === 'answer') return describe.describeAnswered(route, params);
  if (route.kind === 'forward') {
    const chosen = chooseFor(route, caller, limits.keying);
    return [
      ...chosen.rows,
      ...describe.describeForwarding(chosen.route, path, params, identity),
      ...describe.describeSentFields(snapshot),
    ];
  }
  if (identity === null) return [];
  switch (route.kind) {
    case 'sign-in':
      return describeSignIn(route, identity);
    case 'notice':
      return describeNotice(route, identity);
    case 'metadata':
      return describeMetadata(route);
  }
}

function explainCall({ target, caller }: AskedRequest, snapshot: Snapshot): Explanation {
  const noHost = whyNoHost(target);
  if (noHost !== null) return refused(noHost);
  const host = hostOf(target);
  const called = target.replace(/^https?:\/\/[^/]*\//i, '/');
  const path = called.startsWith('/') ? called : `/${called}`;
  const match = snapshot.routes.find(GRPC_METHOD, host, path);
  const routes = describe.routesOf(snapshot);
  const route = describe.entryOf(match?.value, host, routes);
  const before = describeHost(target, host, snapshot);
  if (match === null || match.value.kind !== 'forward' || route === undefined)
    return refused('UNIMPLEMENTED, no route takes it', before, describeUnserved(snapshot, caller.as));
  const { value } = match;
  const outside = whyOutside(value, caller, snapshot);
  if (outside !== null) return refused(outside, [...before, describe.routeRow(route)]);
  const chosen = chooseFor(value, caller, snapshot.limits.keying);
  return {
    rows: [
      ...before,
      describe.routeRow(route),
      ...chosen.rows,
      ...describe.describeCall(chosen.route, path, snapshot.identity),
      ...describe.describeSentFields(snapshot),
      ...describeLimits({ method: GRPC_METHOD, host, path, route: value, caller }, snapshot),
      ...describeRestrictions(value, caller, snapshot),
      ...(value.grpcWeb ? describeCors(value, snapshot) : []),
      ...describe.rivalsOf(route, GRPC_METHOD, host, path, routes),
    ],
    taken: true,
    route: { route: value, params: match.params },
  };
}

/** Returns why the host of a URL is refused; `null` if it is accepted, or if the URL has no host. */
function whyNoHost(sent: string): string | null {
  const authority = authorityOf(sent);
  const isPlain = authority === null || readHost(authority) !== null;
  return isPlain ? null : `400, "${authority}" is not a plain host`;
}

/** Returns the host of a URL, normalised for the route lookup; '' for a path only. */
function hostOf(sent: string): string {
  return readHost(authorityOf(sent) ?? '') ?? '';
}

/** Describes the host used to choose the route, and the effect if none is given. */
function describeHost(sent: string, host: string, { log }: Snapshot): ExplainedRow[] {
  const written = authorityOf(sent);
  if (written === null)
    return log.hosts === null
      ? []
      : [['host', 'not given: only routes and limits without a host count. Give a URL: https://HOST/PATH']];
  return [['host', written === host ? host : `${written}, which is routed as ${host}`]];
}

/** Describes how the target changes before it is routed. */
function describeTarget(sent: string, { path, query }: Target, isSentAsRouted: boolean): ExplainedRow[] {
  const from = authorityOf(sent) === null ? sent : sent.replace(/^[^/]*\/\/[^/?#]*/, '');
  if (from === path + query) return [];
  const use = isSentAsRouted ? 'used for routing and sent upstream' : 'used for routing';
  const form = path === '*' ? '*, the gateway itself' : `${path}, ${use}`;
  return [['canonical path', form]];
}

function describeServerWide(): ExplainedRow[] {
  return [
    ['served by', 'the gateway itself: 204 with the supported methods'],
    ['authentication', 'none: open to everyone'],
    ['limits', 'none: it uses no bucket'],
  ];
}

/**
 * Finds the route that applies to a caller if several upstreams split its callers, with a description. For an unknown caller, the
 * one with the largest share.
 */
function chooseFor(
  route: ForwardRoute,
  caller: AskedCaller,
  keying: AddressKeying,
): { readonly route: ForwardRoute; readonly rows: readonly ExplainedRow[] } {
  const { shares } = route;
  if (shares === null) return { route, rows: [] };
  const listed = shares.map(share => `${share.route.upstream.name} for ${share.percent}%`).join(', ');
  const key = keyOf(route, caller, keying);
  const chosen = key === null ? route : routeOfCaller(route, key);
  const which = mayHaveToken(route, caller) ? 'without a token this one' : 'this one';
  const where =
    key === null
      ? 'which one this caller uses is unknown: name the caller, or its address'
      : `${which} goes to ${chosen.upstream.name}`;
  return { route: chosen, rows: [['shares', `${listed} of callers; ${where}`]] };
}

/** The key that decides which upstream a caller goes to; `null` if unknown. */
function keyOf(route: ForwardRoute, caller: AskedCaller, keying: AddressKeying): string | null {
  const { as, address, principal } = caller;
  if (route.authentication !== 'none' && as !== 'address' && !mayHaveToken(route, caller)) return principal;
  return address === null ? null : addressKey(address, keying);
}

/** Whether the route accepts callers with and without a token, and the question leaves open which kind it is about. */
function mayHaveToken({ authentication }: ForwardRoute, { as, principal }: AskedCaller): boolean {
  return authentication === 'optional' && as === null && principal === null;
}

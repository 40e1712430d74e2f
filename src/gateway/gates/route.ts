import type { ForwardRoute, RouteModel, RouteOfFile, Snapshot } from '../../config/index.ts';
import { admits, isOfFile, refusesSemicolons, whyOddPathRefused } from '../../config/index.ts';
import { GRPC_METHOD, isRoutable, type RouteMatch, servesMethod } from '../../config/routing/index.ts';
import { firstValue, type GatewayError, type PoolModel } from '../../core/index.ts';
import { isGrpcWeb } from '../../wire/grpc-web/index.ts';
import type { CorsRules, LooseTarget, Target } from '../../wire/http/index.ts';
import {
  askedMethod,
  isLoose,
  mayOpenWebSocket,
  parseLooseTarget,
  parseTarget,
  pathToFind,
} from '../../wire/http/index.ts';
import { judgeHandshake } from '../../wire/websocket/index.ts';
import type { Destination, DestinationOf, DestinationTarget, Exchange } from '../exchange/index.ts';
import { isGrpc, NOWHERE } from '../exchange/index.ts';
import type { GatewayState } from '../gateway-state.ts';
import { errors, USUAL_METHODS } from '../responses/index.ts';
import type { GateResult } from './gate.ts';
import { takeToken } from './token-places.ts';

/** Step 5: determines where the request goes. Only this and `chooseUpstream` set the destination of an exchange. */
export function findRoute(exchange: Exchange): GateResult {
  exchange.destination = takeToken(exchange, findDestination(exchange));
  return exchange.destination.refusal;
}

/**
 * Refuses TRACE, which would reveal what the gateway adds; CONNECT, which would turn it into a tunnel; and methods that few
 * know, unless the route names them.
 */
export function refuseMethod(exchange: Exchange): GateResult {
  const { method } = exchange.downstream;
  if (isRoutable(method)) return null;
  const { route } = findDestination(exchange);
  if (isOfFile(route) && servesMethod(route.methods, method)) return null;
  // The gateway's own endpoints have other methods.
  return errors.methodNotSupported(route === null || isOfFile(route) ? USUAL_METHODS : route.methods);
}

/** Accepts only upgrades that the route serves. */
export function judgeUpgrade(exchange: Exchange): GateResult {
  const { downstream } = exchange;
  if (downstream.framing.upgrade === 'none') return null;
  exchange.protocol = downstream.framing.upgrade;
  const { route } = exchange.destination;
  if (route?.kind !== 'forward' || route.websocket === null) return errors.upgradeNotServed();
  const fault = judgeHandshake(downstream.method, exchange.bodyLength, exchange.head.kept);
  if (fault === 'version') return errors.otherVersion();
  if (fault !== null) return errors.badRequest(fault.refused);
  if (!mayUpgrade(exchange, route)) return errors.foreignOrigin();
  return null;
}

/**
 * Browsers open WebSockets without a preflight and send cookies with them. Only this check keeps other sites' pages out
 * (RFC 6455, 10.2).
 */
function mayUpgrade({ snapshot, head, downstream }: Exchange, route: ForwardRoute): boolean {
  if (snapshot.cors === null || !route.cors) return true;
  // Reads all fields, not only those that remain: `Connection` must not hide `Origin` (RFC 9110, 7.6.1).
  return mayOpenWebSocket(snapshot.cors, downstream.fields, head.forwardedHost ?? head.host ?? '');
}

/**
 * Finds the route of a request that is refused before `findRoute`. It decides the form of the refusal: an anonymous endpoint has
 * an error object and its own `cors`.
 */
export function refusingByRoute(gate: (exchange: Exchange, state: GatewayState) => GateResult) {
  return (exchange: Exchange, state: GatewayState): GateResult => {
    const refusal = gate(exchange, state);
    if (refusal !== null) findRoute(exchange);
    return refusal;
  };
}

/** Adds the fields configured on the route to a refusal by a gate before `findRoute`. */
export function withFieldsOfRoute(gate: (exchange: Exchange) => GateResult) {
  return (exchange: Exchange): GateResult => {
    const refusal = gate(exchange);
    if (refusal !== null) exchange.refusedOn = findDestination(exchange).route ?? routeOfCalls(exchange);
    return refusal;
  };
}

/** The route that gRPC calls to this path match, on a listener for gRPC only. */
function routeOfCalls({ downstream, head, host, snapshot }: Exchange): RouteModel | null {
  const target = downstream.onlyCalls ? parseTarget(downstream.target, head.host ?? '') : null;
  return target === null || 'rejected' in target
    ? null
    : (snapshot.routes.find(GRPC_METHOD, host, target.path)?.value ?? null);
}

/** Canonicalises the target and looks up its route. Changes nothing. */
function findDestination(exchange: Exchange): Destination {
  const { downstream, dialect, head, host, snapshot } = exchange;
  const strict = parseTarget(downstream.target, head.host ?? '', downstream.method);
  const target =
    'rejected' in strict && !downstream.redirects && snapshot.takesOddPaths
      ? parseLooseTarget(downstream.target, head.host ?? '', downstream.method)
      : strict;
  if ('rejected' in target) return { ...NOWHERE, refusal: errors.badRequest(target.rejected) };
  if (downstream.redirects && !isExcepted(snapshot, downstream.method, host, target.path)) {
    const { path, query } = target;
    return { ...NOWHERE, kind: 'redirect', path, query };
  }
  if (target.path === '*') return GATEWAY_ITSELF;
  const cors = downstream.method === 'OPTIONS' ? snapshot.cors : null;
  const asked = cors === null ? null : askedMethod(head.kept);
  const match =
    asked === null
      ? snapshot.routes.find(dialect.routedMethod(downstream), host, pathToFind(target))
      : routeOfPreflight(snapshot, host, pathToFind(target), asked);
  if (match !== null) return destinationOf(exchange, target, match, asked === null ? null : cors);
  const odd = isLoose(target) ? whyOddPathRefused(null, target) : null;
  const why = odd ?? (target.semicolon && refusesSemicolons(null) ? SEMICOLON : null);
  const refusal = why === null ? noRouteFor(exchange, target) : errors.badRequest(why);
  return { ...NOWHERE, isPreflight: asked !== null, refusal };
}

/** Whether the listener that redirects to https serves this path itself, by its route. */
function isExcepted({ listen: { redirect } }: Snapshot, method: string, host: string, path: string): boolean {
  return redirect !== null && redirect.except.find(method, host, path) !== null;
}

/** The refusal of a request that no route matches: a call may have met a route for calls of gRPC over HTTP/2 alone. */
function noRouteFor({ downstream, host, snapshot }: Exchange, { path }: Target): GatewayError {
  const type = downstream.method === 'POST' ? (firstValue(downstream.fields, 'content-type') ?? '') : '';
  const refusal = isGrpcWeb(type) ? errors.notGrpcWeb() : isGrpc(type) ? errors.grpcNeedsHttp2() : null;
  return refusal !== null && snapshot.routes.find(GRPC_METHOD, host, path) !== null
    ? refusal
    : errors.noRoute();
}

const SEMICOLON = 'the path contains a semicolon';

/** The destination of an `OPTIONS *`, which asks about the gateway itself (RFC 9110, 9.3.7). */
const GATEWAY_ITSELF: Destination = { ...NOWHERE, kind: 'options', path: '*' };

/** @param cors the rules if this is a preflight, else null */
function destinationOf(
  exchange: Exchange,
  target: Target | LooseTarget,
  { value: route, params }: RouteMatch<RouteModel>,
  cors: CorsRules | null,
): Destination {
  const { maxForwards, downstream } = exchange;
  const isPreflight = cors !== null;
  const authentication = isPreflight ? 'none' : route.authentication;
  const { query } = target;
  const path = pathToFind(target);
  const why = whyPathRefused(target, route);
  const refusal = why === null ? refusalOf(route, exchange) : errors.badRequest(why);
  const sent = isOfFile(route) && route.emptySegments === 'pass' ? target.path : path;
  const place = { params, path, sent, query, authentication, isPreflight, refusal };
  if (cors !== null && answersPreflights(route))
    return makeDestination('preflight', place, route, cors, null);
  if (route.kind === 'sign-in') return makeDestination('sign-in', place, route, null, null);
  if (route.kind === 'notice') return makeDestination('notice', place, route, null, null);
  if (route.kind === 'metadata') return makeDestination('metadata', place, route, null, null);
  if (maxForwards === 0) return makeDestination('options', place, route, null, null);
  if (needsOtherSlash(route, downstream.method, path))
    return makeDestination('slash', { ...place, authentication: 'none' }, route, null, null);
  if (route.kind === 'answer') return makeDestination('answer', place, route, null, null);
  return makeDestination('forward', place, route, null, poolOf(route, downstream.framing.upgrade));
}

/** Why the route refuses a path that could be read in more than one way; `null` if it accepts it. */
function whyPathRefused(target: Target | LooseTarget, route: RouteModel): string | null {
  if (target.semicolon && refusesSemicolons(route)) return SEMICOLON;
  const rules = isOfFile(route) ? route : null;
  if (isLoose(target)) return whyOddPathRefused(rules, target);
  if (rules === null || rules.encodedSlashes === 'refuse') return null;
  return whyOddPathRefused(rules, { path: target.path, escapedSlash: false, emptySegment: false });
}

/** Why the client may not use the route, wherever it is; `null` if it may. */
function refusalOf(route: RouteModel, { arrival }: Exchange): GatewayError | null {
  if (!isOfFile(route) || route.networks === null) return null;
  const { address, key } = arrival.client;
  return admits(route.networks, address, key) ? null : errors.foreignNetwork();
}

/** Whether a request is redirected to its path with a slash at the end, or without one. */
function needsOtherSlash({ endsWithSlash }: RouteOfFile, method: string, path: string): boolean {
  if (endsWithSlash === null || (method !== 'GET' && method !== 'HEAD')) return false;
  // `/a/;x` has its slash where some services look for it.
  if (/\/(?:;|%3B)[^/]*$/.test(path)) return false;
  return path.endsWith('/') !== endsWithSlash;
}

/** WebSockets have their own pool because they last long. */
export function poolOf(
  { websocket, pool }: ForwardRoute,
  upgrade: Exchange['downstream']['framing']['upgrade'],
): PoolModel {
  return upgrade === 'none' || websocket === null ? pool : websocket.pool;
}

/** Makes a destination. All kinds have the same members in the same order, which keeps property access fast. */
export function makeDestination<
  Kind extends string,
  Route extends RouteModel,
  Cors extends CorsRules | null,
  Pool extends PoolModel | null,
>(
  kind: Kind,
  { params, path, sent, query, authentication, isPreflight, refusal }: DestinationTarget,
  route: Route,
  cors: Cors,
  pool: Pool,
): DestinationOf<Kind, Route, Cors, Pool> {
  return { kind, route, params, path, sent, query, authentication, isPreflight, refusal, cors, pool };
}

/**
 * The route of a preflight: for a PUT, the browser asks about the PUT's route. Either the gateway answers, or the preflight goes
 * upstream by a route whose service answers preflights for all methods. Otherwise it is routed as OPTIONS, so that no other
 * request goes upstream under another method's route.
 */
function routeOfPreflight(
  { routes, preflightRoutes }: Snapshot,
  host: string,
  path: string,
  asked: string,
): RouteMatch<RouteModel> | null {
  // On the path of a gRPC call, web pages send only gRPC-Web.
  const call = asked === 'POST' ? routes.find(GRPC_METHOD, host, path) : null;
  if (call !== null && answersPreflights(call.value)) return call;
  const match = routes.find(asked, host, path);
  if (match !== null && answersPreflights(match.value)) return match;
  return preflightRoutes.find(asked, host, path) ?? routes.find('OPTIONS', host, path);
}

/** Whether the gateway itself answers preflights for this route. */
function answersPreflights(route: RouteModel): boolean {
  return !isOfFile(route) || route.cors;
}

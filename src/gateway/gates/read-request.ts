import type { ForwardRoute, RouteModel, Snapshot } from '../../config/index.ts';
import { globalLimitRequest, isOfFile, refusesSemicolons, routeOfCaller } from '../../config/index.ts';
import { firstValue, type GatewayError, type PoolModel } from '../../core/index.ts';
import { isGrpcWeb } from '../../wire/grpc-web/index.ts';
import type { CorsRules, Target } from '../../wire/http/index.ts';
import { askedMethod, mayOpenWebSocket, parseTarget, readMaxForwards } from '../../wire/http/index.ts';
import { judgeHandshake } from '../../wire/websocket/index.ts';
import type { Destination, DestinationOf, DestinationTarget, Exchange } from '../exchange/index.ts';
import { NOWHERE } from '../exchange/index.ts';
import type { GatewayState } from '../gateway-state.ts';
import { badCall, errors, notGrpc, notGrpcWeb, USUAL_METHODS } from '../responses/index.ts';
import { GRPC_METHOD, isRoutable, type RouteMatch } from '../routing/index.ts';
import type { Gate, GateResult } from './gate.ts';
import { recallToken, restrictCaller } from './identify.ts';
import { consume } from './limit.ts';

/** Step 2: rejects a head that is too large, not meant for this gateway, or ambiguous. */
export function readHead(exchange: Exchange): GateResult {
  const { fields, framing, memory } = exchange.downstream;
  if (fields.length > exchange.snapshot.caps.fields * 2) return errors.headTooLarge();
  if (typeof framing.bodyLength === 'object') return errors.badRequest(framing.bodyLength.rejected);
  if (memory.arrival === exchange.arrival) return null;
  const result = judgeFields(exchange);
  if (result === null) memory.arrival = exchange.arrival;
  return result;
}

function judgeFields({ head, arrival }: Exchange): GateResult {
  if (head.doubled !== null) return errors.badRequest(`the header field "${head.doubled}" came twice`);
  if (arrival.host !== null) return null;
  return errors.badRequest('the Host header is missing or not a plain host');
}

/** Reads how far an OPTIONS may be forwarded (RFC 9110, 7.6.2). With other methods the field is passed on unchanged. */
export function readOptions(exchange: Exchange): GateResult {
  if (exchange.downstream.method !== 'OPTIONS') return null;
  // Reads all fields, not only those that remain: `Connection` must not hide `Max-Forwards` (RFC 9110, 7.6.1).
  const maxForwards = readMaxForwards(exchange.downstream.fields);
  if (typeof maxForwards === 'object' && maxForwards !== null) return errors.badRequest(maxForwards.rejected);
  exchange.maxForwards = maxForwards;
  return null;
}

/**
 * Refuses TRACE, which would reveal what the gateway adds; CONNECT, which would turn it into a tunnel; and methods unknown to
 * Node.
 */
export function refuseMethod(exchange: Exchange): GateResult {
  if (isRoutable(exchange.downstream.method)) return null;
  // Used only to list the methods, since the gateway's own endpoints have others. No route serves the request.
  const { route } = findDestination(exchange);
  return errors.methodNotSupported(route === null || isOfFile(route) ? USUAL_METHODS : route.methods);
}

/** Starts the client's deadline for the exchange, if its protocol has one. */
export function startDeadline(exchange: Exchange): GateResult {
  const timeoutMs = exchange.dialect.timeoutMs(exchange.head.kept);
  if (timeoutMs === null) return null;
  if (typeof timeoutMs === 'object') return badCall(timeoutMs.rejected);
  exchange.deadline = exchange.clock.after(timeoutMs, () => exchange.expire());
  return null;
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
  if (!mayUse(exchange, route)) return errors.foreignOrigin();
  return null;
}

/**
 * Browsers open WebSockets without a preflight and send cookies with them. Only this check keeps other sites' pages out
 * (RFC 6455, 10.2).
 */
function mayUse({ snapshot, head, downstream }: Exchange, route: ForwardRoute): boolean {
  if (snapshot.cors === null || !route.cors) return true;
  // Reads all fields, not only those that remain: `Connection` must not hide `Origin` (RFC 9110, 7.6.1).
  return mayOpenWebSocket(snapshot.cors, downstream.fields, head.forwardedHost ?? head.host ?? '');
}

/** The status for requests that are ambiguous, so nothing is counted for them. */
const BAD_REQUEST = 400;

/**
 * Makes a request refused before the limits consume a unit of its sender's global limit: scans for paths and methods count like
 * other requests, and get 429 beyond the limit.
 */
export function consumeIfRefused(gate: (exchange: Exchange, state: GatewayState) => GateResult): Gate {
  return (exchange, state) => {
    const refusal = gate(exchange, state);
    return refusal === null || refusal.status === BAD_REQUEST
      ? refusal
      : refuseAndConsume(refusal, exchange, state);
  };
}

/** Verifies no token: the sender is the caller if its token is remembered, else the address. */
function refuseAndConsume(
  refusal: GatewayError,
  exchange: Exchange,
  state: GatewayState,
): GateResult | Promise<GateResult> {
  if (!exchange.destination.isPreflight) recallToken(exchange);
  const restricted = restrictCaller(exchange, state);
  if (restricted !== null) return restricted;
  const limitRequest = globalLimitRequest(exchange.snapshot.limits, exchange.callerClass, exchange.callerKey);
  const limited = consume(exchange, limitRequest, state);
  return limited instanceof Promise ? limited.then(awaited => awaited ?? refusal) : (limited ?? refusal);
}

/** Refuses an expectation other than `100-continue` (RFC 9110, 10.1.1). */
export function refuseExpectation({ downstream }: Exchange): GateResult {
  return downstream.framing.expectation === 'unknown' ? errors.expectationNotMet() : null;
}

/** Refuses everything but gRPC calls on a listener that serves nothing else. */
export function refuseForeign({ downstream, protocol }: Exchange): GateResult {
  return downstream.onlyCalls && protocol !== 'grpc' ? notGrpc() : null;
}

/** Step 5: determines where the request goes. Only this and `chooseUpstream` set the destination of an exchange. */
export function findRoute(exchange: Exchange): GateResult {
  exchange.destination = findDestination(exchange);
  return exchange.destination.refusal;
}

/** Step 7: chooses among upstreams that split the callers of a route. The same caller gets the same upstream on every gateway. */
export function chooseUpstream(exchange: Exchange): GateResult {
  const { destination, downstream } = exchange;
  if (destination.kind !== 'forward' || destination.route.shares === null) return null;
  const route = routeOfCaller(destination.route, exchange.callerKey);
  const pool = poolOf(route, downstream.framing.upgrade);
  exchange.destination = makeDestination('forward', destination, route, null, pool);
  return null;
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
  const target = parseTarget(downstream.target, head.host ?? '', downstream.method);
  if ('rejected' in target) return { ...NOWHERE, refusal: errors.badRequest(target.rejected) };
  if (downstream.redirects) {
    const { path, query } = target;
    return { ...NOWHERE, kind: 'redirect', path, query };
  }
  if (target.path === '*') return GATEWAY_ITSELF;
  const cors = downstream.method === 'OPTIONS' ? snapshot.cors : null;
  const asked = cors === null ? null : askedMethod(head.kept);
  const match =
    asked === null
      ? snapshot.routes.find(dialect.routedMethod(downstream), host, target.path)
      : routeOfPreflight(snapshot, host, target.path, asked);
  if (match !== null) return destinationOf(exchange, target, match, asked === null ? null : cors);
  const refusal =
    target.semicolon && refusesSemicolons(null) ? errors.badRequest(SEMICOLON) : noRouteFor(exchange, target);
  return { ...NOWHERE, isPreflight: asked !== null, refusal };
}

/** The refusal of a request that no route matches: a gRPC-Web call may have met a route for plain gRPC only. */
function noRouteFor({ downstream, host, snapshot }: Exchange, { path }: Target): GatewayError {
  const isWebCall =
    downstream.method === 'POST' && isGrpcWeb(firstValue(downstream.fields, 'content-type') ?? '');
  return isWebCall && snapshot.routes.find(GRPC_METHOD, host, path) !== null
    ? notGrpcWeb()
    : errors.noRoute();
}

const SEMICOLON = 'the path contains a semicolon';

/** The destination of an `OPTIONS *`, which asks about the gateway itself (RFC 9110, 9.3.7). */
const GATEWAY_ITSELF: Destination = { ...NOWHERE, kind: 'options', path: '*' };

/** @param cors the rules if this is a preflight, else null */
function destinationOf(
  { maxForwards, downstream }: Exchange,
  { path, query, semicolon }: Target,
  { value: route, params }: RouteMatch<RouteModel>,
  cors: CorsRules | null,
): Destination {
  const isPreflight = cors !== null;
  const authentication = isPreflight ? 'none' : route.authentication;
  const refusal = semicolon && refusesSemicolons(route) ? errors.badRequest(SEMICOLON) : null;
  const place = { params, path, query, authentication, isPreflight, refusal };
  if (cors !== null && answersPreflights(route))
    return makeDestination('preflight', place, route, cors, null);
  if (route.kind === 'sign-in') return makeDestination('sign-in', place, route, null, null);
  if (route.kind === 'notice') return makeDestination('notice', place, route, null, null);
  if (route.kind === 'metadata') return makeDestination('metadata', place, route, null, null);
  if (maxForwards === 0) return makeDestination('options', place, route, null, null);
  if (route.kind === 'answer') return makeDestination('answer', place, route, null, null);
  return makeDestination('forward', place, route, null, poolOf(route, downstream.framing.upgrade));
}

/** WebSockets have their own pool because they last long. */
function poolOf(
  { websocket, pool }: ForwardRoute,
  upgrade: Exchange['downstream']['framing']['upgrade'],
): PoolModel {
  return upgrade === 'none' || websocket === null ? pool : websocket.pool;
}

/** Makes a destination. All kinds have the same members in the same order, which keeps property access fast. */
function makeDestination<
  Kind extends string,
  Route extends RouteModel,
  Cors extends CorsRules | null,
  Pool extends PoolModel | null,
>(
  kind: Kind,
  { params, path, query, authentication, isPreflight, refusal }: DestinationTarget,
  route: Route,
  cors: Cors,
  pool: Pool,
): DestinationOf<Kind, Route, Cors, Pool> {
  return { kind, route, params, path, query, authentication, isPreflight, refusal, cors, pool };
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

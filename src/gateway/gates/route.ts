import type { ForwardRoute, RouteModel, Snapshot } from '../../config/index.ts';
import { isOfFile, refusesSemicolons } from '../../config/index.ts';
import { firstValue, type GatewayError, type PoolModel } from '../../core/index.ts';
import { isGrpcWeb } from '../../wire/grpc-web/index.ts';
import type { CorsRules, Target } from '../../wire/http/index.ts';
import { askedMethod, parseTarget } from '../../wire/http/index.ts';
import type { Destination, DestinationOf, DestinationTarget, Exchange } from '../exchange/index.ts';
import { NOWHERE } from '../exchange/index.ts';
import type { GatewayState } from '../gateway-state.ts';
import { errors, notGrpcWeb } from '../responses/index.ts';
import { GRPC_METHOD, type RouteMatch } from '../routing/index.ts';
import type { GateResult } from './gate.ts';
import { takeToken } from './token-places.ts';

/** Step 5: determines where the request goes. Only this and `chooseUpstream` set the destination of an exchange. */
export function findRoute(exchange: Exchange): GateResult {
  exchange.destination = takeToken(exchange, findDestination(exchange));
  return exchange.destination.refusal;
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
export function findDestination(exchange: Exchange): Destination {
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

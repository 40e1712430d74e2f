import {
  type ForwardRoute,
  type PoolModel,
  type RouteModel,
  refusesSemicolons,
  type Snapshot,
} from '../../config/index.ts';
import { askedMethod, type CorsRules, parseTarget, type Target } from '../../http/index.ts';
import type { RouteMatch } from '../../routing/index.ts';
import { type At, type Destination, type Exchange, NOWHERE, type Place } from '../exchange/index.ts';
import type { GatewayState } from '../gateway-state.ts';
import { badRequest, noRoute } from '../responses/index.ts';
import type { GateResult } from './gate.ts';

/** Step 5: finds out where the request leads. The only place that sets the destination of an exchange. */
export function findRoute(exchange: Exchange): GateResult {
  exchange.destination = whereTo(exchange);
  return exchange.destination.refusal;
}

/**
 * Finds the route for the refusals of a gate before `findRoute`: it decides their form, since an anonymous endpoint has an error
 * object and its own `cors`.
 */
export function refusingByRoute(gate: (exchange: Exchange, state: GatewayState) => GateResult) {
  return (exchange: Exchange, state: GatewayState): GateResult => {
    const refusal = gate(exchange, state);
    if (refusal !== null) findRoute(exchange);
    return refusal;
  };
}

/** Brings the target into canonical form and looks up its route. Changes nothing. */
export function whereTo(exchange: Exchange): Destination {
  const { downstream, dialect, head, snapshot } = exchange;
  const target = parseTarget(downstream.target, head.host ?? '', downstream.method);
  if ('rejected' in target) return { ...NOWHERE, refusal: badRequest(target.rejected) };
  if (downstream.redirects) {
    const { path, query } = target;
    return { ...NOWHERE, kind: 'redirect', path, query };
  }
  if (target.path === '*') return THE_GATEWAY;
  const cors = downstream.method === 'OPTIONS' ? snapshot.cors : null;
  const asked = cors === null ? null : askedMethod(head.kept);
  const match =
    asked === null
      ? snapshot.routes.find(dialect.routedMethod(downstream), target.path)
      : routeOfPreflight(snapshot, target.path, asked);
  if (match !== null) return destinationOf(exchange, target, match, asked === null ? null : cors);
  const refusal = target.semicolon && refusesSemicolons(null) ? badRequest(SEMICOLON) : noRoute();
  return { ...NOWHERE, isPreflight: asked !== null, refusal };
}

const SEMICOLON = 'the path holds a semicolon';

/** The destination of an `OPTIONS *`, which asks about the gateway itself (RFC 9110, 9.3.7). */
const THE_GATEWAY: Destination = { ...NOWHERE, kind: 'options', path: '*' };

/** @param cors the rules for preflights if this is one, else null */
function destinationOf(
  { maxForwards, downstream }: Exchange,
  { path, query, semicolon }: Target,
  { value: route, params }: RouteMatch<RouteModel>,
  cors: CorsRules | null,
): Destination {
  const isPreflight = cors !== null;
  const authentication = isPreflight ? 'none' : route.authentication;
  const refusal = semicolon && refusesSemicolons(route) ? badRequest(SEMICOLON) : null;
  const place = { params, path, query, authentication, isPreflight, refusal };
  if (cors !== null && answersPreflights(route))
    return makeDestination('preflight', place, route, cors, null);
  if (route.kind === 'sign-in') return makeDestination('sign-in', place, route, null, null);
  if (route.kind === 'notice') return makeDestination('notice', place, route, null, null);
  if (maxForwards === 0) return makeDestination('options', place, route, null, null);
  return makeDestination('forward', place, route, null, poolOf(route, downstream.framing.upgrade));
}

/** WebSockets have a pool of their own because they last long. */
function poolOf(
  { websocket, pool }: ForwardRoute,
  upgrade: Exchange['downstream']['framing']['upgrade'],
): PoolModel {
  return upgrade === 'none' || websocket === null ? pool : websocket.pool;
}

/** Makes a destination. All kinds have the same members in the same order, which keeps access to them fast. */
function makeDestination<
  Kind extends string,
  Route extends RouteModel,
  Cors extends CorsRules | null,
  Pool extends PoolModel | null,
>(
  kind: Kind,
  { params, path, query, authentication, isPreflight, refusal }: Place,
  route: Route,
  cors: Cors,
  pool: Pool,
): At<Kind, Route, Cors, Pool> {
  return { kind, route, params, path, query, authentication, isPreflight, refusal, cors, pool };
}

/**
 * The route of a preflight: a browser that wants to send a PUT asks about the PUT's route. Either the gateway answers it, or it
 * goes upstream by a route whose service answers preflights for all methods. Otherwise it is routed as OPTIONS, so that no other
 * request goes upstream under another method's route.
 */
function routeOfPreflight(
  { routes, preflightRoutes }: Snapshot,
  path: string,
  asked: string,
): RouteMatch<RouteModel> | null {
  const match = routes.find(asked, path);
  if (match !== null && answersPreflights(match.value)) return match;
  return preflightRoutes.find(asked, path) ?? routes.find('OPTIONS', path);
}

/** Whether the gateway answers preflights for this route by itself. */
function answersPreflights(route: RouteModel): boolean {
  return route.kind !== 'forward' || route.cors;
}

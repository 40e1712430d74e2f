import { type RouteModel, refusesSemicolons, type Snapshot } from '../../config/index.ts';
import { askedMethod, type CorsRules, parseTarget, type Target } from '../../http/index.ts';
import type { RouteMatch } from '../../routing/index.ts';
import { type Destination, type Exchange, makeDestination, NOWHERE } from '../exchange/index.ts';
import { badRequest, noRoute } from '../responses/index.ts';
import type { GateResult } from './gate.ts';

/** Brings the target into canonical form and finds its destination. */
export function findRoute(exchange: Exchange): GateResult {
  const { downstream, dialect, head, snapshot } = exchange;
  const target = parseTarget(downstream.target, head.host ?? '', downstream.method);
  if ('rejected' in target) return badRequest(target.rejected);
  if (downstream.redirects) {
    const { path, query } = target;
    exchange.destination = { ...NOWHERE, kind: 'redirect', path, query };
    return null;
  }
  if (target.path === '*') {
    exchange.destination = THE_GATEWAY;
    return null;
  }
  const cors = downstream.method === 'OPTIONS' ? snapshot.cors : null;
  const asked = cors === null ? null : askedMethod(head.kept);
  const match =
    asked === null
      ? snapshot.routes.find(dialect.routedMethod(downstream), target.path)
      : routeOfPreflight(snapshot, target.path, asked);
  if (match === null && asked !== null) exchange.destination = { ...NOWHERE, isPreflight: true };
  if (match !== null)
    exchange.destination = destinationOf(exchange, target, match, asked === null ? null : cors);
  if (target.semicolon && refusesSemicolons(match === null ? null : match.value))
    return badRequest('the path holds a semicolon');
  return match === null ? noRoute() : null;
}

/** The destination of an OPTIONS about the gateway itself (RFC 9110, 9.3.7). */
const THE_GATEWAY: Destination = { ...NOWHERE, kind: 'options', path: '*' };

/** @param cors the rules for preflights if this is one, else null */
function destinationOf(
  { maxForwards }: Exchange,
  { path, query }: Target,
  { value: route, params }: RouteMatch<RouteModel>,
  cors: CorsRules | null,
): Destination {
  const isPreflight = cors !== null;
  const authentication = isPreflight ? 'none' : route.authentication;
  const place = { params, path, query, authentication, isPreflight };
  if (cors !== null && answersPreflights(route))
    return makeDestination('preflight', place, route, cors, null);
  if (route.kind === 'sign-in') return makeDestination('sign-in', place, route, null, null);
  if (route.kind === 'notice') return makeDestination('notice', place, route, null, null);
  if (maxForwards === 0) return makeDestination('options', place, route, null, null);
  return makeDestination('forward', place, route, null, route.pool);
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

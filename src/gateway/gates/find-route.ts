import type { RouteModel } from '../../config/index.ts';
import { parseTarget } from '../../http/index.ts';
import type { RouteMatch } from '../../routing/index.ts';
import { badRequest, noRoute } from '../answers/index.ts';
import type { Exchange } from '../exchange.ts';
import type { GateResult } from './gate.ts';
import { methodAskedFor, routeOfPreflight } from './preflight.ts';

/** Brings the target into its one form and finds the route by it. */
export function findRoute(exchange: Exchange): GateResult {
  const { downstream, head } = exchange;
  const target = parseTarget(downstream.target, head?.host ?? '', downstream.method);
  if ('refused' in target) return badRequest(target.refused);
  if (target.path === '*') {
    exchange.isServerWide = true;
    return null;
  }
  exchange.path = target.path;
  exchange.query = target.query;
  const match = routeOf(exchange);
  if (match !== null) {
    exchange.route = match.value;
    exchange.params = match.params;
  }
  if (target.semicolon && match?.value.semicolons !== 'pass') return badRequest('the path holds a semicolon');
  return match === null ? noRoute() : null;
}

function routeOf(exchange: Exchange): RouteMatch<RouteModel> | null {
  const { downstream, snapshot, path } = exchange;
  const asked = methodAskedFor(exchange);
  exchange.isPreflight = asked !== null;
  return asked === null ? snapshot.routes.find(downstream.method, path) : routeOfPreflight(exchange, asked);
}

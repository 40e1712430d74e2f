import { firstValue } from '../core/index.ts';
import { parseTarget } from '../http/index.ts';
import type { Exchange } from './exchange.ts';
import type { Verdict } from './gate.ts';
import { badRequest, noRoute } from './problems.ts';

/** Brings the target into its one form and finds the route by it. */
export function findRoute(exchange: Exchange): Verdict {
  const { downstream, snapshot, head } = exchange;
  const target = parseTarget(downstream.target, head?.host ?? '');
  if ('refused' in target) return badRequest(target.refused);
  exchange.path = target.path;
  exchange.query = target.query;
  const match = snapshot.routes.find(routedMethod(exchange), target.path);
  if (match !== null) {
    exchange.route = match.value;
    exchange.params = match.params;
  }
  if (target.semicolon && match?.value.semicolons !== 'pass') return badRequest('the path holds a semicolon');
  return match === null ? noRoute() : null;
}

/** A browser that asks whether it may send a PUT asks about the route of the PUT. */
function routedMethod({ downstream, snapshot, head }: Exchange): string {
  if (downstream.method !== 'OPTIONS' || snapshot.cors === null || head === null) return downstream.method;
  return firstValue(head.kept, 'access-control-request-method') ?? downstream.method;
}

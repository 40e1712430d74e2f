import type { RouteModel } from '../../config/index.ts';
import { askedMethod, preflightFields } from '../../http/index.ts';
import { isRoutable, type RouteMatch } from '../../routing/index.ts';
import type { Exchange } from '../exchange.ts';

/**
 * The method that a browser asks for, where the exchange is a preflight; null: it is none, or no rules are set for them. A
 * preflight has neither a token nor an effect: it draws on the address's global limit alone.
 */
export function methodAskedFor({ downstream, head, snapshot }: Exchange): string | null {
  if (downstream.method !== 'OPTIONS' || snapshot.cors === null || head === null) return null;
  return askedMethod(head.kept);
}

/**
 * The route of a preflight: a browser that wants to send a PUT asks about the route of the PUT. It is answered here, or goes
 * upstream by a route whose service answers preflights of all methods; so that nothing else goes upstream under the route
 * of another method, what is neither is routed by the method it has.
 */
export function routeOfPreflight({ snapshot, path }: Exchange, asked: string): RouteMatch<RouteModel> | null {
  const { routes, preflightRoutes } = snapshot;
  const match = routes.find(asked, path);
  if (match !== null && answersPreflights(match.value)) return match;
  return preflightRoutes.find(asked, path) ?? routes.find('OPTIONS', path);
}

/** Whether the gateway answers preflights for this route by itself. */
export function answersPreflights(route: RouteModel): boolean {
  return route.kind === 'sign-in' || route.cors;
}

/** The terminal of a preflight. One for a method that the route does not serve is told of no method at all. */
export function servePreflight(exchange: Exchange): void {
  const { snapshot, head } = exchange;
  if (snapshot.cors === null || head === null) return;
  const asked = askedMethod(head.kept);
  const served = asked !== null && serves(exchange, asked) ? asked : null;
  const fields = [
    ...preflightFields(snapshot.cors, head.kept, served),
    'Via',
    '1.1 weir',
    'X-Request-Id',
    exchange.requestId,
  ];
  exchange.outcome = 'answered';
  exchange.sendWhole(204, 'No Content', fields, '', false);
}

function serves({ snapshot, path, route }: Exchange, method: string): boolean {
  if (route?.kind === 'sign-in') return route.methods.includes(method);
  return isRoutable(method) && snapshot.routes.find(method, path)?.value === route;
}

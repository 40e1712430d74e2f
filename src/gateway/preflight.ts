import type { RouteModel } from '../config/index.ts';
import { askedMethod, preflightFields } from '../http/index.ts';
import type { Decision } from '../limits/index.ts';
import type { RouteMatch } from '../routing/index.ts';
import type { Exchange } from './exchange.ts';
import type { Verdict } from './gate.ts';
import type { GatewayState } from './gateway-state.ts';
import { storeUnreachable } from './problems.ts';
import { globallyRefused } from './rate-limit-error.ts';

/**
 * The route that a preflight asks about: a browser that wants to send a PUT asks about the route of the PUT. Null for all that
 * the gateway does not answer by itself: it may go upstream, so its own method has to find its route.
 */
export function routeOfPreflight(exchange: Exchange): RouteMatch<RouteModel> | null {
  const asked = methodAskedFor(exchange);
  const match = asked === null ? null : exchange.snapshot.routes.find(asked, exchange.path);
  return match !== null && answersPreflights(match.value) ? match : null;
}

/** Whether the exchange is a preflight that the gateway answers by itself; then it draws on the address's global limit alone. */
export function recognisePreflight(exchange: Exchange): Verdict {
  const { route } = exchange;
  exchange.isPreflight = route !== null && answersPreflights(route) && methodAskedFor(exchange) !== null;
  return null;
}

/** Null: it is no preflight, or no rules are set for them. */
function methodAskedFor({ downstream, head, snapshot }: Exchange): string | null {
  if (downstream.method !== 'OPTIONS' || snapshot.cors === null || head === null) return null;
  return askedMethod(head.kept);
}

function answersPreflights(route: RouteModel): boolean {
  return route.kind === 'sign-in' || route.cors;
}

export function limitPreflight(exchange: Exchange, state: GatewayState): Verdict | Promise<Verdict> {
  const decision = state.limiting.store.decide(
    exchange.snapshot.limits.global.address,
    exchange.addressKey,
    '',
  );
  return decision instanceof Promise ? decision.then(verdictOn) : verdictOn(decision);
}

function verdictOn({ admitted, role, retryAfterMs }: Decision): Verdict {
  if (admitted) return null;
  return role === null ? storeUnreachable(retryAfterMs) : globallyRefused(retryAfterMs);
}

/** The terminal of a preflight. */
export function servePreflight(exchange: Exchange): void {
  const { snapshot, head } = exchange;
  if (snapshot.cors === null || head === null) return;
  const fields = [
    ...preflightFields(snapshot.cors, head.kept),
    'Via',
    '1.1 weir',
    'X-Request-Id',
    exchange.requestId,
  ];
  exchange.outcome = 'answered';
  exchange.sendWhole(204, 'No Content', fields, '', false);
}

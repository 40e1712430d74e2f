import { isPreflight, preflightFields } from '../http/index.ts';
import type { Decision } from '../limits/index.ts';
import type { Exchange } from './exchange.ts';
import type { Verdict } from './gate.ts';
import type { GatewayState } from './gateway-state.ts';
import { storeUnreachable } from './problems.ts';
import { globallyRefused } from './rate-limit-error.ts';

/** Whether the exchange is a preflight that the gateway answers by itself; then it draws on the address's global limit alone. */
export function recognisePreflight(exchange: Exchange): Verdict {
  const { downstream, head, route, snapshot } = exchange;
  if (snapshot.cors === null || head === null || (route?.kind === 'forward' && !route.cors)) return null;
  exchange.isPreflight = isPreflight(downstream.method, head.kept);
  return null;
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

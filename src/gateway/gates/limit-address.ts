import type { Decision } from '../../limits/index.ts';
import { globallyRefused, storeUnreachable } from '../answers/index.ts';
import type { Exchange } from '../exchange.ts';
import type { GatewayState } from '../gateway-state.ts';
import type { GateResult } from './gate.ts';

/** Draws on the global limit of the address and on nothing else, for requests that come without a token and lead to no bucket. */
export function limitAddress(exchange: Exchange, state: GatewayState): GateResult | Promise<GateResult> {
  const { address } = exchange.snapshot.limits.global;
  const { store } = state.limiting;
  const decision =
    exchange.noPermit === null
      ? store.decide(address, exchange.addressKey, '')
      : store.peek(address, exchange.addressKey, '');
  return decision instanceof Promise ? decision.then(verdictOn) : verdictOn(decision);
}

function verdictOn({ admitted, role, retryAfterMs }: Decision): GateResult {
  if (admitted) return null;
  return role === null ? storeUnreachable(retryAfterMs) : globallyRefused(retryAfterMs);
}

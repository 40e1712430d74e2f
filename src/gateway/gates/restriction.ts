import { type Exchange, webhookOf } from '../exchange/index.ts';
import type { GatewayState } from '../gateway-state.ts';
import {
  ADDRESS_BLOCKED,
  addressRestricted,
  CALLER_BLOCKED,
  callerRestricted,
  webhookRestricted,
} from '../responses/index.ts';
import type { GateResult } from './gate.ts';

/** Step 4: refuses an address that is restricted or blocked. */
export function restrictAddress(exchange: Exchange, state: GatewayState): GateResult {
  const { restrictions, blocked } = state.limiting;
  const { address, restricted } = exchange.arrival.client;
  if (blocked?.hasAddress(exchange.addressKey, address)) return ADDRESS_BLOCKED;
  const waitMs = restrictions.waitMs(restricted);
  if (waitMs === 0) return null;
  const reason = restrictions.reasonFor({ kind: 'address', key: exchange.restrictedKey });
  return addressRestricted(waitMs, reason);
}

/** Step 5: refuses an address that kept calling this webhook after it was deleted. */
export function restrictWebhook(exchange: Exchange, state: GatewayState): GateResult {
  const { destination, restrictedKey } = exchange;
  const { route, params } = destination;
  if (route?.kind !== 'forward' || !route.webhook) return null;
  exchange.webhook = webhookOf(route, params);
  const waitMs = state.limiting.restrictions.webhookWaitMs(restrictedKey, exchange.webhook);
  return waitMs === 0 ? null : webhookRestricted(waitMs);
}

/** Step 6: refuses a caller that is restricted or blocked. */
export function restrictCaller({ token }: Exchange, state: GatewayState): GateResult {
  if (token === null) return null;
  const { blocked, restrictions } = state.limiting;
  const { principal: key } = token.caller;
  if (blocked?.hasCaller(key)) return CALLER_BLOCKED;
  const waitMs = restrictions.waitMs(token.client);
  return waitMs === 0 ? null : callerRestricted(waitMs, restrictions.reasonFor({ kind: 'principal', key }));
}

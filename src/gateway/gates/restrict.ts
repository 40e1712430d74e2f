import { type Exchange, webhookOf } from '../exchange/index.ts';
import type { GatewayState } from '../gateway-state.ts';
import { ADDRESS_BLOCKED, CALLER_BLOCKED, callerRestricted, webhookRestricted } from '../responses/index.ts';
import { findRoute } from './find-route.ts';
import type { GateResult } from './gate.ts';

export function restrictAddress(exchange: Exchange, state: GatewayState): GateResult {
  const { restrictions, blocked } = state.limiting;
  const isBlocked = blocked?.hasAddress(exchange.addressKey) === true;
  const waitMs = restrictions.waitMs(exchange.arrival.address);
  if (waitMs === 0 && !isBlocked) return null;
  // The route decides the form of the refusal: an anonymous endpoint has an error object, and its own `cors`.
  findRoute(exchange);
  if (isBlocked) return ADDRESS_BLOCKED;
  const { addressKey: key, startedAtMs } = exchange;
  const reason = restrictions.reasonFor({ kind: 'address', key });
  return state.restrictionResponses.forAddress(key, waitMs, reason, startedAtMs);
}

export function restrictCaller({ token }: Exchange, state: GatewayState): GateResult {
  if (token === null) return null;
  const { blocked, restrictions } = state.limiting;
  const { principal: key } = token.caller;
  if (blocked?.hasCaller(key)) return CALLER_BLOCKED;
  const waitMs = restrictions.waitMs(token.client);
  return waitMs === 0 ? null : callerRestricted(waitMs, restrictions.reasonFor({ kind: 'principal', key }));
}

export function restrictWebhook(exchange: Exchange, state: GatewayState): GateResult {
  const { destination, addressKey } = exchange;
  const { route, params } = destination;
  if (route?.kind !== 'forward' || !route.webhook) return null;
  exchange.webhook = webhookOf(route, params);
  const waitMs = state.limiting.restrictions.webhookWaitMs(addressKey, exchange.webhook);
  return waitMs === 0 ? null : webhookRestricted(waitMs);
}

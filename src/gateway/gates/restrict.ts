import { type Exchange, webhookOf } from '../exchange/index.ts';
import type { GatewayState } from '../gateway-state.ts';
import { ADDRESS_BLOCKED, CALLER_BLOCKED, callerRestricted, webhookRestricted } from '../responses/index.ts';
import { findRoute } from './find-route.ts';
import type { GateResult } from './gate.ts';

export function restrictAddress(exchange: Exchange, state: GatewayState): GateResult {
  const { restrictions, blocked } = state.limiting;
  const isBlocked = blocked?.hasAddress(exchange.addressKey) === true;
  const waitMs = restrictions.addressWaitMs(exchange.addressKey);
  if (waitMs === 0 && !isBlocked) return null;
  // The route decides the form of the refusal: an anonymous endpoint has an error object, and its own `cors`.
  findRoute(exchange);
  if (isBlocked) return ADDRESS_BLOCKED;
  return state.restrictionResponses.forAddress(exchange.addressKey, waitMs, exchange.startedAtMs);
}

export function restrictCaller({ token }: Exchange, state: GatewayState): GateResult {
  if (token === null) return null;
  const { blocked } = state.limiting;
  if (blocked?.hasCaller(token.caller.principal)) return CALLER_BLOCKED;
  const waitMs = state.limiting.restrictions.principalWaitMs(token.caller.principal);
  return waitMs === 0 ? null : callerRestricted(waitMs);
}

export function restrictWebhook(exchange: Exchange, state: GatewayState): GateResult {
  const { destination, addressKey } = exchange;
  const { route, params } = destination;
  if (route?.kind !== 'forward' || !route.webhook) return null;
  exchange.webhook = webhookOf(route, params);
  const waitMs = state.limiting.restrictions.webhookWaitMs(addressKey, exchange.webhook);
  return waitMs === 0 ? null : webhookRestricted(waitMs);
}

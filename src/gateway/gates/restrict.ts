import { hash } from 'node:crypto';
import { callerRestricted, webhookRestricted } from '../answers/index.ts';
import type { Exchange } from '../exchange.ts';
import type { GatewayState } from '../gateway-state.ts';
import { findRoute } from './find-route.ts';
import type { GateResult } from './gate.ts';

export function restrictAddress(exchange: Exchange, state: GatewayState): GateResult {
  const waitMs = state.limiting.restrictions.addressWaitMs(exchange.addressKey);
  if (waitMs === 0) return null;
  // The refusal stands; its form depends on the route: an anonymous endpoint has an error object, and `cors` is its own.
  findRoute(exchange);
  return state.restrictionAnswers.forAddress(exchange.addressKey, waitMs, exchange.startedAtMs);
}

export function restrictCaller(exchange: Exchange, state: GatewayState): GateResult {
  if (exchange.caller === null) return null;
  const waitMs = state.limiting.restrictions.principalWaitMs(exchange.caller.principal);
  return waitMs === 0 ? null : callerRestricted(waitMs);
}

export function restrictWebhook(exchange: Exchange, state: GatewayState): GateResult {
  const { route } = exchange;
  if (route?.kind !== 'forward' || !route.webhook) return null;
  const waitMs = state.limiting.restrictions.webhookWaitMs(exchange.addressKey, webhookOf(exchange));
  return waitMs === 0 ? null : webhookRestricted(waitMs);
}

/** Names a webhook without its secrets: its parameters are the credentials to call it. */
export function webhookOf(exchange: Exchange): string {
  return hash('sha256', `${exchange.route?.id}\0${exchange.params.join('\0')}`, 'base64url');
}

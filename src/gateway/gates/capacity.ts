import { type Exchange, webhookOf } from '../exchange/index.ts';
import type { GatewayState } from '../gateway-state.ts';
import {
  ADDRESS_BLOCKED,
  CALLER_BLOCKED,
  callerRestricted,
  fallenBehind,
  overloaded,
  poolFull,
  shareTaken,
  webhookRestricted,
} from '../responses/index.ts';
import type { GateResult } from './gate.ts';

/** Step 3: refuses requests while the process is too far behind to serve them in time. */
export function pressure(_exchange: Exchange, { overload }: GatewayState): GateResult {
  return overload.admits() ? null : fallenBehind();
}

/** Step 3: keeps the cap on everything in flight. The exchange itself is counted already. */
export function capacity(exchange: Exchange, state: GatewayState): GateResult {
  return state.inFlight > exchange.snapshot.caps.requests ? overloaded('requests') : null;
}

/** Step 3: keeps the cap on one address. */
export function addressCapacity(exchange: Exchange, state: GatewayState): GateResult {
  const { requestsPerAddress } = exchange.snapshot.caps;
  if (!state.addressPermits.take(exchange.addressKey, requestsPerAddress))
    return overloaded('requests_per_address');
  exchange.hasAddressPermit = true;
  return null;
}

/**
 * Step 7: keeps the caps of an upstream on exchanges of one kind, in all and for one caller. A request over a cap is refused only
 * after its limits and its token are checked (see `requirePermit`): if those refuse it as well, they come first.
 */
export function upstreamCapacity(exchange: Exchange, state: GatewayState): GateResult {
  const { destination, token } = exchange;
  const { pool, authentication } = destination;
  // It has no token although one is required, so it will be refused in any case.
  if (pool === null || (authentication === 'required' && token === null)) return null;
  const permit = state.upstreamPermits.take(pool, exchange.callerKey);
  if (typeof permit === 'object') {
    exchange.upstreamPermit = permit;
  } else {
    const error = permit === 'full' ? poolFull(pool.name) : shareTaken(pool.name);
    exchange.noRoom = { upstream: pool.upstream, error };
  }
  return null;
}

/** Step 9: refuses a request that the upstream has no room for. It has consumed no limit. */
export function requirePermit({ noRoom }: Exchange): GateResult {
  return noRoom === null ? null : noRoom.error;
}

/** Step 4: refuses an address that is restricted or blocked. */
export function restrictAddress(exchange: Exchange, state: GatewayState): GateResult {
  const { restrictions, blocked } = state.limiting;
  if (blocked?.hasAddress(exchange.addressKey)) return ADDRESS_BLOCKED;
  const waitMs = restrictions.waitMs(exchange.arrival.address);
  if (waitMs === 0) return null;
  const { addressKey: key, startedAtMs } = exchange;
  const reason = restrictions.reasonFor({ kind: 'address', key });
  return state.restrictionResponses.forAddress(key, waitMs, reason, startedAtMs);
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

/** Step 5: refuses an address that called this webhook too often after it was deleted. */
export function restrictWebhook(exchange: Exchange, state: GatewayState): GateResult {
  const { destination, addressKey } = exchange;
  const { route, params } = destination;
  if (route?.kind !== 'forward' || !route.webhook) return null;
  exchange.webhook = webhookOf(route, params);
  const waitMs = state.limiting.restrictions.webhookWaitMs(addressKey, exchange.webhook);
  return waitMs === 0 ? null : webhookRestricted(waitMs);
}

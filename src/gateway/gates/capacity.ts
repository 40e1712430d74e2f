import type { Exchange } from '../exchange/index.ts';
import type { GatewayState } from '../gateway-state.ts';
import { overloaded, poolFull, shareTaken } from '../responses/index.ts';
import type { GateResult } from './gate.ts';

/** The cap on everything in flight. The exchange itself is counted already. */
export function capacity(exchange: Exchange, state: GatewayState): GateResult {
  return state.inFlight > exchange.snapshot.caps.requests ? overloaded('requests') : null;
}

/** The cap on one address. */
export function addressCapacity(exchange: Exchange, state: GatewayState): GateResult {
  const { requestsPerAddress } = exchange.snapshot.caps;
  if (!state.addressPermits.take(exchange.addressKey, requestsPerAddress))
    return overloaded('requests_per_address');
  exchange.hasAddressPermit = true;
  return null;
}

/**
 * The caps of an upstream on exchanges of one kind, all of them and those of one caller. A request that meets one hears so only
 * behind its limits and its token (see `requirePermit`): where those refuse it as well, they come first.
 */
export function upstreamCapacity(exchange: Exchange, state: GatewayState): GateResult {
  const { destination, token } = exchange;
  const { pool, authentication } = destination;
  // Without a token where one is required it will be refused, whatever the limits say.
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

/** Refuses what its upstream has no room for. It has drawn on nothing. */
export function requirePermit({ noRoom }: Exchange): GateResult {
  return noRoom === null ? null : noRoom.error;
}

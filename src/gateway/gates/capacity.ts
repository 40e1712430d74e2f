import type { Exchange } from '../exchange/index.ts';
import type { GatewayState } from '../gateway-state.ts';
import { fallenBehind, overloaded, poolFull, shareTaken } from '../responses/index.ts';
import type { GateResult } from './gate.ts';

/** Sheds while the process is too far behind. */
export function pressure(_exchange: Exchange, { overload }: GatewayState): GateResult {
  return overload.admits() ? null : fallenBehind();
}

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
 * The caps of an upstream on exchanges of one kind, in all and for one caller. A request over a cap is refused only after its
 * limits and its token are checked (see `requirePermit`): if those refuse it as well, they come first.
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

/** Refuses a request that the upstream has no room for. It has drawn on no limit. */
export function requirePermit({ noRoom }: Exchange): GateResult {
  return noRoom === null ? null : noRoom.error;
}

import { routeOfCaller } from '../../config/index.ts';
import type { Exchange } from '../exchange/index.ts';
import type { GatewayState } from '../gateway-state.ts';
import { errors } from '../responses/index.ts';
import type { GateResult } from './gate.ts';
import { makeDestination, poolOf } from './route.ts';

/** Step 7: chooses among upstreams that split the callers of a route. The same caller gets the same upstream on every gateway. */
export function chooseUpstream(exchange: Exchange): GateResult {
  const { destination, downstream } = exchange;
  if (destination.kind !== 'forward' || destination.route.shares === null) return null;
  const route = routeOfCaller(destination.route, exchange.callerKey);
  const pool = poolOf(route, downstream.framing.upgrade);
  exchange.destination = makeDestination('forward', destination, route, null, pool);
  return null;
}

/**
 * Step 7: enforces two caps on an upstream's exchanges of one kind: for all callers together, and for each. A request over a cap
 * is refused only after its limits and token are checked (see `requirePermit`): their refusals take precedence.
 */
export function upstreamCapacity(exchange: Exchange, state: GatewayState): GateResult {
  const { destination, token, shortfall } = exchange;
  const { pool, authentication } = destination;
  // Missing or insufficient tokens are refused in any case.
  const isRefused = (authentication === 'required' && token === null) || shortfall !== null;
  if (pool === null || isRefused) return null;
  const lent = exchange.downstream.memory.owned?.lend(exchange, pool) ?? null;
  const permit = lent ?? state.upstreamPermits.take(pool, exchange.callerKey, exchange.callerOwners);
  if (typeof permit === 'object') {
    exchange.upstreamPermit = permit;
  } else {
    const error = permit === 'full' ? errors.poolFull(pool.name) : errors.shareTaken(pool.name);
    exchange.noRoom = { upstream: pool.upstream, error };
  }
  return null;
}

/** Step 9: refuses a request if the upstream is full. It has consumed no limit. */
export function requirePermit({ noRoom }: Exchange): GateResult {
  return noRoom === null ? null : noRoom.error;
}

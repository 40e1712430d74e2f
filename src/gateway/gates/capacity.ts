import type { ForwardRoute } from '../../config/index.ts';
import { addressKey } from '../../http/index.ts';
import { overloaded, shareTaken } from '../answers/index.ts';
import type { Exchange } from '../exchange.ts';
import type { GatewayState } from '../gateway-state.ts';
import type { GateResult } from './gate.ts';
import { answersPreflights } from './preflight.ts';

/** The cap on everything in flight. The exchange itself is counted already. */
export function capacity(exchange: Exchange, state: GatewayState): GateResult {
  return state.inFlight > exchange.snapshot.caps.requests ? overloaded('requests') : null;
}

/** The cap on one address. */
export function addressCapacity(exchange: Exchange, state: GatewayState): GateResult {
  const key = addressKey(exchange.clientAddress);
  exchange.addressKey = key;
  if (!state.addressPermits.take(key, exchange.snapshot.caps.requestsPerAddress))
    return overloaded('requests_per_address');
  exchange.permitAddress = key;
  return null;
}

/**
 * The caps of an upstream, on all requests and on those of one caller. A request that meets one is told so behind its limits
 * and its token, of which it hears first where they refuse it as well; see `noPermit`.
 */
export function upstreamCapacity(exchange: Exchange, state: GatewayState): GateResult {
  const { route } = exchange;
  if (route?.kind !== 'forward' || !goesUpstream(exchange, route)) return null;
  const { upstream } = route;
  const caller = exchange.caller?.principal ?? exchange.addressKey;
  const cap = state.upstreamPermits.take(upstream, caller);
  exchange.upstream = upstream.name;
  if (cap === null) exchange.permitCaller = caller;
  else exchange.noPermit = cap === 'max_requests' ? overloaded(cap) : shareTaken();
  return null;
}

/** False: it is answered here, whatever the limits say. */
function goesUpstream({ caller, isPreflight, maxForwards }: Exchange, route: ForwardRoute): boolean {
  if (maxForwards === 0) return false;
  if (isPreflight) return !answersPreflights(route);
  return caller !== null || route.authentication !== 'required';
}

/** Where the upstream's caps are met the request ends here: it has drawn on nothing. */
export function requirePermit({ noPermit }: Exchange): GateResult {
  return noPermit;
}

/** The upstream has no more to do with the exchange. May be called again. */
export function giveUpstreamBack(exchange: Exchange, state: GatewayState): void {
  const { upstream, permitCaller } = exchange;
  if (upstream === null || permitCaller === null) return;
  exchange.permitCaller = null;
  state.upstreamPermits.giveBack(upstream, permitCaller);
}

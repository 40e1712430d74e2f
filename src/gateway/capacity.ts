import { addressKey } from '../http/index.ts';
import type { Exchange } from './exchange.ts';
import type { Verdict } from './gate.ts';
import type { GatewayState } from './gateway-state.ts';
import { overloaded } from './problems.ts';

/** The cap on everything in flight. The exchange itself is counted already. */
export function capacity(exchange: Exchange, state: GatewayState): Verdict {
  return state.inFlight > exchange.snapshot.caps.requests ? overloaded() : null;
}

/** The cap on one address. */
export function addressCapacity(exchange: Exchange, state: GatewayState): Verdict {
  const key = addressKey(exchange.clientAddress);
  exchange.addressKey = key;
  if (!state.addressPermits.take(key, exchange.snapshot.caps.requestsPerAddress)) return overloaded();
  exchange.permitAddress = key;
  return null;
}

/** The cap on one upstream: before the limits, so that a request which is not served for it draws on none of them. */
export function upstreamCapacity(exchange: Exchange, state: GatewayState): Verdict {
  const { route } = exchange;
  if (route?.kind !== 'forward') return null;
  const { name, maxRequests } = route.upstream;
  if (!state.upstreamPermits.take(name, maxRequests)) return overloaded();
  exchange.permitUpstream = name;
  return null;
}

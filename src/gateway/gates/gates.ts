import type { Exchange } from '../exchange.ts';
import type { GatewayState } from '../gateway-state.ts';
import { addressCapacity, capacity, requirePermit, upstreamCapacity } from './capacity.ts';
import { findRoute } from './find-route.ts';
import type { Gate } from './gate.ts';
import { authorise, identify } from './identify.ts';
import { limit } from './limit.ts';
import { limitAddress } from './limit-address.ts';
import { readOptions } from './options.ts';
import { readHead } from './read-head.ts';
import { restrictAddress, restrictCaller, restrictWebhook } from './restrict.ts';

/**
 * The gates in the order in which an exchange passes them. What the wire means comes first, since every later step
 * reads it; then the cheapest refusals before the dearer ones.
 */
export function gatesOf(state: GatewayState): readonly Gate[] {
  return [
    // Reads the head once. Whoever can be misread is refused before anything is counted on him.
    exchange => readHead(exchange, state),
    // Overload protects everyone, so it is asked before anything costs more than a look at a counter.
    exchange => capacity(exchange, state),
    // The address is known for certain only from here; its cap keeps one sender from taking every permit.
    exchange => addressCapacity(exchange, state),
    // A restricted address is refused before anything is decided about its request, so that it costs nearly nothing.
    exchange => restrictAddress(exchange, state),
    // An OPTIONS says how far it may go; the answer of one that goes no further waits for all other gates.
    readOptions,
    // Everything after depends on the route's policies, and on whether it is a preflight: that comes without a token.
    findRoute,
    // A webhook that is gone is refused before the service behind it hears of it again.
    exchange => restrictWebhook(exchange, state),
    // Who sends: the limits and the upstream need to know. May wait for the issuer's keys.
    identify,
    exchange => restrictCaller(exchange, state),
    // What the upstream cannot take must not draw on the caller's limits, so that it only looks at them.
    exchange => upstreamCapacity(exchange, state),
    // All limits of the request in one decision.
    exchange => (drawsOnAddress(exchange) ? limitAddress(exchange, state) : limit(exchange, state)),
    // So late that requests without a valid token have drawn on their address before they are told.
    authorise,
    // Last: limits and tokens say what the client has to change, this only that it has to wait.
    requirePermit,
  ];
}

function drawsOnAddress({ isPreflight, isServerWide }: Exchange): boolean {
  return isPreflight || isServerWide;
}

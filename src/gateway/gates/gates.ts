import type { Exchange } from '../exchange/index.ts';
import type { GatewayState } from '../gateway-state.ts';
import * as authorise from './authorise.ts';
import type { Gate, GateResult } from './gate.ts';
import * as head from './head.ts';
import * as identity from './identity.ts';
import * as limit from './limit.ts';
import * as overload from './overload.ts';
import * as restriction from './restriction.ts';
import * as route from './route.ts';
import * as upstream from './upstream.ts';

/**
 * The gates in the order in which an exchange passes them: steps 2 to 9 (gateway.ts). The meaning of the request comes first,
 * since every later step relies on it; then cheap refusals before expensive ones.
 */
export const GATES: readonly Gate[] = [
  // Step 2. Rejects ambiguous requests before anything is counted.
  head.readHead,
  // Step 3. While the process is overloaded, a refusal must cost as little as possible.
  overload.pressure,
  // Overload affects everyone, and looking at two counters is cheap. The client's address is certain since step 2: its cap keeps
  // one sender from taking all the room.
  overload.capacity,
  // Step 4. Refuses a restricted address before its request costs anything.
  route.refusingByRoute(restriction.restrictAddress),
  // Step 5. After `restrictAddress`: a restricted address is told so, whatever it sends. From here on, refusals consume the
  // sender's global limit.
  countIfRefused(route.withFieldsOfRoute(head.refuseForeign)),
  countIfRefused(route.withFieldsOfRoute(head.refuseExpectation)),
  countIfRefused(route.withFieldsOfRoute(route.refuseMethod)),
  // Reads how far an OPTIONS may be forwarded. One that ends here is answered after all other gates.
  head.readOptions,
  // Every later gate depends on the route's policies, and on whether this is a preflight, which carries no token.
  countIfRefused(route.findRoute),
  // Needs the route, which says whether it serves WebSockets.
  countIfRefused(route.judgeUpgrade),
  // Refuses calls to a deleted webhook before they reach the service again.
  restriction.restrictWebhook,
  // From here on the exchange may have to wait: for keys, a store, or its upstream.
  head.startDeadline,
  // Before either is looked at.
  countIfRefused(identity.refuseTwoCredentials),
  // Step 6. Limits and the choice of the upstream need the caller. May wait for the issuer's keys.
  identity.identify,
  restriction.restrictCaller,
  // After the token is verified, so that made-up tokens never cause requests to the provider, and after `restrictCaller`, so that
  // restricted callers do not either. Before everything counted for the caller: a request with a token that the provider has
  // revoked counts for its address.
  identity.introspect,
  // After everything that may reduce the caller to an address.
  authorise.judge,
  // Step 7. After everything that determines the caller.
  upstream.chooseUpstream,
  // Before the limits: if the upstream is full, they are checked but not consumed.
  upstream.upstreamCapacity,
  // Step 8. One decision about all limits of the request.
  limit.limit,
  // Step 9. After the limits, so that requests without a valid token count for their address before they are refused.
  authorise.authorise,
  // Last: limits and tokens tell clients what to change, a full upstream only to wait.
  upstream.requirePermit,
];

/** The status for requests that are ambiguous, so nothing is counted for them. */
const BAD_REQUEST = 400;

/**
 * Makes a request refused before the limits consume a unit of its sender's global limit: scans for paths and methods count like
 * other requests, and get 429 beyond the limit. Verifies no token: the sender is the caller if its token is remembered, else the
 * address.
 */
function countIfRefused(gate: (exchange: Exchange, state: GatewayState) => GateResult): Gate {
  return (exchange, state) => {
    const refusal = gate(exchange, state);
    if (refusal === null || refusal.status === BAD_REQUEST) return refusal;
    identity.recallToken(exchange);
    return restriction.restrictCaller(exchange, state) ?? limit.consumeGlobal(refusal, exchange, state);
  };
}

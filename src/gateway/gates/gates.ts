import type { Gate } from './gate.ts';
import * as identity from './identify.ts';
import * as limits from './limit.ts';
import * as request from './read-request.ts';

/**
 * The gates in the order in which an exchange passes them, as steps 2 to 9 of its walk (gateway.ts). First comes what the request
 * means, since every later step relies on it; then the cheap refusals before the expensive ones.
 */
export const GATES: readonly Gate[] = [
  // Step 2. Rejects ambiguous requests before anything is counted.
  request.readHead,
  // Step 3. While the process is too far behind, refusing a request must cost as little as possible.
  limits.pressure,
  // Overload concerns everyone, and looking at two counters costs little. The client's address is certain since step 2: its cap
  // keeps one sender from taking all the room.
  limits.capacity,
  // Step 4. Refuses a restricted address before its request costs anything.
  request.refusingByRoute(identity.restrictAddress),
  // Step 5. After `restrictAddress`: a restricted address learns of its restriction, whatever it sends. Refusals from here on
  // consume the global limit of their sender.
  request.consumeIfRefused(request.withFieldsOfRoute(request.refuseForeign)),
  request.consumeIfRefused(request.withFieldsOfRoute(request.refuseExpectation)),
  request.consumeIfRefused(request.withFieldsOfRoute(request.refuseMethod)),
  // Reads how far an OPTIONS may be forwarded. One that ends here is answered after all other gates.
  request.readOptions,
  // Every later gate depends on the route's policies, and on whether this is a preflight, which carries no token.
  request.consumeIfRefused(request.findRoute),
  // Needs the route, which says whether it serves WebSockets.
  request.consumeIfRefused(request.judgeUpgrade),
  // Refuses calls to a deleted webhook before they reach the service again.
  identity.restrictWebhook,
  // From here on the exchange may have to wait: for keys, for a store, for its upstream.
  request.startDeadline,
  // Step 6. Limits and the upstream need the caller. May wait for the issuer's keys.
  identity.identify,
  identity.restrictCaller,
  // After the token is verified, so that nobody can make the gateway ask about invented tokens, and after `restrictCaller`, so
  // that a restricted caller costs the provider nothing. Before everything that counts for the caller: a request with a token that
  // the provider has revoked counts for its address.
  identity.introspect,
  // After everything that may turn its caller into an address.
  identity.judge,
  // Step 7. After everything that decides who the caller is.
  request.chooseUpstream,
  // Before the limits: if the upstream has no room for a request, its limits are checked but not consumed.
  limits.upstreamCapacity,
  // Step 8. One decision about all limits of the request.
  limits.limit,
  // Step 9. After the limits, so that requests without a valid token count for their address before they are refused.
  identity.authorise,
  // Last: limits and tokens tell clients what to change, while a full upstream only tells them to wait.
  limits.requirePermit,
];

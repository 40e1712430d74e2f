import type { Gate } from './gate.ts';
import {
  authorise,
  identify,
  introspect,
  judge,
  restrictAddress,
  restrictCaller,
  restrictWebhook,
} from './identify.ts';
import { addressCapacity, capacity, limit, pressure, requirePermit, upstreamCapacity } from './limit.ts';
import {
  chooseUpstream,
  consumeIfRefused,
  findRoute,
  judgeUpgrade,
  readHead,
  readOptions,
  refuseExpectation,
  refuseForeign,
  refuseMethod,
  refusingByRoute,
  startDeadline,
  withFieldsOfRoute,
} from './read-request.ts';

/**
 * The gates in the order in which an exchange passes them, as steps 2 to 9 of its walk (gateway.ts). First comes what the request
 * means, since every later step relies on it; then the cheap refusals before the expensive ones.
 */
export const GATES: readonly Gate[] = [
  // Step 2. Rejects ambiguous requests before anything is counted.
  readHead,
  // Step 3. While the process is too far behind, refusing a request must cost as little as possible.
  pressure,
  // Overload concerns everyone, and looking at one counter costs nothing.
  capacity,
  // The client's address is certain since step 2. Its cap keeps one sender from taking all the room.
  addressCapacity,
  // Step 4. Refuses a restricted address before its request costs anything.
  refusingByRoute(restrictAddress),
  // Step 5. After `restrictAddress`: a restricted address learns of its restriction, whatever it sends. Refusals from here on
  // consume the global limit of their sender.
  consumeIfRefused(withFieldsOfRoute(refuseForeign)),
  consumeIfRefused(withFieldsOfRoute(refuseExpectation)),
  consumeIfRefused(withFieldsOfRoute(refuseMethod)),
  // Reads how far an OPTIONS may be forwarded. One that ends here is answered after all other gates.
  readOptions,
  // Every later gate depends on the route's policies, and on whether this is a preflight, which carries no token.
  consumeIfRefused(findRoute),
  // Needs the route, which says whether it serves WebSockets.
  consumeIfRefused(judgeUpgrade),
  // Refuses calls to a deleted webhook before they reach the service again.
  restrictWebhook,
  // From here on the exchange may have to wait: for keys, for a store, for its upstream.
  startDeadline,
  // Step 6. Limits and the upstream need the caller. May wait for the issuer's keys.
  identify,
  restrictCaller,
  // After the token is verified, so that nobody can make the gateway ask about invented tokens, and after `restrictCaller`, so
  // that a restricted caller costs the provider nothing. Before everything that counts for the caller: a request with a token that
  // the provider has revoked counts for its address.
  introspect,
  // After everything that may turn its caller into an address.
  judge,
  // Step 7. After everything that decides who the caller is.
  chooseUpstream,
  // Before the limits: if the upstream has no room for a request, its limits are checked but not consumed.
  upstreamCapacity,
  // Step 8. One decision about all limits of the request.
  limit,
  // Step 9. After the limits, so that requests without a valid token count for their address before they are refused.
  authorise,
  // Last: limits and tokens tell clients what to change, while a full upstream only tells them to wait.
  requirePermit,
];

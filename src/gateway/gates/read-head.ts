import { type GatewayError, ownString } from '../../core/index.ts';
import { forwardedClient, isPlainHost, RequestHead } from '../../http/index.ts';
import { badRequest, expectationNotMet, headTooLarge, methodNotSupported } from '../answers/index.ts';
import type { KnownHead } from '../connection-memory.ts';
import type { Exchange } from '../exchange.ts';
import type { GatewayState } from '../gateway-state.ts';

/** What came before the exchange has an identity: its fields, its framing, its name in logs. */
export function readHead(exchange: Exchange, state: GatewayState): GatewayError | null {
  const { downstream, snapshot } = exchange;
  const trusted = downstream.memory.trusts(downstream.peer, snapshot.trustedProxies);
  const known = knownHead(exchange);
  const head = known?.head ?? new RequestHead(downstream.fields, snapshot.forwarding, trusted);
  exchange.head = head;
  exchange.requestId = acceptableRequestId(head.requestId) ?? state.nextRequestId();
  if (head.untrustedClaims) noteClaims(head, downstream.peer, state);
  if (known !== null) exchange.clientAddress = known.clientAddress;
  else if (head.forwardedFor !== null) readForwardedFor(exchange, head.forwardedFor, state);
  if (downstream.fields.length > snapshot.caps.fields * 2) return headTooLarge();
  // TRACE would show a client what the gateway adds; CONNECT would make it a tunnel.
  if (downstream.method === 'TRACE' || downstream.method === 'CONNECT') return methodNotSupported();
  const { bodyLength, expectation } = downstream.framing;
  if (typeof bodyLength === 'object') return badRequest(bodyLength.refused);
  exchange.bodyLength = bodyLength;
  if (expectation === 'unknown') return expectationNotMet();
  return known === null ? judgeHead(exchange, head) : null;
}

/** What a peer claims without being trusted counts for nothing; but it may be a proxy that somebody forgot to list. */
function noteClaims(head: RequestHead, peer: string, { listener, unlistedProxies }: GatewayState): void {
  listener.untrustedForwarding();
  if (head.claimedFor !== null) unlistedProxies.saw(peer, 'X-Forwarded-For', head.claimedFor);
  else if (head.claimedForwarded !== null) unlistedProxies.saw(peer, 'Forwarded', head.claimedForwarded);
}

function readForwardedFor(
  exchange: Exchange,
  forwardedFor: readonly string[],
  { unlistedProxies }: GatewayState,
): void {
  const { downstream, snapshot } = exchange;
  const { address, claim } = forwardedClient(downstream.peer, forwardedFor, snapshot.trustedProxies);
  // Permits, limits and restrictions keep it for longer than the request.
  exchange.clientAddress = ownString(address);
  // The client may itself be a proxy, in front of the trusted one.
  if (claim !== null) unlistedProxies.saw(exchange.clientAddress, 'X-Forwarded-For', claim);
}

/** Clients repeat their fields: found in order on this connection, they are not looked at again. */
function knownHead({ downstream, snapshot }: Exchange): KnownHead | null {
  const known = downstream.memory.head;
  if (known === null || known.fields !== downstream.fields || known.rules !== snapshot.forwarding)
    return null;
  return known;
}

function judgeHead(exchange: Exchange, head: RequestHead): GatewayError | null {
  const { downstream, snapshot } = exchange;
  if (head.doubled !== null) return badRequest(`the header field "${head.doubled}" came twice`);
  if (head.host === null || !isPlainHost(head.host))
    return badRequest('the Host header is missing or not a plain host');
  const { fields, memory } = downstream;
  memory.head = { rules: snapshot.forwarding, fields, head, clientAddress: exchange.clientAddress };
  return null;
}

function acceptableRequestId(id: string | null): string | null {
  return id !== null && /^[A-Za-z0-9._-]{1,64}$/.test(id) ? id : null;
}

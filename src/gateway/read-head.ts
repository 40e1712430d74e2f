import { type GatewayError, ownString } from '../core/index.ts';
import { forwardedClient, isPlainHost, RequestHead, requestFraming } from '../http/index.ts';
import type { KnownHead } from './connection-memory.ts';
import type { Exchange } from './exchange.ts';
import type { GatewayState } from './gateway-state.ts';
import { badRequest, expectationNotMet, headTooLarge, methodNotSupported } from './problems.ts';

/** What came before the exchange has an identity: its fields, its framing, its name in logs. */
export function readHead(exchange: Exchange, state: GatewayState): GatewayError | null {
  const { downstream, snapshot } = exchange;
  const trusted = downstream.memory.trusts(downstream.peer, snapshot.trustedProxies);
  const known = knownHead(exchange);
  const head = known?.head ?? new RequestHead(downstream.fields, snapshot.forwarding, trusted);
  exchange.head = head;
  exchange.requestId = acceptableRequestId(head.requestId) ?? state.nextRequestId();
  if (head.untrustedClaims) state.listener.untrustedForwarding();
  if (known !== null) exchange.clientAddress = known.clientAddress;
  else if (head.forwardedFor !== null) {
    const address = forwardedClient(downstream.peer, head.forwardedFor, snapshot.trustedProxies);
    // Permits, limits and restrictions keep it for longer than the request.
    exchange.clientAddress = ownString(address);
  }
  if (downstream.fields.length > snapshot.caps.fields * 2) return headTooLarge();
  // TRACE would show a client what the gateway adds; CONNECT would make it a tunnel.
  if (downstream.method === 'TRACE' || downstream.method === 'CONNECT') return methodNotSupported();
  if (known === null) return judgeHead(exchange, head);
  exchange.bodyLength = known.bodyLength;
  return null;
}

/** Clients repeat their fields: found in order on this connection, they are not looked at again. */
function knownHead({ downstream, snapshot }: Exchange): KnownHead | null {
  const known = downstream.memory.head;
  if (known === null || known.fields !== downstream.fields || known.rules !== snapshot.forwarding)
    return null;
  return known.httpMinor === downstream.httpMinor ? known : null;
}

function judgeHead(exchange: Exchange, head: RequestHead): GatewayError | null {
  const { downstream, snapshot } = exchange;
  if (head.doubled !== null) return badRequest(`the header field "${head.doubled}" came twice`);
  if (head.host === null || !isPlainHost(head.host))
    return badRequest('the Host header is missing or not a plain host');
  if (head.expect !== null && downstream.httpMinor === 1 && head.expect.toLowerCase() !== '100-continue')
    return expectationNotMet();
  const framing = requestFraming(head, downstream.httpMinor);
  if (typeof framing === 'object') return badRequest(framing.refused);
  exchange.bodyLength = framing;
  const { fields, httpMinor, memory } = downstream;
  memory.head = {
    rules: snapshot.forwarding,
    httpMinor,
    fields,
    head,
    bodyLength: framing,
    clientAddress: exchange.clientAddress,
  };
  return null;
}

function acceptableRequestId(id: string | null): string | null {
  return id !== null && /^[A-Za-z0-9._-]{1,64}$/.test(id) ? id : null;
}

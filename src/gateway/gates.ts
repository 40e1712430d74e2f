import type { GatewayError } from '../core/index.ts';
import {
  addressKey,
  clientAddress,
  isPlainHost,
  parseTarget,
  RequestHead,
  requestFraming,
} from '../http/index.ts';
import type { Exchange } from './exchange.ts';
import type { Gate } from './gate.ts';
import type { GatewayState } from './gateway-state.ts';
import { authorise, identify } from './identify.ts';
import {
  badRequest,
  expectationNotMet,
  headTooLarge,
  methodNotSupported,
  noRoute,
  overloaded,
} from './problems.ts';

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
    // Everything after depends on the route's policies.
    findRoute,
    // Who sends: the limits and the upstream need to know. May wait for the issuer's keys.
    exchange => identify(exchange, state),
    // Last, so that requests without a valid token have drawn on their address before they are told.
    authorise,
  ];
}

/** What came before the exchange has an identity: its fields, its framing, its name in logs. */
function readHead(exchange: Exchange, state: GatewayState): GatewayError | null {
  const { downstream, snapshot } = exchange;
  const trusted = snapshot.trustedProxies.has(downstream.peer);
  const head = new RequestHead(downstream.fields, snapshot.forwarding, trusted);
  exchange.head = head;
  exchange.requestId = acceptableRequestId(head.requestId) ?? state.nextRequestId();
  if (head.untrustedClaims) state.listener.untrustedForwarding();
  if (trusted && head.forwardedFor !== null) {
    exchange.clientAddress = clientAddress(downstream.peer, head.forwardedFor, snapshot.trustedProxies);
  }
  return judgeHead(exchange, head);
}

function judgeHead(exchange: Exchange, head: RequestHead): GatewayError | null {
  const { downstream, snapshot } = exchange;
  if (downstream.fields.length > snapshot.caps.fields * 2) return headTooLarge();
  // TRACE would show a client what the gateway adds; CONNECT would make it a tunnel.
  if (downstream.method === 'TRACE' || downstream.method === 'CONNECT') return methodNotSupported();
  if (head.doubled !== null) return badRequest(`the header field "${head.doubled}" came twice`);
  if (head.host === null || !isPlainHost(head.host))
    return badRequest('the Host header is missing or not a plain host');
  if (head.expect !== null && downstream.httpMinor === 1 && head.expect.toLowerCase() !== '100-continue')
    return expectationNotMet();
  const framing = requestFraming(head, downstream.httpMinor);
  if (typeof framing === 'object') return badRequest(framing.refused);
  exchange.bodyLength = framing;
  return null;
}

function acceptableRequestId(id: string | null): string | null {
  return id !== null && /^[A-Za-z0-9._-]{1,64}$/.test(id) ? id : null;
}

function capacity(exchange: Exchange, state: GatewayState): GatewayError | null {
  // The exchange itself is counted already.
  return state.inFlight > exchange.snapshot.caps.requests ? overloaded() : null;
}

function addressCapacity(exchange: Exchange, state: GatewayState): GatewayError | null {
  const key = addressKey(exchange.clientAddress);
  if (!state.addressPermits.take(key, exchange.snapshot.caps.requestsPerAddress)) return overloaded();
  exchange.permitAddress = key;
  return null;
}

function findRoute(exchange: Exchange): GatewayError | null {
  const { downstream, snapshot, head } = exchange;
  const target = parseTarget(downstream.target, head?.host ?? '');
  if ('refused' in target) return badRequest(target.refused);
  exchange.path = target.path;
  exchange.query = target.query;
  const match = snapshot.routes.find(downstream.method, target.path);
  if (match !== null) {
    exchange.route = match.value;
    exchange.params = match.params;
  }
  if (target.semicolon && match?.value.semicolons !== 'pass') return badRequest('the path holds a semicolon');
  return match === null ? noRoute() : null;
}

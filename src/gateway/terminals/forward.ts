import type { Fields } from '../../core/index.ts';
import { traceContextFields, upstreamFields } from '../../http/index.ts';
import type { Exchange, Forwarded, Served } from '../exchange/index.ts';
import type { GatewayState } from '../gateway-state.ts';
import { bodyTooLarge } from '../responses/index.ts';
import { Forwarding } from './forwarding.ts';

const NO_FIELDS: Fields = [];

/** Forwards the request to its upstream and streams the response back. */
export function forward(exchange: Exchange, destination: Forwarded, state: GatewayState): Served {
  const { downstream, bodyLength } = exchange;
  const { route, isPreflight } = destination;
  const { maxBytes } = route.body;
  if (maxBytes !== null && bodyLength !== 'chunked' && bodyLength > maxBytes)
    return exchange.answerError(bodyTooLarge());
  // Preflights need no token, so only their fields are forwarded, without a body.
  const forwardedLength = isPreflight ? 0 : bodyLength;
  const forwarding = new Forwarding(exchange, destination, state, {
    method: downstream.method,
    target: destination.path + destination.query,
    fields: fieldsFor(exchange, destination),
    neverIndexed: downstream.neverIndexed,
    takesTrailers: exchange.head.takesTrailers,
    upgrade: downstream.framing.upgrade,
    bodyLength: forwardedLength,
    body: forwardedLength === 0 ? null : downstream.body(route.body),
    firstByteTimeoutMs: route.firstByteTimeoutMs,
    idleTimeoutMs: route.idleTimeoutMs,
  });
  exchange.upstreamLeg = forwarding;
  return forwarding.send();
}

/** The header fields as the upstream will see them. */
function fieldsFor(exchange: Exchange, destination: Forwarded): Fields {
  const { downstream, head, maxForwards } = exchange;
  const { upstream } = destination.route;
  return upstreamFields(head, {
    host: upstream.hostHeader ?? head.host ?? '',
    peer: downstream.peer,
    scheme: downstream.scheme,
    version: downstream.version,
    requestId: exchange.requestId,
    trace: traceFor(exchange),
    authorization: upstream.passAuthorization ? authorizationFor(exchange, destination) : null,
    identity: identityFor(exchange),
    maxForwards: maxForwards === null ? null : maxForwards - 1,
  });
}

/** Where the gateway takes part in traces: its own, with the span of the upstream. */
function traceFor({ trace }: Exchange): Fields {
  if (trace === null) return NO_FIELDS;
  return traceContextFields({ ...trace, spanId: trace.upstreamSpanId }, trace.state);
}

/** The fields that identify the sender: the caller from the token, and the client certificate of the connection. */
function identityFor({ downstream, token }: Exchange): Fields {
  const caller = token === null ? [] : token.caller.identityFields;
  const { clientCertificate } = downstream;
  return clientCertificate === null ? caller : [...caller, 'Client-Cert', clientCertificate];
}

/**
 * The `Authorization` that the upstream gets. On routes that check tokens: the valid token in the standard scheme, or nothing. On
 * other routes: what the client sent. A preflight forwards none.
 */
function authorizationFor(
  { head, token }: Exchange,
  { isPreflight, authentication }: Forwarded,
): string | null {
  if (isPreflight) return null;
  if (authentication === 'none') return head.authorizationForHop ? null : head.authorization;
  return token === null ? null : `Bearer ${token.token}`;
}

import type { ForwardRoute } from '../../config/index.ts';
import { isOfFile } from '../../config/index.ts';
import { mayOpenWebSocket, readMaxForwards } from '../../wire/http/index.ts';
import { judgeHandshake } from '../../wire/websocket/index.ts';
import type { Exchange } from '../exchange/index.ts';
import { errors, USUAL_METHODS } from '../responses/index.ts';
import { isRoutable, servesMethod } from '../routing/index.ts';
import type { GateResult } from './gate.ts';
import { findDestination } from './route.ts';

/** Step 2: rejects a head that is too large, not meant for this gateway, or ambiguous. */
export function readHead(exchange: Exchange): GateResult {
  const { fields, framing, memory } = exchange.downstream;
  if (fields.length > exchange.snapshot.caps.fields * 2) return errors.headTooLarge();
  if (typeof framing.bodyLength === 'object') return errors.badRequest(framing.bodyLength.rejected);
  if (memory.arrival === exchange.arrival) return null;
  const result = judgeFields(exchange);
  if (result === null) memory.arrival = exchange.arrival;
  return result;
}

function judgeFields({ head, arrival }: Exchange): GateResult {
  if (head.doubled !== null) return errors.badRequest(`the header field "${head.doubled}" came twice`);
  if (arrival.host !== null) return null;
  return errors.badRequest('the Host header is missing or not a plain host');
}

/** Refuses everything but gRPC calls on a listener that serves nothing else. */
export function refuseForeign({ downstream, protocol }: Exchange): GateResult {
  return downstream.onlyCalls && protocol !== 'grpc' ? errors.notGrpc() : null;
}

/** Refuses an expectation other than `100-continue` (RFC 9110, 10.1.1). */
export function refuseExpectation({ downstream }: Exchange): GateResult {
  return downstream.framing.expectation === 'unknown' ? errors.expectationNotMet() : null;
}

/**
 * Refuses TRACE, which would reveal what the gateway adds; CONNECT, which would turn it into a tunnel; and methods that few
 * know, unless the route names them.
 */
export function refuseMethod(exchange: Exchange): GateResult {
  const { method } = exchange.downstream;
  if (isRoutable(method)) return null;
  const { route } = findDestination(exchange);
  if (isOfFile(route) && servesMethod(route.methods, method)) return null;
  // The gateway's own endpoints have other methods.
  return errors.methodNotSupported(route === null || isOfFile(route) ? USUAL_METHODS : route.methods);
}

/** Reads how far an OPTIONS may be forwarded (RFC 9110, 7.6.2). With other methods the field is passed on unchanged. */
export function readOptions(exchange: Exchange): GateResult {
  if (exchange.downstream.method !== 'OPTIONS') return null;
  // Reads all fields, not only those that remain: `Connection` must not hide `Max-Forwards` (RFC 9110, 7.6.1).
  const maxForwards = readMaxForwards(exchange.downstream.fields);
  if (typeof maxForwards === 'object' && maxForwards !== null) return errors.badRequest(maxForwards.rejected);
  exchange.maxForwards = maxForwards;
  return null;
}

/** Accepts only upgrades that the route serves. */
export function judgeUpgrade(exchange: Exchange): GateResult {
  const { downstream } = exchange;
  if (downstream.framing.upgrade === 'none') return null;
  exchange.protocol = downstream.framing.upgrade;
  const { route } = exchange.destination;
  if (route?.kind !== 'forward' || route.websocket === null) return errors.upgradeNotServed();
  const fault = judgeHandshake(downstream.method, exchange.bodyLength, exchange.head.kept);
  if (fault === 'version') return errors.otherVersion();
  if (fault !== null) return errors.badRequest(fault.refused);
  if (!mayUse(exchange, route)) return errors.foreignOrigin();
  return null;
}

/**
 * Browsers open WebSockets without a preflight and send cookies with them. Only this check keeps other sites' pages out
 * (RFC 6455, 10.2).
 */
function mayUse({ snapshot, head, downstream }: Exchange, route: ForwardRoute): boolean {
  if (snapshot.cors === null || !route.cors) return true;
  // Reads all fields, not only those that remain: `Connection` must not hide `Origin` (RFC 9110, 7.6.1).
  return mayOpenWebSocket(snapshot.cors, downstream.fields, head.forwardedHost ?? head.host ?? '');
}

/** Starts the client's deadline for the exchange, if its protocol has one. */
export function startDeadline(exchange: Exchange): GateResult {
  const timeoutMs = exchange.dialect.timeoutMs(exchange.head.kept);
  if (timeoutMs === null) return null;
  if (typeof timeoutMs === 'object') return errors.badCall(timeoutMs.rejected);
  exchange.deadline = exchange.clock.after(timeoutMs, () => exchange.expire());
  return null;
}

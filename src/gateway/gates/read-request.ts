import type { ForwardRoute } from '../../config/index.ts';
import type { GatewayError } from '../../core/index.ts';
import { isPlainHost, mayConnect, readMaxForwards } from '../../http/index.ts';
import { isRoutable } from '../../routing/index.ts';
import { globalClaim } from '../../runtime/index.ts';
import { judgeHandshake } from '../../websocket/index.ts';
import type { Exchange } from '../exchange/index.ts';
import type { GatewayState } from '../gateway-state.ts';
import {
  badDeadline,
  badRequest,
  expectationNotMet,
  foreignOrigin,
  headTooLarge,
  methodNotSupported,
  notGrpc,
  otherVersion,
  USUAL_METHODS,
  upgradeNotServed,
} from '../responses/index.ts';
import { restrictCaller } from './capacity.ts';
import { whereTo } from './find-route.ts';
import type { Gate, GateResult } from './gate.ts';
import { recallToken } from './identify.ts';
import { consume } from './limit.ts';

/** Step 2: rejects a head that is too large, not for this gateway, or open to more than one reading. */
export function readHead(exchange: Exchange): GateResult {
  const { fields, framing, memory } = exchange.downstream;
  if (fields.length > exchange.snapshot.caps.fields * 2) return headTooLarge();
  if (typeof framing.bodyLength === 'object') return badRequest(framing.bodyLength.rejected);
  if (memory.arrival === exchange.arrival) return null;
  const result = judgeFields(exchange);
  if (result === null) memory.arrival = exchange.arrival;
  return result;
}

function judgeFields({ head }: Exchange): GateResult {
  if (head.doubled !== null) return badRequest(`the header field "${head.doubled}" came twice`);
  if (head.host !== null && isPlainHost(head.host)) return null;
  return badRequest('the Host header is missing or not a plain host');
}

/** Reads how far an OPTIONS may go (RFC 9110, 7.6.2). With other methods the field is ignored and passed on unchanged. */
export function readOptions(exchange: Exchange): GateResult {
  if (exchange.downstream.method !== 'OPTIONS') return null;
  // Reads all fields, not only those kept: a client could hide `Max-Forwards` by naming it in `Connection` (RFC 9110, 7.6.1).
  const maxForwards = readMaxForwards(exchange.downstream.fields);
  if (typeof maxForwards === 'object' && maxForwards !== null) return badRequest(maxForwards.rejected);
  exchange.maxForwards = maxForwards;
  return null;
}

/**
 * Refuses TRACE, which would show a client what the gateway adds, CONNECT, which would make it a tunnel, and methods that Node
 * does not know.
 */
export function refuseMethod(exchange: Exchange): GateResult {
  if (isRoutable(exchange.downstream.method)) return null;
  // Only tells which methods there are, since the gateway's own endpoints have others. No route serves the request.
  const { route } = whereTo(exchange);
  return methodNotSupported(route === null || route.kind === 'forward' ? USUAL_METHODS : route.methods);
}

/** Starts the time that the client gives the exchange, where its protocol has a way to say so. */
export function startDeadline(exchange: Exchange): GateResult {
  const timeoutMs = exchange.dialect.timeoutMs(exchange.head.kept);
  if (timeoutMs === null) return null;
  if (typeof timeoutMs === 'object') return badDeadline(timeoutMs.rejected);
  exchange.deadline = exchange.clock.after(timeoutMs, () => exchange.expire());
  return null;
}

/** Accepts only upgrades that the route serves. */
export function judgeUpgrade(exchange: Exchange): GateResult {
  const { downstream } = exchange;
  if (downstream.framing.upgrade === 'none') return null;
  exchange.protocol = downstream.framing.upgrade;
  const { route } = exchange.destination;
  if (route?.kind !== 'forward' || route.websocket === null) return upgradeNotServed();
  const fault = judgeHandshake(downstream.method, exchange.bodyLength, exchange.head.kept);
  if (fault === 'version') return otherVersion();
  if (fault !== null) return badRequest(fault.refused);
  if (!mayUse(exchange, route)) return foreignOrigin();
  return null;
}

/**
 * Browsers open WebSockets without a preflight and send cookies with them. Only this check keeps other sites' pages out
 * (RFC 6455, 10.2).
 */
function mayUse({ snapshot, head, downstream }: Exchange, route: ForwardRoute): boolean {
  if (snapshot.cors === null || !route.cors) return true;
  // Reads all fields, not only those kept: naming Origin in `Connection` must not hide it (RFC 9110, 7.6.1).
  return mayConnect(snapshot.cors, downstream.fields, head.forwardedHost ?? head.host ?? '');
}

/** The request cannot be read with certainty, so nothing is counted for it. */
const BAD_REQUEST = 400;

/**
 * Makes a request that a gate before the limits refuses consume a unit of its sender's global limit: scans for paths and methods
 * count as any other request, and get 429 beyond the limit.
 */
export function consumeIfRefused(gate: (exchange: Exchange, state: GatewayState) => GateResult): Gate {
  return (exchange, state) => {
    const refusal = gate(exchange, state);
    return refusal === null || refusal.status === BAD_REQUEST
      ? refusal
      : refuseAndConsume(refusal, exchange, state);
  };
}

/** Verifies no token: the sender is the caller if its token is remembered, else the address. */
function refuseAndConsume(
  refusal: GatewayError,
  exchange: Exchange,
  state: GatewayState,
): GateResult | Promise<GateResult> {
  if (!exchange.destination.isPreflight) recallToken(exchange);
  const restricted = restrictCaller(exchange, state);
  if (restricted !== null) return restricted;
  const callerClass = exchange.caller?.kind ?? 'address';
  const claim = globalClaim(exchange.snapshot.limits, callerClass, exchange.callerKey);
  const limited = consume(exchange, claim, state);
  return limited instanceof Promise ? limited.then(awaited => awaited ?? refusal) : (limited ?? refusal);
}

/** Refuses an expectation other than `100-continue` (RFC 9110, 10.1.1). */
export function refuseExpectation({ downstream }: Exchange): GateResult {
  return downstream.framing.expectation === 'unknown' ? expectationNotMet() : null;
}

/** Refuses everything but gRPC calls on a listener that serves nothing else. */
export function refuseForeign({ downstream, protocol }: Exchange): GateResult {
  return downstream.onlyCalls && protocol !== 'grpc' ? notGrpc() : null;
}

import { readMaxForwards } from '../../wire/http/index.ts';
import type { Exchange } from '../exchange/index.ts';
import { errors } from '../responses/index.ts';
import type { GateResult } from './gate.ts';

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

/** Reads how far an OPTIONS may be forwarded (RFC 9110, 7.6.2). With other methods the field is passed on unchanged. */
export function readOptions(exchange: Exchange): GateResult {
  if (exchange.downstream.method !== 'OPTIONS') return null;
  // Reads all fields, not only those that remain: `Connection` must not hide `Max-Forwards` (RFC 9110, 7.6.1).
  const maxForwards = readMaxForwards(exchange.downstream.fields);
  if (typeof maxForwards === 'object' && maxForwards !== null) return errors.badRequest(maxForwards.rejected);
  exchange.maxForwards = maxForwards;
  return null;
}

/** Starts the client's deadline for the exchange, if its protocol has one. */
export function startDeadline(exchange: Exchange): GateResult {
  const timeoutMs = exchange.dialect.timeoutMs(exchange.head.kept);
  if (timeoutMs === null) return null;
  if (typeof timeoutMs === 'object') return errors.badCall(timeoutMs.rejected);
  exchange.deadline = exchange.clock.after(timeoutMs, () => exchange.expire());
  return null;
}

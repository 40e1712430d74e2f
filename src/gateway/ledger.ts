import type { ExchangeRecord, GatewayError } from '../core/index.ts';
import type { Exchange } from './exchange.ts';

/** What there is to say of an exchange at its end. */
export function recordOf(exchange: Exchange, nowMs: number): ExchangeRecord {
  const { sentUpstreamAtMs, answeredUpstreamAtMs } = exchange;
  return {
    requestId: exchange.requestId,
    arrivedAtMs: exchange.arrivedAtMs,
    sequence: exchange.sequence,
    method: exchange.downstream.method,
    route: exchange.route?.id ?? null,
    upstream: exchange.permitUpstream,
    clientAddress: exchange.clientAddress,
    status: exchange.status,
    outcome: exchange.outcome,
    bytesReceived: exchange.downstream.bytesReceived,
    bytesSent: exchange.bytesSent,
    durationMs: nowMs - exchange.startedAtMs,
    upstreamMs:
      sentUpstreamAtMs === null || answeredUpstreamAtMs === null
        ? null
        : answeredUpstreamAtMs - sentUpstreamAtMs,
    retried: exchange.retried,
    error: exchange.error === null ? null : describe(exchange.error),
  };
}

/** The record of bytes that never became a request. */
export function refusalRecord(
  peer: string,
  error: GatewayError,
  requestId: string,
  sequence: number,
  nowMs: number,
): ExchangeRecord {
  return {
    requestId,
    arrivedAtMs: nowMs,
    sequence,
    method: '',
    route: null,
    upstream: null,
    clientAddress: peer,
    status: error.status,
    outcome: 'answered',
    bytesReceived: 0,
    bytesSent: 0,
    durationMs: 0,
    upstreamMs: null,
    retried: false,
    error: describe(error),
  };
}

function describe(error: GatewayError): ExchangeRecord['error'] {
  const { cause } = error;
  return {
    message: error.message,
    side: error.side,
    cause: cause === undefined ? null : describeCause(cause),
  };
}

/** The code and message of a fault; a stack only where the fault is our own, since others' say nothing new. */
function describeCause(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const code = (cause as NodeJS.ErrnoException).code;
  return code === undefined ? (cause.stack ?? cause.message) : `${code}: ${cause.message}`;
}

import type { ErrorSide, ExchangeRecord, GatewayError } from '../core/index.ts';
import { RateLimitError } from './answers/index.ts';
import type { Exchange } from './exchange.ts';
import { webhookOf } from './gates/index.ts';
import type { GatewayState } from './gateway-state.ts';

/** What an exchange leaves behind in the counters of limits and offences. */
export function settle(exchange: Exchange, { limiting }: GatewayState): void {
  const { status, resourceUnit, route } = exchange;
  const byUpstream = exchange.answeredUpstreamAtMs !== null;
  // People without access must not use up what those who have it share.
  if (resourceUnit !== null && byUpstream && (status === 401 || status === 403 || status === 404)) {
    limiting.store.refund(resourceUnit.limit, resourceUnit.main, resourceUnit.window);
  }
  if (status === 404 && byUpstream && !exchange.isPreflight && route?.kind === 'forward' && route.webhook) {
    limiting.webhookNotFound.note(exchange.addressKey, webhookOf(exchange));
  }
  if (!isInvalid(exchange)) return;
  limiting.listener.invalid(status);
  limiting.invalidRequests.note(exchange.addressKey);
}

/** Final status 401, 403 or 429, but not where a restriction answered or others share the blame (docs/contract.md, 5.1). */
function isInvalid({ status, error, refusedScope, isPreflight }: Exchange): boolean {
  if (isPreflight) return false;
  if (status === 401 || status === 403) return true;
  if (status !== 429 || refusedScope === 'shared') return false;
  return !(error instanceof RateLimitError && error.byRestriction);
}

/** What there is to say of an exchange at its end. */
export function recordOf(exchange: Exchange, nowMs: number): ExchangeRecord {
  const { sentUpstreamAtMs, answeredUpstreamAtMs, noPermit } = exchange;
  return {
    requestId: exchange.requestId,
    arrivedAtMs: exchange.arrivedAtMs,
    sequence: exchange.sequence,
    method: exchange.downstream.method,
    route: exchange.route?.id ?? null,
    upstream: sentUpstreamAtMs === null && noPermit === null ? null : exchange.upstream,
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
    caller: { class: exchange.caller?.kind ?? 'address', principal: exchange.caller?.principal ?? null },
    tokenRefused: exchange.refusedToken,
    decision: exchange.decision,
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
    caller: { class: 'address', principal: null },
    tokenRefused: null,
    decision: null,
    retried: false,
    error: describe(error),
  };
}

function describe(error: GatewayError): ExchangeRecord['error'] {
  const { cause } = error;
  return {
    message: error.message,
    side: error.side,
    cap: error.cap,
    cause: cause === undefined ? null : describeCause(cause, error.side),
  };
}

/** The code and message of a fault; a stack only where the fault is our own, since others' say nothing new. */
function describeCause(cause: unknown, side: ErrorSide): string {
  if (!(cause instanceof Error)) return String(cause);
  const code = (cause as NodeJS.ErrnoException).code;
  if (code !== undefined) return `${code}: ${cause.message}`;
  return side === 'gateway' ? (cause.stack ?? cause.message) : cause.message;
}

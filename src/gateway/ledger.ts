import {
  type ErrorSide,
  type ExchangeRecord,
  firstValue,
  type GatewayError,
  type Outcome,
  type Protocol,
  type TokenRefusal,
} from '../core/index.ts';
import type { Limiting } from '../runtime/index.ts';
import { type Exchange, type ResourceUnit, webhookOf } from './exchange/index.ts';
import type { GatewayState } from './gateway-state.ts';

/** Settles an exchange with the limits and offences: returns units and counts what it did wrong. */
export function settle(exchange: Exchange, { limiting }: GatewayState): void {
  const { destination, ruling, addressKey } = exchange;
  const { meaning: status } = exchange.response;
  if (exchange.upstreamLeg !== null && exchange.upstreamLeg.answeredAtMs !== null) {
    // Callers without access must not use up what those with access share.
    if (ruling !== null && (status === 401 || status === 403 || status === 404)) {
      refund(ruling.resourceUnit, limiting);
      refund(ruling.shadowUnit, limiting);
    }
    const { route, params, isPreflight } = destination;
    if (
      status === 404 &&
      !isPreflight &&
      route?.kind === 'forward' &&
      route.webhook &&
      !isSpared(exchange, limiting)
    )
      limiting.webhookNotFound.note(addressKey, webhookOf(route, params));
  }
  if (!isInvalid(exchange)) return;
  limiting.listener.invalid(status);
  if (!isSpared(exchange, limiting)) limiting.invalidRequests.note(addressKey);
}

/** Nothing that a caller under `never_restrict` sends counts against its address. */
function isSpared({ caller }: Exchange, { restrictions }: Limiting): boolean {
  return caller !== null && restrictions.isExempt(caller.principal);
}

function refund(unit: ResourceUnit | null, { store }: Limiting): void {
  if (unit !== null) store.refund(unit.limit, unit.main, unit.window);
}

/** Final status 401, 403 or 429, unless a restriction answered or others share the blame (docs/contract.md, 5.1). */
function isInvalid({ response, destination }: Exchange): boolean {
  const { meaning: status, limitedBy } = response;
  if (destination.isPreflight) return false;
  if (status === 401 || status === 403) return true;
  return status === 429 && limitedBy !== 'shared' && limitedBy !== 'restriction';
}

/** The record of an exchange at its end. */
export function recordOf(exchange: Exchange, nowMs: number): ExchangeRecord {
  const { response, destination, arrival, downstream, upstreamLeg: leg, noRoom, caller } = exchange;
  return {
    requestId: exchange.requestId,
    arrivedAtMs: exchange.arrivedAtMs,
    sequence: exchange.sequence,
    protocol: exchange.protocol,
    method: downstream.method,
    path: destination.path.startsWith('/') ? destination.path : null,
    route: destination.route === null ? null : destination.route.id,
    upstream: leg?.upstream ?? noRoom?.upstream ?? null,
    clientAddress: arrival.clientAddress,
    status: response.status,
    grpcStatus: response.grpcStatus,
    outcome: response.outcome,
    bytesReceived: downstream.bytesReceived,
    bytesSent: response.bytesSent,
    durationMs: nowMs - exchange.startedAtMs,
    upstreamMs: leg === null || leg.answeredAtMs === null ? null : leg.answeredAtMs - leg.sentAtMs,
    caller: { class: caller?.kind ?? 'address', principal: caller?.principal ?? null },
    tokenRefused: exchange.refusedToken,
    decision: exchange.ruling,
    heldMs: exchange.heldMs,
    sentAfterMs: leg === null ? null : leg.sentAtMs - exchange.startedAtMs,
    trace: exchange.trace,
    shadowRefusals: exchange.shadowRefusals,
    userAgent: exchange.snapshot.log.userAgent ? (firstValue(downstream.fields, 'user-agent') ?? null) : null,
    lasted: exchange.lasted,
    retried: leg?.repeated ?? false,
    error: response.error === null ? null : describe(response.error),
  };
}

/** How a WebSocket ended. */
export interface SocketEnd {
  readonly outcome: Outcome;
  readonly bytesReceived: number;
  readonly bytesSent: number;
  readonly durationMs: number;
  readonly tokenRefused: TokenRefusal | null;
  readonly error: GatewayError | null;
}

/** The record of a request that became a WebSocket, at the end of that. */
export function recordOfSocket(begun: ExchangeRecord, end: SocketEnd): ExchangeRecord {
  return { ...begun, ...end, error: end.error === null ? null : describe(end.error) };
}

/** The sender of bytes that never became a request. */
export interface Refused {
  readonly peer: string;
  readonly protocol: Protocol;
}

/** The record of bytes that never became a request. */
export function refusalRecord(
  { peer, protocol }: Refused,
  error: GatewayError,
  requestId: string,
  sequence: number,
  nowMs: number,
): ExchangeRecord {
  return {
    requestId,
    arrivedAtMs: nowMs,
    sequence,
    protocol,
    method: '',
    path: null,
    route: null,
    upstream: null,
    clientAddress: peer,
    status: error.status,
    grpcStatus: null,
    outcome: 'answered',
    bytesReceived: 0,
    bytesSent: 0,
    durationMs: 0,
    upstreamMs: null,
    caller: { class: 'address', principal: null },
    tokenRefused: null,
    decision: null,
    heldMs: 0,
    sentAfterMs: null,
    trace: null,
    shadowRefusals: [],
    userAgent: null,
    lasted: false,
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

/** The code and message of a fault; the stack only for the gateway's own faults, where it says more. */
function describeCause(cause: unknown, side: ErrorSide): string {
  if (!(cause instanceof Error)) return String(cause);
  const code = (cause as NodeJS.ErrnoException).code;
  if (code !== undefined) return `${code}: ${cause.message}`;
  return side === 'gateway' ? (cause.stack ?? cause.message) : cause.message;
}

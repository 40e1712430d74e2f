import { isInvalid, unitsReturnedBy } from '../config/index.ts';
import type * as core from '../core/index.ts';
import { firstValue } from '../core/index.ts';
import { type Caller, shortfallOf } from '../identity/auth/index.ts';
import { type Exchange, limitsConsumedBy, requirementAt } from './exchange/index.ts';
import { rememberedCaller } from './gates/index.ts';
import type { GatewayState } from './gateway-state.ts';
import { errors, RateLimitError } from './responses/index.ts';
import type { Limiting } from './runtime/index.ts';

/** Step 11: applies the outcome of an exchange: returns units if access was denied, and counts offences. */
export function applyOutcome(exchange: Exchange, state: GatewayState): void {
  const { limiting } = state;
  const { destination, ruling, restrictedKey, webhook, response } = exchange;
  const { meaning: status, limitedBy } = response;
  const isOfService = exchange.upstreamLeg !== null && exchange.upstreamLeg.answeredAtMs !== null;
  if (ruling !== null && ruling.units.length > 0) {
    // Without this, callers without access could use up units that they share with callers who have it.
    const returned = unitsReturnedBy(exchange.statusToReturn, isOfService, ruling.units, ruling.returnsTo);
    for (const { limit, part, window, cost, caller } of returned)
      limiting.store.refund(limit, part, window, cost, caller);
    if (returned.length > 0) {
      exchange.returnedAtMs = limiting.local.nowMs();
      exchange.ruling = { ...ruling, units: ruling.units.filter(each => !returned.includes(each)) };
    }
  }
  if (isOfService) {
    if (status === 404 && webhook !== '' && !destination.isPreflight) {
      noteOffence(exchange, state, () => limiting.offences.webhookNotFound.note(restrictedKey, webhook));
    }
  }
  if (!isInvalid(status, limitedBy, destination.isPreflight)) return;
  limiting.listener.invalid(status);
  noteOffence(exchange, state, () => limiting.offences.invalidRequests.note(restrictedKey));
}

/** Step 11: charges the price of a request once it is known: consumes what was not reserved, or returns what is left. */
export function applyPrice(
  exchange: Exchange,
  { limiting }: GatewayState,
  price: number,
  outcome: core.PriceOutcome | null,
): void {
  const { ruling } = exchange;
  if (ruling === null || ruling.price === null) return;
  exchange.price = price;
  const units = ruling.units.map(each => (each.limit.isPriced ? { ...each, cost: price } : each));
  for (const { limit, part, window, cost, caller } of ruling.units)
    if (limit.isPriced && cost !== price) limiting.store.refund(limit, part, window, cost - price, caller);
  exchange.ruling = { ...ruling, units, ...ruling.price.describeAt(price) };
  const { field } = ruling.price;
  if (outcome !== null && ruling.bucket !== null)
    limiting.listener.priced({ bucket: ruling.bucket, outcome, field });
}

/**
 * True if the exchange cannot be an offence: the caller is under `never_restrict`, so its requests do not count against its address
 * either.
 */
function isSpared({ caller }: Exchange, { restrictions }: Limiting): boolean {
  return caller !== null && restrictions.isExempt(caller.principal);
}

function noteOffence(exchange: Exchange, { limiting }: GatewayState, count: () => void): void {
  exchange.offenceAtMs = limiting.local.nowMs();
  if (!isSpared(exchange, limiting)) count();
}

/**
 * The path to log as it is; `null` if its parameters are secret, as a webhook's are, or if it was never parsed. Paths that cannot
 * be routed (400) or match no route (404) are logged as received.
 */
function plainPathOf({ destination: { path }, response, downstream, snapshot }: Exchange): string | null {
  if (!path.startsWith('/') && response.status !== 400 && response.status !== 404) return null;
  const [, asked = ''] = /^(?:[a-z][a-z0-9+.-]*:\/\/[^/?#]*)?([^?#]*)/is.exec(downstream.target) ?? [];
  const written = path.startsWith('/') ? path : asked;
  // Also if the method, an extra slash or http instead of https led to another destination.
  return snapshot.webhookPaths.isIn(written) ? null : written;
}

/** The record of an exchange, at its end or so far. */
export function recordOf(exchange: Exchange, nowMs: number): core.ExchangeRecord {
  const { response, destination, arrival, downstream, upstreamLeg: leg, noRoom, snapshot } = exchange;
  const by = restrictedBy(exchange);
  const caller = by === null ? exchange.caller : rememberedCaller(exchange);
  const { callers: spared } = snapshot.limits.neverRestrict;
  return {
    requestId: exchange.requestId,
    arrivedAtMs: exchange.arrivedAtMs,
    sequence: exchange.sequence,
    protocol: exchange.protocol,
    method: downstream.method,
    host: snapshot.log.hosts === null ? null : snapshot.log.hosts.nameOf(exchange.host),
    path: destination.path.startsWith('/') ? destination.path : null,
    plainPath: snapshot.log.plainPaths ? plainPathOf(exchange) : null,
    route: destination.route === null ? null : destination.route.id,
    upstream: leg?.upstream ?? noRoom?.upstream ?? null,
    clientAddress: arrival.client.address,
    status: response.status,
    grpcStatus: response.grpcStatus,
    outcome: response.outcome,
    bytesReceived: downstream.bytesReceived,
    bytesSent: response.bytesSent,
    durationMs: nowMs - exchange.startedAtMs,
    upstreamMs: leg === null || leg.answeredAtMs === null ? null : leg.answeredAtMs - leg.sentAtMs,
    endpoint: leg?.endpoint ?? null,
    caller: { class: caller === null ? 'address' : caller.class, principal: caller?.principal ?? null },
    claimed: caller === null || snapshot.limits.claims === null ? null : snapshot.limits.claims.of(caller),
    tokenRefused: exchange.refusedToken,
    decision: exchange.ruling,
    restriction: by === null ? null : restrictionRecord(exchange, by, caller),
    offenceAtMs: exchange.offenceAtMs,
    returnedAtMs: exchange.returnedAtMs,
    price: exchange.price,
    scopeOf429: scopeOf429(exchange),
    isPreflight: destination.isPreflight,
    webhook: exchange.webhook,
    isSpared: caller !== null && spared.size > 0 && spared.has(caller.principal),
    heldMs: exchange.heldMs,
    sentAfterMs: leg === null ? null : leg.sentAtMs - exchange.startedAtMs,
    trace: exchange.trace,
    shadowRefusals: exchange.shadowRefusals,
    userAgent: snapshot.log.userAgent ? (firstValue(downstream.fields, 'user-agent') ?? null) : null,
    lasted: exchange.lasted,
    retried: leg?.repeated ?? false,
    error: response.error === null ? null : describe(response.error),
  };
}

/** Step 12d: the record of a finished exchange. A fault here must not end the process, nor leave the exchange uncounted. */
export function lastRecordOf(exchange: Exchange, nowMs: number): core.ExchangeRecord {
  try {
    return recordOf(exchange, nowMs);
  } catch (fault) {
    const { downstream, protocol, requestId, sequence, arrivedAtMs, startedAtMs, response } = exchange;
    const sender = { peer: downstream.peer, protocol };
    return {
      ...refusalRecord(sender, errors.internalFault(fault), requestId, sequence, arrivedAtMs),
      status: response.status,
      outcome: response.outcome,
      durationMs: nowMs - startedAtMs,
    };
  }
}

/** Which restriction refused the request before its limits were checked; `null` if none did. */
function restrictedBy({ response: { error }, ruling }: Exchange): core.RestrictionRecord['by'] | null {
  return ruling === null && error instanceof RateLimitError ? error.restrictedBy : null;
}

/** What a replay needs to check the limits of a request that a restriction refused. */
function restrictionRecord(
  { destination, authorization }: Exchange,
  by: core.RestrictionRecord['by'],
  caller: Caller | null,
): core.RestrictionRecord {
  const mayHaveCaller = destination.authentication !== 'none' && authorization !== null;
  // Treats an unknown caller as a user, who consumes the route's bucket.
  const requirement = requirementAt(destination);
  const shortfall = caller === null || requirement === null ? null : shortfallOf(caller, requirement);
  const callerClass = caller !== null || mayHaveCaller ? 'user' : 'address';
  const consumes = limitsConsumedBy(callerClass, destination, shortfall);
  return { by, consumes, isCallerUnknown: caller === null && mayHaveCaller };
}

/** The scope of a 429 from the service, or of a gRPC call that it ended with RESOURCE_EXHAUSTED. */
function scopeOf429({ response, upstreamLeg }: Exchange): core.ExchangeRecord['scopeOf429'] {
  const { limitedBy } = response;
  const isService = response.error === null && upstreamLeg !== null && upstreamLeg.answeredAtMs !== null;
  return isService && limitedBy !== 'restriction' ? limitedBy : null;
}

type SocketEnd = Pick<
  core.ExchangeRecord,
  'outcome' | 'bytesReceived' | 'bytesSent' | 'durationMs' | 'tokenRefused'
> & { readonly error: core.GatewayError | null };

/** The record of a request that became a WebSocket, made when that ends. */
export function recordOfSocket(begun: core.ExchangeRecord, end: SocketEnd): core.ExchangeRecord {
  return { ...begun, ...end, error: end.error === null ? null : describe(end.error) };
}

/** The sender of bytes that never became a request. */
export interface Refused {
  readonly peer: string;
  readonly protocol: core.Protocol;
}

/** The record of bytes that never became a request. */
export function refusalRecord(
  { peer, protocol }: Refused,
  error: core.GatewayError,
  requestId: string,
  sequence: number,
  nowMs: number,
): core.ExchangeRecord {
  return {
    requestId,
    arrivedAtMs: nowMs,
    sequence,
    protocol,
    method: '',
    host: null,
    path: null,
    plainPath: null,
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
    endpoint: null,
    caller: { class: 'address', principal: null },
    claimed: null,
    tokenRefused: null,
    decision: null,
    restriction: null,
    offenceAtMs: 0,
    returnedAtMs: 0,
    price: null,
    scopeOf429: null,
    isPreflight: false,
    webhook: '',
    isSpared: false,
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

function describe(error: core.GatewayError): core.ExchangeRecord['error'] {
  const { cause } = error;
  return {
    message: error.message,
    side: error.side,
    cap: error.cap,
    cause: cause === undefined ? null : describeCause(cause, error.side),
  };
}

/** Returns the code and message of a fault, or the stack for the gateway's own faults. */
function describeCause(cause: unknown, side: core.ErrorSide): string {
  if (!(cause instanceof Error)) return String(cause);
  const code = (cause as NodeJS.ErrnoException).code;
  if (code !== undefined) return `${code}: ${cause.message}`;
  return side === 'gateway' ? (cause.stack ?? cause.message) : cause.message;
}

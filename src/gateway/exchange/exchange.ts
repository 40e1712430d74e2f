import type { BucketModel, ReturnableUnits, RouteModel, Snapshot } from '../../config/index.ts';
import { isOfFile, limitsOf } from '../../config/index.ts';
import type * as core from '../../core/index.ts';
import { equivalentStatusOf, GatewayError, NO_OWNERS } from '../../core/index.ts';
import type { Caller, Invalid, ProofOptions, Requirement, Shortfall } from '../../identity/auth/index.ts';
import type { Limit, Place } from '../../limits/index.ts';
import type { WebCall } from '../../wire/grpc-web/index.ts';
import { parseTarget, type RequestHead } from '../../wire/http/index.ts';
import type { GatewayState } from '../gateway-state.ts';
import type { RateReport } from '../responses/index.ts';
import {
  addOwnFields,
  addSetFields,
  asErrorPage,
  errors,
  nameResource,
  RateLimitError,
  reportsRate,
  withUnitsBack,
} from '../responses/index.ts';
import type { RequestGeneration } from '../runtime/index.ts';
import { readArrival } from './arrival.ts';
import type { Arrival, ValidToken } from './connection-memory.ts';
import { type Destination, NOWHERE } from './destination.ts';
import { type Dialect, dialectOf } from './dialect.ts';
import type { Downstream } from './downstream.ts';
import { type Price, priceIn, withoutPriceIn } from './price.ts';
import { ExchangeResponse, type Served } from './response.ts';
import { Standing } from './standing.ts';
import { beginTrace, type Trace } from './trace.ts';

const NOTHING: readonly core.ShadowRefuser[] = [];

/** Why an upstream accepts no further request, or none from this caller. */
interface NoRoom {
  readonly upstream: string;
  readonly error: GatewayError;
}

/** One request and its response. The request is known from the start; later parts name the gate that sets them. */
export class Exchange {
  readonly downstream: Downstream;
  readonly dialect: Dialect;
  /** Translates between the client's protocol and the upstream's; `null` if both are the same. */
  readonly translation: WebCall | null;
  /** The configuration it began with and the live parts that serve it. Kept to the end. */
  readonly generation: RequestGeneration;
  readonly snapshot: Snapshot;
  readonly clock: core.TimerClock;
  readonly sequence: number;
  readonly arrivedAtMs: number;
  readonly startedAtMs: number;
  readonly arrival: Arrival;
  readonly requestId: string;
  readonly response: ExchangeResponse;
  readonly #state: GatewayState;
  readonly #settler: Settler;
  #isSettled = false;
  #isPriced = false;
  #hasLeft = false;
  /** Its place in a trace; `null` if the gateway takes no part in traces. */
  readonly trace: Trace | null;

  /** The protocol for the record: the dialect's or the connection's, or `websocket` once an upgrade is asked for. */
  protocol: core.Protocol;
  /** Set by `capacity`: counts among all requests in flight, and among those of its address. */
  hasPermit = false;
  /** Set by `readOptions`: how many more times an OPTIONS may be forwarded; null without `Max-Forwards`. */
  maxForwards: number | null = null;
  /** Set by `findRoute`. */
  destination: Destination = NOWHERE;
  /**
   * Set when a gate before `findRoute` refuses the request: the route whose fields the response gets. The route's other policies do
   * not apply.
   */
  refusedOn: RouteModel | null = null;
  /** Set by `restrictWebhook`: the hash of the webhook called; '' if none. */
  webhook = '';
  /** When the exchange counted towards a restriction; 0 if it did not. */
  offenceAtMs = 0;
  /** The final cost; `null` if the response does not decide it, or if it is not known yet. */
  price: number | null = null;
  /** When a unit was returned to a resource limit because the upstream denied access; 0 if none was. */
  returnedAtMs = 0;
  /** Set by `startDeadline`: ends the exchange when the client's deadline passes. */
  deadline: core.Timer | null = null;
  /** Set by `findRoute`: a token that came outside of `Authorization`, written as that field's value; `null` if there is none. */
  placedToken: string | null = null;
  /** Set by `identify`: the caller's token; null if only the address is known. */
  token: ValidToken | null = null;
  /** Set by `identify`: why the token was refused; null if it is valid, not needed, or missing. */
  refusedToken: Invalid | null = null;
  /** Set by `identify`: a nonce that the client's next proof has to contain; `null` if it has one, or needs none. */
  freshNonce: string | null = null;
  /** Set by `judge`: what the token lacks for the route; `null` if nothing. */
  shortfall: Shortfall | null = null;
  /** Set by `upstreamCapacity`: the place among the requests to the upstream. */
  upstreamPermit: core.UpstreamPlace | null = null;
  /** Set by `upstreamCapacity` if the upstream is full, so that limits are checked but not consumed. */
  noRoom: NoRoom | null = null;
  /** Set by `limit`; null if limits were only checked. */
  ruling: Ruling | null = null;
  /**
   * Set by `limit`: the place among the caller's concurrent requests; `null` if the bucket does not limit them, or once another
   * owner has taken it over.
   */
  place: Place | null = null;
  /** Set by `limit`: the shadow limits that would have refused the request. */
  shadowRefusals: readonly core.ShadowRefuser[] = NOTHING;
  /** True once the admission has been recorded early, because the exchange takes long. */
  lasted = false;
  /** Set by `limit` while the request is held: removes it from the line. */
  leaveLine: (() => void) | null = null;
  /** Set by `limit`: how long the request was held. */
  heldMs = 0;
  /** Set by the terminal `forward`. */
  upstreamLeg: UpstreamLeg | null = null;
  #standing: Standing | null = null;

  // Step 1. Takes the current configuration once: a reload does not affect this exchange.
  constructor(downstream: Downstream, state: GatewayState, settler: Settler) {
    const { generation, clock } = state;
    this.downstream = downstream;
    this.#state = state;
    this.#settler = settler;
    this.arrival = readArrival(downstream, generation.snapshot, state);
    this.dialect = dialectOf(downstream, this.arrival.host, generation.snapshot.routes);
    this.translation = this.dialect.translation(downstream.fields);
    this.protocol = this.dialect.protocol ?? downstream.protocol;
    this.generation = generation;
    this.snapshot = generation.snapshot;
    this.clock = clock;
    this.sequence = ++state.sequence;
    this.arrivedAtMs = clock.epochMs();
    this.startedAtMs = clock.monotonicMs();
    this.requestId = acceptableRequestId(this.arrival.head.requestId) ?? state.nextRequestId();
    this.response = new ExchangeResponse(downstream, this.translation, this);
    const { tracing } = generation.snapshot;
    this.trace = tracing === null ? null : beginTrace(this.head, tracing.share, state.randomHex);
  }

  get head(): RequestHead {
    return this.arrival.head;
  }

  /** The value of `Authorization` that identifies the caller. */
  get authorization(): string | null {
    return this.placedToken ?? this.head.authorization;
  }

  /** The host used to choose routes; '' if missing, which is refused. Forwarding headers never change it. */
  get host(): string {
    return this.arrival.host ?? '';
  }

  get addressKey(): string {
    return this.arrival.client.key;
  }

  /** The key under which the address is restricted. */
  get restrictedKey(): string {
    return this.arrival.client.restricted.key;
  }

  get caller(): Caller | null {
    return this.token === null ? null : this.token.caller;
  }

  /** The class that decides the sender's limits. */
  get callerClass(): core.ClassName {
    return this.token === null ? 'address' : this.token.caller.class;
  }

  /** The key for the sender's limits and shares. */
  get callerKey(): string {
    return this.token === null ? this.arrival.client.key : this.token.caller.principal;
  }

  /** The owners of that key, who together get only a few shares. */
  get callerOwners(): readonly core.Owner[] {
    return this.token === null ? this.arrival.client.owners : NO_OWNERS;
  }

  /** The state of the bucket, for the client. */
  get rate(): RateReport | null {
    return this.ruling === null ? null : this.ruling.rate;
  }

  /** The same for a response with this status, which may give units back to the caller. */
  rateFor(status: number): RateReport | null {
    const { ruling, rate } = this;
    if (ruling === null || rate === null || ruling.returnsTo === null) return rate;
    const told = this.dialect.protocol === null ? status : this.statusToReturn;
    if (ruling.returnsTo.giveBack?.has(told) !== true) return rate;
    const { price, units } = ruling;
    // Once all units are returned, the request has cost nothing. Another window may then be the tightest one, which the fields
    // describe.
    const { rate: free, described } =
      price === null ? { rate, described: ruling.described } : price.describeAt(0);
    const drawn = units.find(({ limit }) => limit === described && (price === null || !limit.isPriced));
    return free === null ? null : withUnitsBack(free, drawn?.cost ?? 0, this.clock.monotonicMs());
  }

  /** The status that decides whether units are returned: for a call, the HTTP equivalent of its own; 0 while it is not known. */
  get statusToReturn(): number {
    const { grpcStatus, error, status } = this.response;
    if (error !== null) return error.status;
    if (this.dialect.protocol === null) return status;
    return grpcStatus === null ? 0 : equivalentStatusOf(grpcStatus);
  }

  /** True if responses carry `RateLimit` and `RateLimit-Policy`: an upstream's own fields would contradict them. */
  get sendsPolicies(): boolean {
    return this.snapshot.limits.policies !== null;
  }

  /** The length of the body; 0 if it is ambiguous, which the gate `readHead` rejects. */
  get bodyLength(): core.BodyLength {
    const { bodyLength } = this.downstream.framing;
    return typeof bodyLength === 'object' ? 0 : bodyLength;
  }

  /** True if tokens may be bound to a key, and this one was sent with the scheme of bound tokens (RFC 9449, 7.1). */
  get usesDpop(): boolean {
    const { authorization } = this;
    return this.dpop !== null && authorization !== null && /^dpop(?: |$)/i.test(authorization);
  }

  /** The rules for tokens that are bound to a key; `null` if there are none. */
  get dpop(): ProofOptions | null {
    return this.snapshot.identity === null ? null : this.snapshot.identity.dpop;
  }

  /** True unless the caller's token is bound to a certificate and the request came with a different one or none (RFC 8705, 3). */
  holdsCertificate({ certificate }: Caller): boolean {
    if (certificate === null) return true;
    const { downstream, head } = this;
    const shown = head.certificate ?? downstream.clientCertificate;
    return shown !== null && downstream.memory.thumbprintOf(shown) === certificate;
  }

  /** The minimum average rate, in bytes per second, at which the client must read the response; `null` for no minimum. */
  get minReadRate(): number | null {
    const { route } = this.destination;
    return route?.kind === 'forward' ? route.minReadRate : this.snapshot.minReadRate;
  }

  /** True if it was refused because the process is overloaded. */
  get isShed(): boolean {
    return this.response.error !== null && this.response.error.cap === 'event_loop_delay';
  }

  /** The verdicts that allow it to continue. Created by the first sweep that needs them: most exchanges end before that. */
  get standing(): Standing {
    const { token, destination, arrival } = this;
    const isMade = this.#standing?.sender?.caller === token?.caller;
    if (this.#standing !== null && isMade) return this.#standing;
    const closeAtExpiry = destination.kind === 'forward' ? destination.route.closeAtExpiry : null;
    this.#standing = new Standing(arrival.client, token, closeAtExpiry);
    return this.#standing;
  }

  /** Called when the client can take more. */
  drained(): void {
    this.upstreamLeg?.drained();
  }

  /** Ends the exchange because the client's deadline has passed. */
  expire(): void {
    if (!this.response.isWhole) this.fault(errors.deadlineExceeded());
  }

  /**
   * Ends a running exchange with an error, which is the gateway's or the client's fault: stops its work, then answers. An error not
   * meant for clients is logged, and the client only learns that the gateway failed. Never throws: no caller would catch it.
   */
  fault(fault: unknown): void {
    const error = fault instanceof GatewayError ? fault : errors.internalFault(fault);
    try {
      this.stop();
      this.answerError(error);
    } catch (second) {
      this.response.error ??= errors.internalFault(second);
      this.response.outcome = 'truncated';
      this.downstream.abort('gateway');
    }
  }

  /** Runs a function that no caller would catch, such as a timer's, and ends the exchange if it throws. */
  contain(act: () => void): void {
    try {
      act();
    } catch (fault) {
      this.fault(fault);
    }
  }

  /** Stops all waits and work, and releases the place at the upstream. Idempotent. */
  stop(): void {
    this.leaveLine?.();
    this.upstreamLeg?.abandoned();
    this.upstreamPermit?.giveBack();
  }

  /** Called when the head of a response is about to be sent. A call only gets its status at the end. */
  begun(): void {
    if (this.dialect.protocol === null) this.settle();
  }

  /**
   * Called when the complete response has arrived. Only the client can delay its delivery, so the exchange gives up its places
   * among the requests in flight and at the upstream.
   */
  whole(): void {
    this.settle();
    this.#settlePrice();
    this.upstreamPermit?.giveBack();
    this.leave();
  }

  /**
   * Reads the price of the request from the fields or trailers of its response, and charges it the first time. Returns the fields
   * for the client.
   */
  readPrice(fields: core.Fields): core.Fields {
    const price = this.#toldPrice;
    if (price === null) return fields;
    const told = priceIn(fields, price.field);
    if (told === 'wrong') this.#charge(price.reserve, 'wrong');
    else if (told !== 'untold') this.#charge(Math.min(told, price.most), 'told');
    return this.withoutPrice(fields);
  }

  /** The fields of a response for the client: without its price, unless the route passes that on. */
  withoutPrice(fields: core.Fields): core.Fields {
    const price = this.#toldPrice;
    return price === null || price.passes ? fields : withoutPriceIn(fields, price.field);
  }

  /** Called when the response is complete and has named no price: the reserved units are then the price. */
  priceUntold(): void {
    const price = this.#toldPrice;
    if (price !== null) this.#charge(price.reserve, 'untold');
  }

  /** Called at the end. If the client left or the stream broke before the price was known, the client pays the maximum. */
  #settlePrice(): void {
    if (this.#isPriced) return;
    const price = this.#toldPrice;
    if (price === null) this.#isPriced = true;
    else if (this.response.outcome === 'forwarded') this.#charge(price.reserve, 'untold');
    else if (this.upstreamLeg?.mayHaveActed === true) this.#charge(price.most, 'unknown');
    else this.#charge(price.reserve, null);
  }

  /** How the service names the price of the request; `null` if it does not. */
  get #toldPrice(): Price | null {
    return this.ruling === null ? null : this.ruling.price;
  }

  /** Charges a price; the first one counts. */
  #charge(cost: number, outcome: core.PriceOutcome | null): void {
    if (this.#isPriced) return;
    this.#isPriced = true;
    this.#settler.price(this, cost, outcome);
  }

  /** Applies the outcome once: when the status is known, or at the end if there never is one. */
  settle(): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#settler.settle(this);
  }

  /** Step 11, once the complete response has arrived: stops counting it as in flight, which makes room for others. Idempotent. */
  leave(): void {
    if (this.#hasLeft) return;
    this.#hasLeft = true;
    this.#state.inFlight--;
    if (this.hasPermit) this.#state.permits.giveBack(this.addressKey, this.arrival.client.owners);
  }

  /** Answers with an error. A response that has already begun can only be cut short. */
  answerError(error: GatewayError): Served {
    const { response, destination, dialect } = this;
    let via = true;
    if (error instanceof RateLimitError) {
      via = error.via;
      const scope = error.isShared ? 'shared' : error.scope;
      response.limitedBy = error.restrictedBy === null ? scope : 'restriction';
    }
    response.error = error;
    response.grpcStatus = dialect.codeOf(error);
    if (response.status !== 0) return response.cutShort(dialect.trailersFor(error));
    const object = dialect.render(error, destination.route?.kind === 'sign-in');
    const { errorPages: pages, resourceMetadata } = this.snapshot;
    const rendered =
      pages !== null && this.#mayBePage(error)
        ? asErrorPage(object, error, {
            pages,
            requestId: this.requestId,
            fields: this.downstream.fields,
          })
        : object;
    if (resourceMetadata !== null) nameResource(rendered.fields, resourceMetadata);
    addSetFields(rendered.fields, this.refusedOn === null ? destination : { route: this.refusedOn });
    addOwnFields(
      rendered.fields,
      this,
      reportsRate(error) ? this.rateFor(error.status) : null,
      via ? '1.1' : null,
    );
    return response.refuse(error.status, rendered);
  }

  /** Whether browsers may get a page: never programs that call the gateway's own endpoints, nor in place of a 429. */
  #mayBePage({ status }: GatewayError): boolean {
    const { method, target } = this.downstream;
    // Calls of gRPC are POSTs.
    if (status === 429 || (method !== 'GET' && method !== 'HEAD')) return false;
    const { destination, snapshot } = this;
    // An exchange that was refused early has no route yet.
    const found = destination.route === null ? parseTarget(target, this.head.host ?? '') : null;
    const route =
      found === null || 'rejected' in found
        ? destination.route
        : (snapshot.routes.find(method, this.host, found.path)?.value ?? null);
    return route === null || isOfFile(route);
  }
}

function acceptableRequestId(id: string | null): string | null {
  return id !== null && /^[A-Za-z0-9._-]{1,64}$/.test(id) ? id : null;
}

/**
 * The limits that a request of this class consumes, by the policies of its route.
 *
 * @param shortfall what the caller's token lacks there: then no bucket is consumed, as without a token
 */
export function limitsConsumedBy(
  callerClass: core.ClassName,
  { kind, route, authentication, isPreflight }: Destination,
  shortfall: Shortfall | null,
): core.ConsumedLimits {
  // An OPTIONS request about the gateway itself costs next to nothing.
  if (kind === 'options' && route === null) return 'none';
  // The gateway answers preflights itself at little cost, and a page sends many: they must not use up the limits of its requests.
  if (kind === 'preflight') return 'preflights';
  // A preflight carries no token, so its route's policies do not apply to it.
  if (isPreflight || route === null) return 'global';
  const exempt = isOfFile(route) && route.globalLimitExempt;
  // No service is involved, so a redirect by the gateway consumes no units of a bucket.
  if (kind === 'slash') return exempt ? 'none' : 'global';
  return limitsOf(authentication, shortfall === null ? callerClass : 'address', exempt);
}

/** What the route requires of its callers; `null` if nothing. A preflight carries no token, so nothing is required of it. */
export function requirementAt({ kind, route, isPreflight }: Destination): Requirement | null {
  return isPreflight || kind === 'slash' || !isOfFile(route) ? null : route.requirement;
}

/** The part of an exchange between the gateway and its upstream. */
export interface UpstreamLeg {
  readonly upstream: string;
  readonly sentAtMs: number;
  /** When the head of the upstream's response arrived; `null` before. */
  readonly answeredAtMs: number | null;
  /** The address of the last attempt, as `host:port`; `null` if the upstream has only one. */
  readonly endpoint: string | null;
  /** True if the request was sent a second time. */
  readonly repeated: boolean;
  /** True once it was sent, unless the upstream has certainly not acted on it. */
  readonly mayHaveActed: boolean;
  /** Bytes of memory that hold parts of the response for the client. */
  readonly heldBytes: number;
  /** Called when the client can take more. */
  drained(): void;
  /** Called when a body that is read in advance is complete. */
  bodyReady(): void;
  /** Stops all work for the client. Idempotent. */
  abandoned(): void;
}

/** Applies the consequences of a response, independent of its delivery. Must not throw. */
export interface Settler {
  /** Applies the outcome to limits: returns units, and counts offences. */
  settle(exchange: Exchange): void;
  /**
   * Charges the price.
   *
   * @param outcome how it became known; `null` if no service was asked
   */
  price(exchange: Exchange, price: number, outcome: core.PriceOutcome | null): void;
}

/** The decision of the limits: for the response, the record, and the units to return once the status is known. */
interface Ruling extends core.DecisionRecord {
  /** The state of the bucket, for the client; `null` if no bucket applied. */
  readonly rate: RateReport | null;
  /** Consumed units that the status may return (`unitsReturnedBy`), and the bucket of their limits; `null` if none. */
  readonly units: readonly ReturnableUnits[];
  readonly returnsTo: BucketModel | null;
  /** The limit that `rate` describes; `null` if there is none. */
  readonly described: Limit | null;
  /** How the service names the price of the request; `null` if it does not. */
  readonly price: Price | null;
}

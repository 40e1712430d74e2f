import type { BucketModel, LimitedBy, ReturnableUnits, RouteModel, Snapshot } from '../../config/index.ts';
import { isOfFile, limitsOf } from '../../config/index.ts';
import type * as core from '../../core/index.ts';
import { equivalentStatusOf, GatewayError, NO_OWNERS, ownString } from '../../core/index.ts';
import type { Caller, Invalid, ProofOptions, Requirement, Shortfall } from '../../identity/auth/index.ts';
import type { Limit, Place } from '../../limits/index.ts';
import type { RequestGeneration } from '../../process/runtime/index.ts';
import type { WebCall } from '../../wire/grpc-web/index.ts';
import { canonicalHost, forwardedClient, parseTarget, RequestHead, readHost } from '../../wire/http/index.ts';
import type { GatewayState } from '../gateway-state.ts';
import type { RateReport, RenderedResponse } from '../responses/index.ts';
import {
  addOwnFields,
  addSetFields,
  asErrorPage,
  errors,
  httpStatusOf,
  nameResource,
  RateLimitError,
  reportsRate,
  withUnitsBack,
} from '../responses/index.ts';
import type { Arrival, ValidToken } from './connection-memory.ts';
import { type Destination, NOWHERE } from './destination.ts';
import { type Dialect, dialectOf } from './dialect.ts';
import type { Downstream, Successor } from './downstream.ts';
import { type Price, priceIn, withoutPriceIn } from './price.ts';
import { Standing } from './standing.ts';
import { beginTrace, type Trace } from './trace.ts';

const NOTHING: readonly core.ShadowRefuser[] = [];
const NO_FIELDS: core.Fields = [];

/** Why an upstream takes no further request, or none from this caller. */
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
   * Set when a gate before `findRoute` refuses the request: the route, whose fields the answer carries. The route's other
   * policies do not apply.
   */
  refusedOn: RouteModel | null = null;
  /** Set by `restrictWebhook`: the hash of the webhook called; '' if none. */
  webhook = '';
  /** When the exchange counted towards a restriction; 0 if it did not. */
  offenceAtMs = 0;
  /** What it cost in the end; `null` if that is not up to its response, or not known yet. */
  price: number | null = null;
  /** When a unit was returned to a resource limit because the upstream denied access; 0 if none was. */
  returnedAtMs = 0;
  /** Set by `startDeadline`: ends the exchange when the client's deadline passes. */
  deadline: core.Timer | null = null;
  /** Set by `findRoute`: a token from elsewhere than `Authorization`, as that field would say it; `null` if there is none. */
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

  /** The `Authorization` that says who calls. */
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

  /** The owners of that key, who may have only a few shares between them. */
  get callerOwners(): readonly core.Owner[] {
    return this.token === null ? this.arrival.client.owners : NO_OWNERS;
  }

  /** The state of the bucket, for the client. */
  get rate(): RateReport | null {
    return this.ruling === null ? null : this.ruling.rate;
  }

  /** The same in a response with this status: what that gives back to the caller is left again. */
  rateFor(status: number): RateReport | null {
    const { ruling, rate } = this;
    if (ruling === null || rate === null || ruling.returnsTo === null) return rate;
    const told = this.dialect.protocol === null ? status : this.statusToReturn;
    if (ruling.returnsTo.giveBack?.has(told) !== true) return rate;
    const { price, units } = ruling;
    // Once all is given back the request has cost nothing, and another window may be the tightest, which fields describe.
    const { rate: free, described } =
      price === null ? { rate, described: ruling.described } : price.describeAt(0);
    const drawn = units.find(({ limit }) => limit === described && (price === null || !limit.isPriced));
    return free === null ? null : withUnitsBack(free, drawn?.cost ?? 0, this.clock.monotonicMs());
  }

  /** The status by which units are returned: that of a call is the equivalent of its own; 0 while it is not known. */
  get statusToReturn(): number {
    const { grpcStatus, error, status } = this.response;
    if (error !== null) return error.status;
    if (this.dialect.protocol === null) return status;
    return grpcStatus === null ? 0 : equivalentStatusOf(grpcStatus);
  }

  /** True if responses carry `RateLimit` and `RateLimit-Policy`, which an upstream's own would contradict. */
  get sendsPolicies(): boolean {
    return this.snapshot.limits.policies !== null;
  }

  /** The length of the body; 0 if it is ambiguous, which the gate `readHead` rejects. */
  get bodyLength(): core.BodyLength {
    const { bodyLength } = this.downstream.framing;
    return typeof bodyLength === 'object' ? 0 : bodyLength;
  }

  /** True if tokens may be bound to a key, and this one came under the scheme of those (RFC 9449, 7.1). */
  get usesDpop(): boolean {
    const { authorization } = this;
    return this.dpop !== null && authorization !== null && /^dpop(?: |$)/i.test(authorization);
  }

  /** How tokens that are bound to a key are accepted; `null` if they are not. */
  get dpop(): ProofOptions | null {
    return this.snapshot.identity === null ? null : this.snapshot.identity.dpop;
  }

  /** True unless the caller's token is bound to a certificate and the request came with another or none (RFC 8705, 3). */
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
   * Ends a running exchange with an error: stops its work, then answers. An error not meant for clients is logged, and the client
   * only learns that the gateway failed. Never throws: no caller would catch it.
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
    this.#settler.leave(this);
  }

  /**
   * Reads the price of the request out of the fields or trailers of its response, and charges it when it is first told. Returns
   * what may go on to the client.
   */
  readPrice(fields: core.Fields): core.Fields {
    const price = this.#toldPrice;
    if (price === null) return fields;
    const told = priceIn(fields, price.field);
    if (told === 'wrong') this.#charge(price.reserve, 'wrong');
    else if (told !== 'untold') this.#charge(Math.min(told, price.most), 'told');
    return this.withoutPrice(fields);
  }

  /** The fields of a response that may go on to the client: without its price, unless that passes. */
  withoutPrice(fields: core.Fields): core.Fields {
    const price = this.#toldPrice;
    return price === null || price.passes ? fields : withoutPriceIn(fields, price.field);
  }

  /** Called when nothing more can tell the price, although the response is complete: what was reserved stands. */
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

  /** How the response tells what the request costs; `null` if it does not. */
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

  /** Stops counting it as in flight. Idempotent. */
  leave(state: GatewayState): void {
    if (this.#hasLeft) return;
    this.#hasLeft = true;
    state.inFlight--;
    if (this.hasPermit) state.permits.giveBack(this.addressKey, this.arrival.client.owners);
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
            ...{ pages, requestId: this.requestId, fields: this.downstream.fields },
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
  // The gateway answers preflights itself at little cost, and a page sends many: they must not use up the limit of its requests.
  if (kind === 'preflight') return 'preflights';
  // A preflight carries no token, so its route's policies do not apply to it.
  if (isPreflight || route === null) return 'global';
  const exempt = isOfFile(route) && route.globalLimitExempt;
  // No service is asked, so a redirect of the gateway draws on no bucket.
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
  /** Called when a body that is read before the upstream is asked is there. */
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
  /** Stops counting it as in flight, which makes room for others. Idempotent. */
  leave(exchange: Exchange): void;
}

/** What the limits decided: for the response, the record, and the unit to return once the status is known. */
interface Ruling extends core.DecisionRecord {
  /** The state of the bucket, for the client; `null` if no bucket applied. */
  readonly rate: RateReport | null;
  /** Consumed units that the status may return (`unitsReturnedBy`), and the bucket whose limits they are of; `null` if none. */
  readonly units: readonly ReturnableUnits[];
  readonly returnsTo: BucketModel | null;
  /** The limit that `rate` describes; `null` if there is none. */
  readonly described: Limit | null;
  /** How the response tells what the request costs; `null` if it does not. */
  readonly price: Price | null;
}

/** Reads the header fields, unless they equal those of the connection's last request. */
function readArrival(downstream: Downstream, snapshot: Snapshot, state: GatewayState): Arrival {
  const { memory, fields, framing, peer } = downstream;
  const rules = snapshot.forwarding;
  const known = memory.arrival;
  const isKnown = known !== null && known.fields === fields && known.rules === rules;
  const head = isKnown
    ? known.head
    : new RequestHead(fields, rules, memory.trusts(peer, snapshot.trustedProxies), framing.hopFields);
  if (head.untrustedClaims) noteClaims(head, peer, state);
  if (isKnown) return known;
  const clientAddress =
    head.forwardedFor === null ? peer : readForwardedFor(peer, head.forwardedFor, snapshot, state);
  const host = head.host === null ? null : readHost(head.host);
  const client = memory.clientAt(clientAddress, snapshot.limits);
  const hostAndPort = host === null ? '' : canonicalHost(head.host ?? '', host);
  return { head, host, hostAndPort, client, rules, fields };
}

/** Ignores the claims of an untrusted peer, but notes the peer: it may be a proxy missing from `trusted_proxies`. */
function noteClaims(head: RequestHead, peer: string, { listener, unlistedProxies }: GatewayState): void {
  listener.untrustedForwarding();
  if (head.claimedFor !== null) unlistedProxies.saw(peer, 'X-Forwarded-For', head.claimedFor);
  else if (head.claimedForwarded !== null) unlistedProxies.saw(peer, 'Forwarded', head.claimedForwarded);
}

function readForwardedFor(
  peer: string,
  forwardedFor: readonly string[],
  { trustedProxies }: Snapshot,
  { unlistedProxies }: GatewayState,
): string {
  const { address, claim } = forwardedClient(peer, forwardedFor, trustedProxies);
  // Permits, limits and restrictions outlive the request.
  const client = ownString(address);
  // The client may itself be a proxy, in front of the trusted one.
  if (claim !== null) unlistedProxies.saw(client, 'X-Forwarded-For', claim);
  return client;
}

/**
 * The response of an exchange: what was sent, and how it ended. Updates the record before each write, so it is complete whenever
 * the last byte leaves.
 */
export class ExchangeResponse {
  /** The status; 0 until a response begins. For a gRPC call refused by the gateway, the equivalent HTTP status. */
  status = 0;
  /** How a gRPC call ended; `null` if it was aborted, and for other requests. */
  grpcStatus: core.RpcCode | null = null;
  outcome: core.Outcome = 'abandoned';
  /** Why the gateway answered itself; `null` if it did not, or if the answer is not an error. */
  error: GatewayError | null = null;
  bytesSent = 0;
  limitedBy: LimitedBy | null = null;
  /** True once the last byte was sent or the client disconnected: nothing more can be sent. */
  isOver = false;
  readonly #downstream: Downstream;
  readonly #translation: WebCall | null;
  readonly #owner: Pick<Exchange, 'begun' | 'whole'>;

  constructor(downstream: Downstream, translation: WebCall | null, owner: Pick<Exchange, 'begun' | 'whole'>) {
    this.#downstream = downstream;
    this.#translation = translation;
    this.#owner = owner;
  }

  /**
   * True while the client waits for a response: none has begun, and it is still connected. If false, stop working for the
   * exchange.
   */
  get isAwaited(): boolean {
    return this.status === 0 && !this.isOver;
  }

  /** True once the complete response was passed to the listener; bytes may still be in transit. */
  get isWhole(): boolean {
    return this.outcome === 'answered' || this.outcome === 'forwarded';
  }

  /** The equivalent HTTP status: also for an upstream's refusal of a gRPC call, which is 200 on the wire. */
  get meaning(): number {
    return this.grpcStatus === null || this.error !== null ? this.status : httpStatusOf(this.grpcStatus);
  }

  /** Sends the gateway's own error response, rendered in the client's dialect. */
  refuse(status: number, rendered: RenderedResponse): Served {
    const { fields, body, close } = rendered;
    this.outcome = 'answered';
    this.status = status;
    this.bytesSent = this.#downstream.method === 'HEAD' ? 0 : body.length;
    this.#owner.whole();
    this.#downstream.answer(rendered.status, rendered.reason, fields, body, close);
    return SERVED;
  }

  /** Sends a complete response. */
  finish(
    outcome: 'answered' | 'forwarded',
    status: number,
    reason: string,
    fields: core.Fields,
    body: string,
    close = false,
  ): Served {
    this.outcome = outcome;
    this.status = status;
    this.bytesSent = this.#downstream.method === 'HEAD' ? 0 : body.length;
    this.#owner.whole();
    this.#downstream.answer(status, reason, fields, body, close);
    return SERVED;
  }

  /** Begins a response with a body to follow. */
  begin(status: number, reason: string, fields: core.Fields): void {
    this.status = status;
    this.#owner.begun();
    this.#downstream.head(status, reason, fields);
  }

  /** Switches to another protocol. Returns false if the client has disconnected. */
  switchTo(fields: core.Fields, successor: Successor): boolean {
    this.status = 101;
    if (this.#downstream.switchProtocols(fields, successor)) return true;
    this.status = 0;
    return false;
  }

  /** Sends a part of the body. Returns false if the client is slower: wait for `Exchange.drained`. */
  write(chunk: Buffer, release: core.Release | null): boolean {
    const bytes = this.#translation === null ? chunk : this.#translation.responseBytes(chunk);
    if (bytes === null) throw errors.upstreamFailed('the response contains something other than messages');
    this.bytesSent += bytes.length;
    if (bytes === chunk) return this.#downstream.write(chunk, release);
    release?.();
    return this.#downstream.write(bytes, null);
  }

  /** Ends a response that has begun. */
  end(trailers: core.Fields): void {
    if (!this.#endWith(trailers, 'forwarded'))
      throw errors.upstreamFailed('the response ends within a message');
  }

  /** Ends the response with these trailers, unless an incomplete message would swallow them. Returns whether it did. */
  #endWith(trailers: core.Fields, outcome: core.Outcome): boolean {
    if (this.#translation === null) {
      this.outcome = outcome;
      this.#owner.whole();
      this.#downstream.end(trailers);
      return true;
    }
    const last = this.#translation.end(trailers);
    if (last === null) return false;
    this.outcome = outcome;
    this.bytesSent += last.length;
    this.#owner.whole();
    this.#downstream.write(last, null);
    this.#downstream.end(NO_FIELDS);
    return true;
  }

  /**
   * Cuts short a response that has begun, so that the client cannot take it for complete: ends it with these trailers, or aborts
   * it if there are none.
   */
  cutShort(trailers: core.Fields | null): Served {
    const { isWhole } = this;
    this.outcome = 'truncated';
    if (isWhole || trailers === null || !this.#endWith(trailers, 'truncated')) {
      this.grpcStatus = null;
      this.#downstream.abort(this.error?.side ?? 'client');
    }
    return SERVED;
  }
}

declare const served: unique symbol;

/**
 * Proof that an exchange was answered, or that something was started that will answer it. Every terminal returns one, so one that
 * forgets to answer does not compile.
 */
export interface Served {
  readonly [served]: true;
}

/**
 * The proof itself: for code that writes a response, or hands the exchange to something that will. Say at each use what that is.
 */
export const SERVED = {} as Served;

import type { Caller, Invalid } from '../../auth/index.ts';
import type { CallerClass, Snapshot } from '../../config/index.ts';
import {
  type BodyLength,
  type DecisionRecord,
  type Draws,
  GatewayError,
  type MomentRecord,
  ownString,
  type Protocol,
  type ShadowRefuser,
  type Timer,
  type TimerClock,
} from '../../core/index.ts';
import { addressKey, forwardedClient, RequestHead } from '../../http/index.ts';
import { KnownClient, type Limit } from '../../limits/index.ts';
import { limitsOf, type RequestGeneration } from '../../runtime/index.ts';
import type { GatewayState } from '../gateway-state.ts';
import type { NoRoom, UpstreamPermit } from '../permits.ts';
import {
  addOwnFields,
  deadlineExceeded,
  internalFault,
  RateLimitError,
  type RateReport,
  reportsRate,
} from '../responses/index.ts';
import { type Destination, NOWHERE } from './destination.ts';
import { type Dialect, dialectOf } from './dialect.ts';
import type { Arrival, Downstream, ValidToken } from './downstream.ts';
import { ExchangeResponse, type Served } from './response.ts';
import { Standing } from './standing.ts';
import { beginTrace, type Trace } from './trace.ts';

const NOTHING: readonly ShadowRefuser[] = [];

/** One request with its response. The request is known from the start; each later part is set by the gate named beside it. */
export class Exchange {
  readonly downstream: Downstream;
  readonly dialect: Dialect;
  /** The configuration that it began with, and the live parts that serve it, to its end. */
  readonly generation: RequestGeneration;
  readonly snapshot: Snapshot;
  readonly clock: TimerClock;
  readonly sequence: number;
  readonly arrivedAtMs: number;
  readonly startedAtMs: number;
  readonly arrival: Arrival;
  readonly requestId: string;
  readonly response: ExchangeResponse;
  /** Its place in a trace; `null` if the gateway takes no part in traces. */
  readonly trace: Trace | null;

  /** The protocol for the record: the dialect's or the connection's, or `websocket` once an upgrade is asked for. */
  protocol: Protocol;
  /** Set by `addressCapacity`: it counts among the requests of its address. */
  hasAddressPermit = false;
  /** Set by `readOptions`: how many more times an OPTIONS may be forwarded; null without `Max-Forwards`. */
  maxForwards: number | null = null;
  /** Set by `findRoute`. */
  destination: Destination = NOWHERE;
  /** Set by `restrictWebhook`: the hash of the webhook that it calls; '' if it calls none. */
  webhook = '';
  /** When a restriction or a block refused it before its limits were asked, by the clock of decisions; 0 if none did. */
  restrictedAtMs = 0;
  /** Set at its end, if it counts towards a restriction. */
  offence: MomentRecord | null = null;
  /** Set at its end, if it returned the unit of a resource limit that it had consumed. */
  returned: MomentRecord | null = null;
  /** Set by `startDeadline`: ends the exchange when the client's deadline passes. */
  deadline: Timer | null = null;
  /** Set by `identify`: the caller's token; null if only the address is known. */
  token: ValidToken | null = null;
  /** Set by `identify`: why the token was refused; null if it is valid, was not needed, or none came. */
  refusedToken: Invalid | null = null;
  /** Set by `upstreamCapacity`: its place among the requests to its upstream. */
  upstreamPermit: UpstreamPermit | null = null;
  /** Set by `upstreamCapacity` if the upstream has no room for it, so that its limits are checked but not consumed. */
  noRoom: NoRoom | null = null;
  /** Set by `limit`; null if limits were only checked. */
  ruling: Ruling | null = null;
  /** Set by `limit`: the limits in shadow that would have refused it. */
  shadowRefusals: readonly ShadowRefuser[] = NOTHING;
  /** True once its admission was recorded before its end, since it lasts. */
  lasted = false;
  /** Set by `limit` while it is held: takes it out of the line. */
  leaveLine: (() => void) | null = null;
  /** Set by `limit`: how long it was held. */
  heldMs = 0;
  /** Set by the terminal `forward`. */
  upstreamLeg: UpstreamLeg | null = null;
  #standing: Standing | null = null;

  // Step 1. The configuration that serves now is taken once: a reload changes nothing for this exchange.
  constructor(downstream: Downstream, state: GatewayState) {
    const { generation, clock } = state;
    this.downstream = downstream;
    this.dialect = dialectOf(downstream);
    this.protocol = this.dialect.protocol ?? downstream.protocol;
    this.generation = generation;
    this.snapshot = generation.snapshot;
    this.clock = clock;
    this.sequence = ++state.sequence;
    this.arrivedAtMs = clock.epochMs();
    this.startedAtMs = clock.monotonicMs();
    this.arrival = readArrival(downstream, generation.snapshot, state);
    this.requestId = acceptableRequestId(this.arrival.head.requestId) ?? state.nextRequestId();
    this.response = new ExchangeResponse(downstream);
    const { tracing } = generation.snapshot;
    this.trace = tracing === null ? null : beginTrace(this.head, tracing.share, state.randomHex);
  }

  get head(): RequestHead {
    return this.arrival.head;
  }

  get addressKey(): string {
    return this.arrival.addressKey;
  }

  get caller(): Caller | null {
    return this.token === null ? null : this.token.caller;
  }

  /** The key for the sender's limits and shares. */
  get callerKey(): string {
    return this.token === null ? this.arrival.addressKey : this.token.caller.principal;
  }

  /** The state of its bucket, for the client. */
  get rate(): RateReport | null {
    return this.ruling === null ? null : this.ruling.rate;
  }

  /** Whether responses carry `RateLimit` and `RateLimit-Policy`, so that an upstream's own would contradict them. */
  get sendsPolicies(): boolean {
    return this.snapshot.limits.policies !== null;
  }

  /** The length of the body. 0 as well if that is ambiguous, which the gate `readHead` rejects. */
  get bodyLength(): BodyLength {
    const { bodyLength } = this.downstream.framing;
    return typeof bodyLength === 'object' ? 0 : bodyLength;
  }

  /** True if it was refused because the process is too far behind. */
  get isShed(): boolean {
    return this.response.error !== null && this.response.error.cap === 'event_loop_delay';
  }

  /** The verdicts that it goes on by. Made when first asked for: most exchanges are over before that. */
  get standing(): Standing {
    const { token, destination, arrival } = this;
    const isMade = this.#standing?.sender?.caller === token?.caller;
    if (this.#standing !== null && isMade) return this.#standing;
    const closeAtExpiry = destination.kind === 'forward' ? destination.route.closeAtExpiry : null;
    this.#standing = new Standing(arrival.address, token, closeAtExpiry);
    return this.#standing;
  }

  /** Called when the client has room again. */
  drained(): void {
    this.upstreamLeg?.drained();
  }

  /** Ends the exchange because the client's deadline has passed. */
  expire(): void {
    if (!this.response.isWhole) this.fault(deadlineExceeded());
  }

  /**
   * Ends the exchange with an error while it runs: stops its work, then answers. An error that is not meant for clients is logged,
   * and the client only learns that the gateway failed. Never throws: nothing above its callers would catch it.
   */
  fault(fault: unknown): void {
    const error = fault instanceof GatewayError ? fault : internalFault(fault);
    try {
      this.stop();
      this.answerError(error);
    } catch (second) {
      this.response.error ??= internalFault(second);
      this.response.outcome = 'truncated';
      this.downstream.abort();
    }
  }

  /** Runs something that nothing above it would catch, such as what a timer does, and ends the exchange if it throws. */
  contain(act: () => void): void {
    try {
      act();
    } catch (fault) {
      this.fault(fault);
    }
  }

  /** Stops what waits or runs for it, and gives up its place among the requests to its upstream. May be called again. */
  stop(): void {
    this.leaveLine?.();
    this.upstreamLeg?.abandoned();
    this.upstreamPermit?.giveBack();
  }

  /** Counts it as in flight no more: it is over, or a WebSocket has taken its place. */
  leave(state: GatewayState): void {
    state.inFlight--;
    if (this.hasAddressPermit) state.addressPermits.giveBack(this.addressKey);
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
    if (response.status !== 0) {
      const trailers = dialect.trailersFor(error);
      dialect.noteEnd(response, trailers ?? []);
      return response.cutShort(trailers);
    }
    const rendered = dialect.render(error, destination.route?.kind === 'sign-in');
    dialect.noteEnd(response, rendered.fields);
    addOwnFields(rendered.fields, this, reportsRate(error) ? this.rate : null, via ? '1.1' : null);
    return response.refuse(error.status, rendered);
  }
}

function acceptableRequestId(id: string | null): string | null {
  return id !== null && /^[A-Za-z0-9._-]{1,64}$/.test(id) ? id : null;
}

/** Which limits a request of a caller of this class consumes, by the policies of its route. */
export function limitsConsumedBy(
  callerClass: CallerClass,
  { kind, route, authentication, isPreflight }: Destination,
): Draws {
  // An OPTIONS about the gateway itself asks for nothing, and costs next to nothing.
  if (kind === 'options' && route === null) return 'none';
  // A preflight carries no token, so its route's policies do not apply to it.
  if (isPreflight || route === null) return 'global';
  return limitsOf(authentication, callerClass, route.kind === 'forward' && route.globalLimitExempt);
}

/** The part of an exchange between the gateway and its upstream. */
export interface UpstreamLeg {
  readonly upstream: string;
  readonly sentAtMs: number;
  /** When the head of the upstream's response came; `null` until then. */
  readonly answeredAtMs: number | null;
  /** True if the request was sent a second time. */
  readonly repeated: boolean;
  /** Called when the client has room again. */
  drained(): void;
  /** Stops all work for the client. May be called again. */
  abandoned(): void;
}

/** What the limits decided about a request: for its response, its record, and the unit to return at its end. */
interface Ruling extends DecisionRecord {
  /** The state of its bucket, for the client; `null` if no bucket took part. */
  readonly rate: RateReport | null;
  /** The consumed unit of a resource limit, to return if the upstream denies the caller access. */
  readonly resourceUnit: ResourceUnit | null;
  /** The consumed unit of a resource limit in shadow. */
  readonly shadowUnit: ResourceUnit | null;
}

/** One unit of a resource limit. */
export interface ResourceUnit {
  readonly limit: Limit;
  readonly main: string;
  readonly window: number;
}

/** Reads the header fields, unless they are those of the connection's last request. */
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
  const key = addressKey(clientAddress);
  return { head, clientAddress, addressKey: key, address: new KnownClient('address', key), rules, fields };
}

/** Ignores what an untrusted peer claims, but notes the peer: it may be a proxy missing from `trusted_proxies`. */
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

import type { Caller, Invalid } from '../../auth/index.ts';
import type { Snapshot } from '../../config/index.ts';
import {
  type BodyLength,
  type Clock,
  GatewayError,
  type MomentRecord,
  type Protocol,
  type ShadowRefuser,
} from '../../core/index.ts';
import type { RequestHead } from '../../http/index.ts';
import type { RequestGeneration } from '../../runtime/index.ts';
import type { GatewayState } from '../gateway-state.ts';
import {
  addOwnFields,
  deadlineExceeded,
  internalFault,
  RateLimitError,
  type RateReport,
  reportsRate,
} from '../responses/index.ts';
import type { NoRoom, UpstreamPermit } from '../upstream-permits.ts';
import type { Arrival } from './arrival.ts';
import { type Destination, NOWHERE } from './destination.ts';
import type { Dialect } from './dialect.ts';
import { dialectOf } from './dialect-of.ts';
import type { Downstream } from './downstream.ts';
import { readArrival } from './read-arrival.ts';
import { Response } from './response.ts';
import type { Ruling } from './ruling.ts';
import type { Served } from './served.ts';
import { beginTrace, type Trace } from './trace.ts';
import type { UpstreamLeg } from './upstream-leg.ts';
import type { ValidToken } from './valid-token.ts';

const NOTHING: readonly ShadowRefuser[] = [];

/** One request with its response. The request is known from the start; each later part is set by the gate named beside it. */
export class Exchange {
  readonly downstream: Downstream;
  readonly dialect: Dialect;
  /** The configuration that it began with, and the live parts that serve it, to its end. */
  readonly generation: RequestGeneration;
  readonly snapshot: Snapshot;
  readonly clock: Clock;
  readonly sequence: number;
  readonly arrivedAtMs: number;
  readonly startedAtMs: number;
  readonly arrival: Arrival;
  readonly requestId: string;
  readonly response: Response;
  /** Null: the gateway takes part in no traces. */
  readonly trace: Trace | null;

  /** For the record: the dialect's name or the connection's protocol, until the route says more. */
  protocol: Protocol;
  /** Set by `addressCapacity`: it counts among the requests of its address. */
  hasAddressPermit = false;
  /** Set by `readOptions`: how many more times an OPTIONS may be forwarded; null without `Max-Forwards`. */
  maxForwards: number | null = null;
  /** Set by `findRoute`. */
  destination: Destination = NOWHERE;
  /** Set by `restrictWebhook`: the hash of the webhook that it calls; '' if it calls none. */
  webhook = '';
  /** When a restriction or a block refused it before its limits were asked, by the clock of decisions; 0: none did. */
  restrictedAtMs = 0;
  /** Set at its end: it counts towards a restriction. */
  offence: MomentRecord | null = null;
  /** Set at its end: it returned the unit that it drew on a resource limit. */
  returned: MomentRecord | null = null;
  /** Set by `startDeadline`: ends the exchange when the client's deadline passes. */
  deadline: NodeJS.Timeout | null = null;
  /** Set by `identify`: the caller's token; null if only the address is known. */
  token: ValidToken | null = null;
  /** Set by `identify`: why the token was refused; null if it is valid, was not needed, or none came. */
  refusedToken: Invalid | null = null;
  /** Set by `upstreamCapacity`: its place among the requests to its upstream. */
  upstreamPermit: UpstreamPermit | null = null;
  /** Set by `upstreamCapacity`: the upstream has no room for it, so it checks its limits without drawing on them. */
  noRoom: NoRoom | null = null;
  /** Set by `limit`; null if limits were only checked. */
  ruling: Ruling | null = null;
  /** Set by `limit`: the limits in shadow that would have refused it. */
  shadowRefusals: readonly ShadowRefuser[] = NOTHING;
  /** Its admission was recorded, since it lasts. */
  lasted = false;
  /** Set by `limit` while it is held: takes it out of the line. */
  leaveLine: (() => void) | null = null;
  /** Set by `limit`: how long it was held. */
  heldMs = 0;
  /** Set by the terminal `forward`. */
  upstreamLeg: UpstreamLeg | null = null;

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
    this.response = new Response(downstream);
    const { tracing } = generation.snapshot;
    this.trace = tracing === null ? null : beginTrace(this.head, tracing.share, state.drawHex);
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

  /** What to tell the client about its bucket. */
  get rate(): RateReport | null {
    return this.ruling === null ? null : this.ruling.rate;
  }

  /** Whether responses carry `RateLimit` and `RateLimit-Policy`, so that an upstream's own would contradict them. */
  get sendsPolicies(): boolean {
    return this.snapshot.limits.policies !== null;
  }

  /** Also 0 if it is ambiguous, which the gate `readHead` rejects. */
  get bodyLength(): BodyLength {
    const { bodyLength } = this.downstream.framing;
    return typeof bodyLength === 'object' ? 0 : bodyLength;
  }

  /** It was refused because the process is too far behind. */
  get isShed(): boolean {
    return this.response.error !== null && this.response.error.cap === 'event_loop_delay';
  }

  /** The client has room again. */
  drained(): void {
    this.upstreamLeg?.drained();
  }

  /** Ends the exchange because the client's deadline has passed. */
  expire(): void {
    if (!this.response.isWhole) this.fault(deadlineExceeded());
  }

  /**
   * Ends the exchange because something inside the gateway failed. The log says why; the client only learns that it failed. Never
   * throws: whoever calls this has nothing above it.
   */
  fault(fault: unknown): void {
    const error = fault instanceof GatewayError ? fault : internalFault(fault);
    try {
      this.cancel(error);
    } catch (second) {
      this.response.error ??= internalFault(second);
      this.response.outcome = 'truncated';
      this.downstream.abort();
    }
  }

  /** Does something that nothing above it would catch, such as what a timer does. */
  contain(act: () => void): void {
    try {
      act();
    } catch (fault) {
      this.fault(fault);
    }
  }

  /** Ends the exchange with an error, and aborts its upstream request. */
  cancel(error: GatewayError): void {
    this.leaveLine?.();
    this.upstreamLeg?.abandoned();
    this.upstreamPermit?.giveBack();
    this.answerError(error);
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

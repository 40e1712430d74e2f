import type { Caller, Invalid } from '../auth/index.ts';
import type { RouteModel, Snapshot } from '../config/index.ts';
import type { BodyLength, Clock, DecisionRecord, Fields, GatewayError, Outcome } from '../core/index.ts';
import type { RequestHead } from '../http/index.ts';
import type { Limit } from '../limits/index.ts';
import type { Generation } from '../runtime/index.ts';
import { addOwnFields, RateLimitError, type RateReport, renderError, tellsRate } from './answers/index.ts';
import type { Downstream } from './downstream.ts';

/** What serves an exchange after the gates: told when the client has room again, and when it is gone. */
export interface Terminal {
  drained(): void;
  abandoned(): void;
}

/** One unit of a resource limit. */
export interface ResourceUnit {
  readonly limit: Limit;
  readonly main: string;
  readonly window: number;
}

/** One request with its answer, and what the gates learnt of it. */
export class Exchange {
  readonly downstream: Downstream;
  /** The configuration it began with, and what serves that, to its end. */
  readonly generation: Generation;
  readonly snapshot: Snapshot;
  readonly sequence: number;
  readonly clock: Clock;
  readonly arrivedAtMs: number;
  readonly startedAtMs: number;
  requestId = '';
  head: RequestHead | null = null;
  bodyLength: BodyLength = 0;
  /** An OPTIONS about the gateway itself (`*`): it has no path and no route. */
  isServerWide = false;
  /** How often an OPTIONS may still be forwarded; null: it does not say. */
  maxForwards: number | null = null;
  /** Canonical path; the query with its `?`, or ''. */
  path = '';
  query = '';
  clientAddress: string;
  /** What the address counts as. */
  addressKey = '';
  route: RouteModel | null = null;
  /** Values of the path's parameters in order, as they stand in the canonical path. */
  params: readonly string[] = [];
  /** Who sends, as a valid token says; null: its address is all that is known. */
  caller: Caller | null = null;
  /** The valid token itself. */
  token: string | null = null;
  /** Why what it sent to say who it is does not count; null: it sent nothing, or nobody asked, or it counts. */
  refusedToken: Invalid | null = null;
  /** What the decision about its bucket says to the client; null where it has none. */
  rate: RateReport | null = null;
  /** What limits decided, for the record. */
  decision: DecisionRecord | null = null;
  /** The unit that was taken from a resource limit: given back when the upstream does not let the caller in. */
  resourceUnit: ResourceUnit | null = null;
  /** A browser's question, which is never held against the sender: answered here, or by a service that says so. */
  isPreflight = false;
  /** Scope of the 429 that it was answered with; null for any other answer, and where it is a restriction's. */
  refusedScope: 'user' | 'shared' | 'global' | null = null;
  terminal: Terminal | null = null;
  /** The last byte has gone, or the client has: nothing can be answered any more. */
  over = false;

  status = 0;
  outcome: Outcome = 'abandoned';
  error: GatewayError | null = null;
  bytesSent = 0;
  sentUpstreamAtMs: number | null = null;
  answeredUpstreamAtMs: number | null = null;
  retried = false;
  /** The key of its address's permit, given back at its end. */
  permitAddress: string | null = null;
  /** Whose share of the upstream it takes; null: it holds no permit of one. */
  permitCaller: string | null = null;
  /** Why its upstream has no room for it: then it looks at its limits and draws on none. */
  noPermit: GatewayError | null = null;
  /** The upstream that has room for it, or has none. */
  upstream: string | null = null;

  constructor(downstream: Downstream, generation: Generation, sequence: number, clock: Clock) {
    this.downstream = downstream;
    this.generation = generation;
    this.snapshot = generation.snapshot;
    this.sequence = sequence;
    this.clock = clock;
    this.arrivedAtMs = clock.epochMs();
    this.startedAtMs = clock.monotonicMs();
    this.clientAddress = downstream.peer;
  }

  /** It was answered while something was waited for, or its client has gone: nothing more is done for it. */
  get settled(): boolean {
    return this.over || this.status !== 0;
  }

  /** Answers with an error of the gateway's own, unless an answer has begun: then it can only be broken off. */
  answerError(error: GatewayError): void {
    this.error = error;
    if (this.status !== 0) {
      this.breakOff();
      return;
    }
    this.outcome = 'answered';
    const { status, reason, fields, body, close } = renderError(error, this.route?.kind === 'sign-in');
    const via = !(error instanceof RateLimitError) || error.via;
    addOwnFields(fields, this, { rate: tellsRate(error), via });
    if (error instanceof RateLimitError && !error.byRestriction) this.refusedScope = error.scope;
    this.sendWhole(status, reason, fields, body, close);
  }

  sendWhole(status: number, reason: string, fields: Fields, body: string, close: boolean): void {
    this.downstream.answer(status, reason, fields, body, close);
    this.status = status;
    this.bytesSent = this.downstream.method === 'HEAD' ? 0 : body.length;
  }

  /** The client must not take what it got for the whole. */
  breakOff(): void {
    this.outcome = 'truncated';
    this.downstream.abort();
  }
}

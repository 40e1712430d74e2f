import type { Caller } from '../auth/index.ts';
import type { RouteModel, Snapshot } from '../config/index.ts';
import type { Fields, GatewayError, Outcome } from '../core/index.ts';
import type { Framing, RequestHead } from '../http/index.ts';
import { type RenderedAnswer, renderError } from './answers.ts';
import type { Downstream } from './downstream.ts';

/** What serves an exchange after the gates: told when the client has room again, and when it is gone. */
export interface Terminal {
  drained(): void;
  abandoned(): void;
}

/** One request with its answer, and what the gates learnt of it. */
export class Exchange {
  readonly downstream: Downstream;
  /** The configuration it began with, to its end. */
  readonly snapshot: Snapshot;
  readonly sequence: number;
  readonly arrivedAtMs: number;
  readonly startedAtMs: number;
  requestId = '';
  head: RequestHead | null = null;
  bodyLength: Framing = 0;
  /** Canonical path; the query with its `?`, or ''. */
  path = '';
  query = '';
  clientAddress: string;
  route: RouteModel | null = null;
  /** Values of the path's parameters in order, as they stand in the canonical path. */
  params: readonly string[] = [];
  /** Who sends, as a valid token says; null: its address is all that is known. */
  caller: Caller | null = null;
  /** The valid token itself. */
  token: string | null = null;
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
  /** Keys of the permits it holds, given back at its end. */
  permitAddress: string | null = null;
  permitUpstream: string | null = null;

  constructor(
    downstream: Downstream,
    snapshot: Snapshot,
    sequence: number,
    arrivedAtMs: number,
    startedAtMs: number,
  ) {
    this.downstream = downstream;
    this.snapshot = snapshot;
    this.sequence = sequence;
    this.arrivedAtMs = arrivedAtMs;
    this.startedAtMs = startedAtMs;
    this.clientAddress = downstream.peer;
  }

  /** Answers with an error of the gateway's own, unless an answer has begun: then it can only be broken off. */
  answerError(error: GatewayError): void {
    this.error = error;
    if (this.status !== 0) {
      this.breakOff();
      return;
    }
    this.outcome = 'answered';
    this.answer(renderError(error, this.requestId));
  }

  answer(answer: RenderedAnswer): void {
    this.sendWhole(answer.status, answer.reason, answer.fields, answer.body, answer.close);
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

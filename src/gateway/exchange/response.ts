import type { Fields, GatewayError, Outcome, Release } from '../../core/index.ts';
import type { Downstream } from './downstream.ts';

/** Whose limit a 429 is about; `restriction`: its sender is restricted. */
export type LimitedBy = 'user' | 'shared' | 'global' | 'restriction';

/**
 * The response of an exchange: what has gone out, and how it ended. Each step notes what happens before writing it, so that the
 * record is right whenever the last byte goes.
 */
export class Response {
  /** 0: no response has begun. */
  status = 0;
  outcome: Outcome = 'abandoned';
  /** Why the gateway answered by itself. */
  error: GatewayError | null = null;
  bytesSent = 0;
  limitedBy: LimitedBy | null = null;
  /** The last byte has gone, or the client has: nothing more can be sent. */
  isOver = false;
  readonly #downstream: Downstream;

  constructor(downstream: Downstream) {
    this.#downstream = downstream;
  }

  /** Answered already, or the client has gone: nothing more is done for the exchange. */
  get isSettled(): boolean {
    return this.isOver || this.status !== 0;
  }

  /** Sends a whole response. */
  finish(
    outcome: 'answered' | 'forwarded',
    status: number,
    reason: string,
    fields: Fields,
    body: string,
    close = false,
  ): void {
    this.outcome = outcome;
    this.status = status;
    this.bytesSent = this.#downstream.method === 'HEAD' ? 0 : body.length;
    this.#downstream.answer(status, reason, fields, body, close);
  }

  /** Begins a response whose body follows. */
  begin(status: number, reason: string, fields: Fields): void {
    this.status = status;
    this.#downstream.head(status, reason, fields);
  }

  /** False: the client is slower; wait until it has drained. */
  write(chunk: Buffer, release: Release | null): boolean {
    this.bytesSent += chunk.length;
    return this.#downstream.write(chunk, release);
  }

  /** Ends a response that was begun. */
  end(trailers: Fields): void {
    this.outcome = 'forwarded';
    this.#downstream.end(trailers);
  }

  /** Breaks off a response that was begun, so that the client cannot take it for complete. */
  breakOff(): void {
    this.outcome = 'truncated';
    this.#downstream.abort();
  }
}

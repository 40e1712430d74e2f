import type { Fields, GatewayError, Outcome, Release, RpcCode } from '../../core/index.ts';
import type { LimitedBy } from '../../runtime/index.ts';
import { httpStatusOf, type RenderedResponse } from '../responses/index.ts';
import type { Downstream, Successor } from './downstream.ts';

/**
 * The response of an exchange: what was sent, and how it ended. Each step updates the record before it writes, so the record is
 * right whenever the last byte leaves.
 */
export class ExchangeResponse {
  /** The status; 0 until a response begins. For a gRPC call that the gateway refused, the equivalent HTTP status. */
  status = 0;
  /** How a gRPC call ended; `null` if it was broken off, and for other requests. */
  grpcStatus: RpcCode | null = null;
  outcome: Outcome = 'abandoned';
  /** Why the gateway answered by itself; `null` if it did not, or if the answer is no error. */
  error: GatewayError | null = null;
  bytesSent = 0;
  limitedBy: LimitedBy | null = null;
  /** True once the last byte was sent or the client has disconnected: nothing more can be sent. */
  isOver = false;
  readonly #downstream: Downstream;

  constructor(downstream: Downstream) {
    this.#downstream = downstream;
  }

  /** The client still waits for a response: none has begun, and it has not gone. Otherwise stop working for the exchange. */
  get isAwaited(): boolean {
    return this.status === 0 && !this.isOver;
  }

  /** True once all of the response was handed to the listener; bytes may still be on their way. */
  get isWhole(): boolean {
    return this.outcome === 'answered' || this.outcome === 'forwarded';
  }

  /** The equivalent HTTP status, also of an upstream's refusal of a gRPC call, which has status 200 on the wire. */
  get meaning(): number {
    return this.grpcStatus === null || this.error !== null ? this.status : httpStatusOf(this.grpcStatus);
  }

  /** Sends the gateway's own response to an error of that status, rendered in the dialect of the client. */
  refuse(status: number, rendered: RenderedResponse): Served {
    const { fields, body, close } = rendered;
    this.outcome = 'answered';
    this.status = status;
    this.bytesSent = this.#downstream.method === 'HEAD' ? 0 : body.length;
    this.#downstream.answer(rendered.status, rendered.reason, fields, body, close);
    return SERVED;
  }

  /** Sends a whole response. */
  finish(
    outcome: 'answered' | 'forwarded',
    status: number,
    reason: string,
    fields: Fields,
    body: string,
    close = false,
  ): Served {
    this.outcome = outcome;
    this.status = status;
    this.bytesSent = this.#downstream.method === 'HEAD' ? 0 : body.length;
    this.#downstream.answer(status, reason, fields, body, close);
    return SERVED;
  }

  /** Begins a response whose body follows. */
  begin(status: number, reason: string, fields: Fields): void {
    this.status = status;
    this.#downstream.head(status, reason, fields);
  }

  /** Switches to another protocol. Returns false if the client has disconnected. */
  switchTo(fields: Fields, successor: Successor): boolean {
    this.status = 101;
    if (this.#downstream.switchProtocols(fields, successor)) return true;
    this.status = 0;
    return false;
  }

  /** Sends a part of the body. Returns false if the client is slower: wait for `Exchange.drained`. */
  write(chunk: Buffer, release: Release | null): boolean {
    this.bytesSent += chunk.length;
    return this.#downstream.write(chunk, release);
  }

  /** Ends a response that was begun. */
  end(trailers: Fields): void {
    this.outcome = 'forwarded';
    this.#downstream.end(trailers);
  }

  /**
   * Cuts short a response that has begun, so that the client cannot take it for complete. Ends it with these trailers, which say
   * so, or without trailers breaks it off.
   */
  cutShort(trailers: Fields | null): Served {
    const { isWhole } = this;
    this.outcome = 'truncated';
    if (isWhole || trailers === null) this.#downstream.abort();
    else this.#downstream.end(trailers);
    return SERVED;
  }
}

declare const served: unique symbol;

/**
 * Proof that an exchange was answered, or that something was started that will answer it. Every terminal returns it, so the
 * compiler refuses one that forgets to answer.
 */
export interface Served {
  readonly [served]: true;
}

/**
 * The proof itself: for code that writes a response, and for code that hands the exchange to something that answers it later. Say
 * beside each use what that is.
 */
export const SERVED = {} as Served;

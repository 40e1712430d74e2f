import type { LimitedBy } from '../../config/index.ts';
import type * as core from '../../core/index.ts';
import type { GatewayError } from '../../core/index.ts';
import type { WebCall } from '../../wire/grpc-web/index.ts';
import { errors, httpStatusOf, type RenderedResponse } from '../responses/index.ts';
import type { Downstream, Successor } from './downstream.ts';

const NO_FIELDS: core.Fields = [];

interface ResponseOwner {
  /** Called when the head of a response is about to be sent. */
  begun(): void;
  /** Called when the complete response has arrived. */
  whole(): void;
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
  readonly #owner: ResponseOwner;

  constructor(downstream: Downstream, translation: WebCall | null, owner: ResponseOwner) {
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

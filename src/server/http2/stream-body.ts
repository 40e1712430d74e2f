import type { BodySink, BodySource } from '../../core/index.ts';
import { type BodyTerms, NO_TERMS } from '../../http1/index.ts';
import type { ServerStream } from '../../http2/index.ts';
import type { PacedBody } from '../body-pace.ts';

/** If a request is answered early: how much of its rest is read and thrown away. */
const DROPPED_MAX_BYTES = 65_536;

/** Hears how the body of a request is read. */
export interface StreamBodyOwner {
  /** Called when the body has got a sink. */
  bodyStarted(): void;
  /** Called when the body turns out larger than its terms allow, which its head did not show. */
  bodyTooLarge(): void;
}

/**
 * The body of a request on its stream: counted, bounded, and read only when it has a sink. Until then, and while it is paused,
 * the client may send what its window holds and no more (RFC 9113, 6.9).
 */
export class StreamBody implements BodySource, PacedBody {
  readonly #stream: ServerStream;
  readonly #owner: StreamBodyOwner;
  #sink: BodySink | null = null;
  /** How many bytes more are read only to be thrown away; `null` if the body is still wanted. */
  #droppable: number | null = null;
  terms = NO_TERMS;
  started = false;
  paused = false;
  /** True if it was paused at some moment since the last sweep. */
  stoodStill = false;
  /** True once its last byte has been handed on. */
  done = false;
  bytes = 0;

  constructor(stream: ServerStream, owner: StreamBodyOwner) {
    this.#stream = stream;
    this.#owner = owner;
  }

  get flows(): boolean {
    return this.started && !this.paused && !this.done && this.#droppable === null;
  }

  /** Sets the terms, before the body is started. */
  withTerms(terms: BodyTerms): this {
    this.terms = terms;
    return this;
  }

  start(sink: BodySink): void {
    this.started = true;
    this.#sink = sink;
    this.#owner.bodyStarted();
    this.#stream.resume();
  }

  pause(): void {
    this.paused = true;
    this.stoodStill = true;
  }

  resume(): void {
    this.paused = false;
    this.#stream.resume();
  }

  /** Passes nothing on from here, but reads on for a moment: curl 7.88 loses a response that a reset follows at once. */
  drop(): void {
    this.#sink = null;
    // Nothing waits for the body any longer, so its terms end.
    this.terms = NO_TERMS;
    this.#droppable = DROPPED_MAX_BYTES;
    this.#stream.resume();
  }

  /** Takes a piece. Returns false if no more is wanted for now. */
  take(bytes: Buffer): boolean {
    if (this.#droppable !== null) {
      this.#droppable -= bytes.length;
      return this.#droppable >= 0;
    }
    const sink = this.#sink;
    if (sink === null) return true;
    this.bytes += bytes.length;
    const { maxBytes } = this.terms;
    if (maxBytes !== null && this.bytes > maxBytes) {
      this.#sink = null;
      this.#owner.bodyTooLarge();
    } else if (!sink.chunk(bytes)) this.pause();
    return !this.paused;
  }

  /** Ends the body. Drops the trailers of a request, since no one asked for them (RFC 9110, 6.5.1). */
  end(): void {
    this.done = true;
    this.#sink?.end();
  }
}

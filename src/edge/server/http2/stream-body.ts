import type { BodySink, BodySource } from '../../../core/index.ts';
import { type BodyTerms, NO_TERMS } from '../../../wire/http1/index.ts';
import type { ServerStream } from '../../../wire/http2/index.ts';
import type { PacedBody } from '../body-pace.ts';

/** How much of the rest of a request that was answered early is read and discarded. */
const DROPPED_MAX_BYTES = 65_536;

/** The owner of a stream's body, which is notified how it is read. */
export interface StreamBodyOwner {
  bodyStarted(): void;
  /** Called when the body turns out larger than its terms allow, though its head did not show it. */
  bodyTooLarge(): void;
}

/**
 * The body of a request on its stream: counted, bounded, and read only while it has a sink. Without one, or while paused, the
 * client may send what its window allows and no more (RFC 9113, 6.9).
 */
export class StreamBody implements BodySource, PacedBody {
  readonly #stream: ServerStream;
  readonly #owner: StreamBodyOwner;
  #sink: BodySink | null = null;
  /** How many more bytes are read only to be discarded; `null` if the body is still wanted. */
  #droppable: number | null = null;
  terms = NO_TERMS;
  started = false;
  paused = false;
  /** True if it was paused at some point since the last sweep. */
  wasPaused = false;
  /** True once its last byte has been passed on. */
  done = false;
  bytes = 0;

  constructor(stream: ServerStream, owner: StreamBodyOwner) {
    this.#stream = stream;
    this.#owner = owner;
  }

  get flows(): boolean {
    return this.started && !this.paused && !this.done && this.#droppable === null;
  }

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
    this.wasPaused = true;
  }

  resume(): void {
    this.paused = false;
    this.#stream.resume();
  }

  /** Discards the rest, but keeps reading for a moment: curl 7.88 loses a response that is followed at once by a reset. */
  drop(): void {
    this.#sink = null;
    // Nothing is waiting for the body any more, so its terms no longer apply.
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

  /** Ends the body. Drops the request's trailers, which nobody requested (RFC 9110, 6.5.1). */
  end(): void {
    this.done = true;
    this.#sink?.end();
  }
}

import { constants, type ServerHttp2Stream } from 'node:http2';
import type { BodySink, BodySource, TimerClock } from '../../core/index.ts';
import { type BodyTerms, NO_TERMS } from '../../http1/index.ts';
import type { PacedBody } from '../body-pace.ts';

/** Hears how the body of a request is read. */
export interface StreamBodyOwner {
  /** Called when the body has got a sink. */
  bodyStarted(): void;
  /** Called when the body turns out larger than its terms allow, which its head did not show. */
  bodyTooLarge(): void;
  /** Called when the sink of the body failed. */
  bodyFailed(fault: unknown): void;
}

/**
 * The body of a request on its stream: counted, bounded, and read only when it has a sink. Until then, and while it is paused,
 * the client may send what its window holds and no more (RFC 9113, 6.9).
 */
export class StreamBody implements BodySource, PacedBody {
  readonly #stream: ServerHttp2Stream;
  readonly #owner: StreamBodyOwner;
  #sink: BodySink | null = null;
  #dropped = false;
  terms = NO_TERMS;
  started = false;
  paused = false;
  /** True if it was paused at some moment since the last sweep. */
  stoodStill = false;
  /** True once its last byte has been handed on. */
  done = false;
  bytes = 0;
  /** Size of the trailers in bytes, as HTTP/1.1 would write them. */
  trailerBytes = 0;
  /** How many pieces were read. A DATA frame that is not empty comes as one or several. */
  pieces = 0;

  constructor(stream: ServerHttp2Stream, owner: StreamBodyOwner) {
    this.#stream = stream;
    this.#owner = owner;
    stream.on('trailers', trailers => {
      for (const name in trailers) this.trailerBytes += name.length + 4 + String(trailers[name]).length;
    });
  }

  get flows(): boolean {
    return this.started && !this.paused && !this.done && !this.#dropped;
  }

  /** Sets the terms, before the body is started. */
  withTerms(terms: BodyTerms): this {
    this.terms = terms;
    return this;
  }

  start(sink: BodySink): void {
    this.started = true;
    this.#sink = sink;
    this.#stream.on('data', (bytes: Buffer) => this.#onData(bytes));
    this.#stream.on('end', () => this.#onEnd());
    this.#owner.bodyStarted();
    // An empty body may have ended before: Node says so at once, even if nothing reads.
    if (this.#stream.readableEnded) this.#onEnd();
  }

  pause(): void {
    this.paused = true;
    this.stoodStill = true;
    this.#stream.pause();
  }

  resume(): void {
    this.paused = false;
    this.#stream.resume();
  }

  /** Passes nothing on from here. */
  stop(): void {
    this.#sink = null;
  }

  /** Passes nothing on from here, but reads on for up to so many bytes and milliseconds. Then the stream is reset. */
  drop(maxBytes: number, maxMs: number, clock: TimerClock): void {
    this.stop();
    // Nothing waits for the body any longer, so its terms end.
    this.#dropped = true;
    this.terms = NO_TERMS;
    const stream = this.#stream;
    const timer = clock.after(maxMs, () => closeWhenSent(stream));
    stream.once('close', () => clock.cancel(timer));
    let left = maxBytes;
    stream.on('data', (bytes: Buffer) => {
      this.pieces++;
      if (left >= 0 && bytes.length > left) closeWhenSent(stream);
      left -= bytes.length;
    });
    stream.resume();
  }

  #onData(bytes: Buffer): void {
    try {
      this.#handOn(bytes);
    } catch (fault) {
      this.#failed(fault);
    }
  }

  /** Reports what the sink threw: nothing above a stream's events would catch it. */
  #failed(fault: unknown): void {
    this.stop();
    this.#owner.bodyFailed(fault);
  }

  #handOn(bytes: Buffer): void {
    if (this.#sink === null) return;
    this.pieces++;
    this.bytes += bytes.length;
    const { maxBytes } = this.terms;
    if (maxBytes !== null && this.bytes > maxBytes) {
      this.stop();
      this.#owner.bodyTooLarge();
    } else if (!this.#sink.chunk(bytes)) this.pause();
  }

  /**
   * Ends the body, unless the client has reset the stream: with NO_ERROR, Node ends the readable side like any other, although only
   * a part may have come. Drops the trailers of a request, since no one asked for them (RFC 9110, 6.5.1).
   */
  #onEnd(): void {
    if (this.#stream.aborted || this.#sink === null) return;
    this.done = true;
    try {
      this.#sink.end();
    } catch (fault) {
      this.#failed(fault);
    }
  }
}

/**
 * Tells the client that what is left of its request is not wanted, once it has the whole response (RFC 9113, 8.1).
 *
 * `close` marks a stream as closed at once, and Node does not reset a closed stream that it destroys. If data still waits there
 * for the client's window, nghttp2 then sends empty DATA frames in an endless loop.
 */
export function closeWhenSent(stream: ServerHttp2Stream): void {
  const close = () => {
    if (!stream.closed) stream.close(constants.NGHTTP2_NO_ERROR);
  };
  if (stream.writableFinished) close();
  else stream.once('finish', close);
}

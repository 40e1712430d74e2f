import type { ByteSink, ByteStream, Timer, TimerClock } from '../../../core/index.ts';
import type { Successor } from '../../../gateway/index.ts';
import { ErrorCode, type ServerStream } from '../../../wire/http2/index.ts';
import type { ReadTerms } from '../read-pace.ts';
import { StreamReadPace } from './stream-read-pace.ts';

/** How long a client may take to read the rest once the WebSocket is to end. */
const END_SOON_MS = 5_000;

/** A stream whose request became a WebSocket (RFC 8441): bytes both ways. A reset corresponds to the end of a connection. */
export class StreamTunnel implements ByteStream {
  readonly #stream: ServerStream;
  readonly #successor: Successor;
  readonly #clock: TimerClock;
  readonly #left: () => void;
  readonly #over: () => void;
  #sink: ByteSink | null = null;
  #isPaused = false;
  #isGone = false;
  readonly #waiting: (() => void)[] = [];
  #ending: Timer | null = null;
  readonly #pace = new StreamReadPace();

  /**
   * @param left called after a write that could not be completed at once
   * @param over called once, when the stream is closed
   */
  constructor(
    stream: ServerStream,
    successor: Successor,
    clock: TimerClock,
    { left, over }: { readonly left: () => void; readonly over: () => void },
  ) {
    this.#stream = stream;
    this.#successor = successor;
    this.#clock = clock;
    this.#left = left;
    this.#over = over;
  }

  start(sink: ByteSink): void {
    this.#sink = sink;
    if (this.#isGone) process.nextTick(() => sink.closed());
    else this.#stream.resume();
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    this.#stream.resume();
  }

  write(bytes: Uint8Array): boolean {
    if (this.#stream.isClosed || this.#stream.isAnswered) return true;
    const isTaken = this.#stream.write(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
    if (!isTaken) this.#left();
    return isTaken;
  }

  end(): void {
    this.#stream.end();
  }

  endSoon(): void {
    if (this.#isGone || this.#ending !== null) return;
    this.#ending = this.#clock.after(END_SOON_MS, () => this.destroy());
    this.#stream.end();
    this.#stream.dropRest();
  }

  destroy(): void {
    this.#stream.cancel(ErrorCode.CANCEL);
    this.gone();
  }

  whenGone(then: () => void): void {
    if (this.#isGone) process.nextTick(then);
    else this.#waiting.push(then);
  }

  /** Takes a piece of data. Returns false to pause. */
  take(bytes: Buffer): boolean {
    this.#sink?.bytes(bytes);
    return !this.#isPaused;
  }

  ended(): void {
    this.#sink?.ended();
  }

  drained(): void {
    this.#sink?.drained();
  }

  gone(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#clock.cancel(this.#ending);
    this.#over();
    this.#sink?.closed();
    for (const then of this.#waiting) then();
  }

  /** Returns whether it ended because the client takes too little of what is written to it. */
  sweep(nowMs: number, terms: ReadTerms): boolean {
    const isSlow = this.#pace.isTooSlow(nowMs, this.#stream, terms);
    if (isSlow) this.destroy();
    this.#successor.sweep(nowMs);
    return isSlow;
  }
}

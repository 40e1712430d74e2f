import { type ByteSink, type ByteStream, StallTimer, type Timer, type TimerClock } from '../../core/index.ts';
import type { Successor } from '../../gateway/index.ts';
import { ErrorCode, type ServerStream } from '../../http2/index.ts';

/** For a client that takes no more bytes. */
const END_SOON_MS = 5_000;

/** A stream whose request was answered with a WebSocket (RFC 8441): bytes both ways. A reset stands for the end of a connection. */
export class StreamTunnel implements ByteStream {
  readonly #stream: ServerStream;
  readonly #successor: Successor;
  readonly #clock: TimerClock;
  readonly #over: () => void;
  #sink: ByteSink | null = null;
  #isPaused = false;
  #isGone = false;
  readonly #waiting: (() => void)[] = [];
  #ending: Timer | null = null;
  readonly #stall = new StallTimer();
  #unsent = 0;

  /** @param over called once, when the stream is closed */
  constructor(stream: ServerStream, successor: Successor, clock: TimerClock, over: () => void) {
    this.#stream = stream;
    this.#successor = successor;
    this.#clock = clock;
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
    return this.#stream.write(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
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

  /** Takes a piece that came. Returns false to get no more for now. */
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

  /** Notes that the stream is closed. */
  gone(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#clock.cancel(this.#ending);
    this.#over();
    this.#sink?.closed();
    for (const then of this.#waiting) then();
  }

  /** @param readMs how long the client may take nothing of what is written to it */
  sweep(nowMs: number, readMs: number): void {
    const { unsent } = this.#stream;
    const moved = unsent === 0 || unsent !== this.#unsent;
    this.#unsent = unsent;
    if (this.#stall.waitedMs(nowMs, moved) > readMs) this.destroy();
    this.#successor.sweep(nowMs);
  }

  drain(): void {
    this.#successor.drain();
  }
}

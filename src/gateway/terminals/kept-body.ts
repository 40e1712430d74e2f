import { type BodySink, type BodySource, GrowingBytes, NO_BYTES } from '../../core/index.ts';

/**
 * A short request body that can be sent again: it is kept until the upstream answers. A body in one piece is not copied, since
 * pieces are not changed after they were passed on. Several pieces are joined, since each takes 230 bytes in addition to its own.
 */
export class KeptBody implements BodySource, BodySink {
  started = false;
  readonly #source: BodySource;
  readonly #maxBytes: number;
  readonly #growing: GrowingBytes;
  /** The body so far; `null` once it is too long, or not needed any more. */
  #held: Buffer | null = NO_BYTES;
  #sink: BodySink | null = null;
  #ended = false;

  constructor(source: BodySource, maxBytes: number) {
    this.#source = source;
    this.#maxBytes = maxBytes;
    this.#growing = new GrowingBytes(maxBytes);
  }

  get bytes(): number {
    return Math.max(this.#held?.length ?? 0, this.#growing.roomBytes);
  }

  /** Whether `start` may be called again. */
  get mayRestart(): boolean {
    return this.#held !== null;
  }

  /** Passes the body to this sink, from its first byte. The previous sink must take no more. */
  start(sink: BodySink): void {
    this.#sink = sink;
    if (this.started) this.#restart(sink);
    else {
      this.started = true;
      this.#source.start(this);
    }
  }

  pause(): void {
    this.#source.pause();
  }

  resume(): void {
    this.#source.resume();
  }

  chunk(bytes: Buffer): boolean {
    this.#keep(bytes);
    return this.#sink?.chunk(bytes) === true;
  }

  end(): void {
    this.#ended = true;
    this.#sink?.end();
  }

  fail(): void {
    this.forget();
    this.#sink?.fail();
  }

  /** Drops what is kept: the upstream has answered. */
  forget(): void {
    this.#held = null;
    this.#growing.forget();
  }

  #keep(bytes: Buffer): void {
    const held = this.#held;
    if (held === null) return;
    if (held.length + bytes.length > this.#maxBytes) this.forget();
    else this.#held = held.length === 0 ? bytes : this.#growing.join(held, bytes);
  }

  #restart(sink: BodySink): void {
    const held = this.#held ?? NO_BYTES;
    const more = held.length === 0 || sink.chunk(held);
    if (this.#ended) sink.end();
    // The previous sink may have paused it.
    else if (more) this.#source.resume();
    else this.#source.pause();
  }
}

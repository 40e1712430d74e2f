import type { BodySink, BodySource } from '../../core/index.ts';

/**
 * A request's body that can be sent again while it is short: its pieces are kept until the upstream answers. They are not copied:
 * a piece is not written to again once it was handed over.
 */
export class KeptBody implements BodySource, BodySink {
  started = false;
  /** Bytes kept. */
  bytes = 0;
  readonly #source: BodySource;
  readonly #maxBytes: number;
  /** The pieces so far; `null` once they are too many, or not needed any more. */
  #pieces: Buffer[] | null = [];
  #sink: BodySink | null = null;
  #ended = false;

  constructor(source: BodySource, maxBytes: number) {
    this.#source = source;
    this.#maxBytes = maxBytes;
  }

  /** Whether `start` may be called another time. */
  get mayRestart(): boolean {
    return this.#pieces !== null;
  }

  /** Passes the body to this sink, from its first byte. The sink before it must take no more. */
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

  /** Keeps nothing any more: the upstream has answered. */
  forget(): void {
    this.#pieces = null;
    this.bytes = 0;
  }

  #keep(bytes: Buffer): void {
    if (this.#pieces === null) return;
    this.bytes += bytes.length;
    if (this.bytes > this.#maxBytes) this.forget();
    else this.#pieces.push(bytes);
  }

  #restart(sink: BodySink): void {
    let more = true;
    for (const piece of this.#pieces ?? []) more = sink.chunk(piece);
    if (this.#ended) sink.end();
    // The sink before may have paused it.
    else if (more) this.#source.resume();
    else this.#source.pause();
  }
}

import type { BodyLength, BodySink, BodySource } from '../../core/index.ts';
import type { ClientStream } from '../../http2/index.ts';

export interface BodyWriterOwner {
  /** The last byte of the request is written. */
  requestSent(): void;
  /** The body broke off: what the upstream got must not look like a whole request. */
  requestBroken(): void;
}

/** Writes the body of a request into its stream, no faster than the upstream's windows let it. */
export class BodyWriter implements BodySink {
  readonly #stream: ClientStream;
  readonly #source: BodySource;
  readonly #length: BodyLength;
  readonly #owner: BodyWriterOwner;
  #written = 0;
  #blocked = false;
  #over = false;

  constructor(stream: ClientStream, source: BodySource, length: BodyLength, owner: BodyWriterOwner) {
    this.#stream = stream;
    this.#source = source;
    this.#length = length;
    this.#owner = owner;
  }

  /** Bytes that have left. */
  get bytesTaken(): number {
    return this.#written - this.#stream.unsent;
  }

  start(): void {
    this.#source.start(this);
  }

  /** Stops writing. */
  stop(): void {
    this.#over = true;
  }

  chunk(bytes: Buffer): boolean {
    // Pauses the source: no one takes this any more.
    if (this.#over) return false;
    if (bytes.length === 0) return true;
    this.#written += bytes.length;
    if (this.#length !== 'chunked' && this.#written > this.#length) {
      this.fail();
      return false;
    }
    this.#blocked = !this.#stream.write(bytes);
    return !this.#blocked;
  }

  end(): void {
    if (this.#over) return;
    if (this.#length !== 'chunked' && this.#written !== this.#length) {
      this.fail();
      return;
    }
    this.#over = true;
    this.#stream.end();
    this.#owner.requestSent();
  }

  fail(): void {
    if (this.#over) return;
    this.#over = true;
    this.#owner.requestBroken();
  }

  drained(): void {
    if (!this.#blocked || this.#over) return;
    this.#blocked = false;
    this.#source.resume();
  }
}

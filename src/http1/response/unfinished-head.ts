import { GrowingBytes } from '../../core/index.ts';
import { PartialHead } from '../message/index.ts';

const NO_BYTES = Buffer.alloc(0);

/** The beginning of a head, kept until the rest comes. Empty for the many heads that come in one read. */
export class UnfinishedHead {
  #bytes: Buffer = NO_BYTES;
  readonly #joined = new GrowingBytes();
  readonly #partialHead = new PartialHead();

  get isEmpty(): boolean {
    return this.#bytes.length === 0;
  }

  /** Adds further bytes. Returns the head so far; null while parsing it again cannot give a new result. */
  add(bytes: Buffer, maxBytes: number): Buffer | null {
    this.#bytes = this.#joined.join(this.#bytes, bytes);
    return this.#partialHead.worthReading(this.#bytes, maxBytes) ? this.#bytes : null;
  }

  /** Keeps what was parsed and is not a whole head. `lent`: the bytes will be overwritten, so copy them. */
  keep(head: Buffer, lent: boolean): void {
    this.#partialHead.incomplete(head.length);
    this.#bytes = lent ? this.#joined.join(NO_BYTES, head) : head;
  }

  /** The head is complete, or given up. */
  forget(): void {
    this.#bytes = NO_BYTES;
    this.#joined.forget();
    this.#partialHead.complete();
  }
}

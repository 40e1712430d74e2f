import { type Fields, GrowingBytes } from '../../core/index.ts';
import { INCOMPLETE, MalformedMessage, PartialHead, readFields } from '../message/index.ts';

const MAX_BYTES = 8_192;
const MAX_FIELDS = 500;

/**
 * Framing fields behind the body that they would have framed (RFC 9110, 6.5.1) are an error or an attack. Leaving out other
 * fields that must not be trailers is up to the gateway.
 */
const NEVER_TRAILERS: ReadonlySet<string> = new Set(['content-length', 'transfer-encoding']);

/** Reads the fields behind the last chunk of a body, however they are split. */
export class TrailerSection {
  /** Null until the whole section has been read. */
  fields: Fields | null = null;
  #bytes: Buffer = Buffer.alloc(0);
  readonly #joined = new GrowingBytes(MAX_BYTES);
  readonly #pieces = new PartialHead();

  /** Returns the position behind the section's bytes. Throws MalformedMessage. */
  read(bytes: Uint8Array, at: number, end: number): number {
    const before = this.#bytes.length;
    const piece = bytes.subarray(at, Math.min(end, at + MAX_BYTES - before));
    this.#bytes = this.#joined.join(this.#bytes, piece);
    if (!this.#pieces.worthReading(this.#bytes, MAX_BYTES)) return end;
    const { length } = this.#bytes;
    const fields: string[] = [];
    const behind = readFields(this.#bytes, 0, length, this.#bytes.toString('latin1'), fields, MAX_FIELDS);
    if (behind === INCOMPLETE) {
      if (length >= MAX_BYTES) throw new MalformedMessage('trailers that are too long');
      this.#pieces.incomplete(length);
      return end;
    }
    for (let i = 0; i < fields.length; i += 2) {
      if (NEVER_TRAILERS.has((fields[i] as string).toLowerCase()))
        throw new MalformedMessage('a framing field among the trailers');
    }
    this.fields = fields;
    return at + behind - before;
  }
}

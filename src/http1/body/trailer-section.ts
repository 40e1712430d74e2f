import { type Fields, GrowingBytes } from '../../core/index.ts';
import { INCOMPLETE, MalformedMessage, PartialHead, readFields } from '../message/index.ts';

const MAX_BYTES = 8_192;
const MAX_FIELDS = 500;

/**
 * A framing field after the body it would have framed (RFC 9110, 6.5.1) is an error or an attack. The gateway drops the other
 * fields that are not allowed as trailers.
 */
const NEVER_TRAILERS: ReadonlySet<string> = new Set(['content-length', 'transfer-encoding']);

/** Reads the fields after the last chunk of a body, in however many pieces they arrive. */
export class TrailerSection {
  /** Null until the whole section has been read. */
  fields: Fields | null = null;
  #bytes: Buffer = Buffer.alloc(0);
  readonly #joined = new GrowingBytes(MAX_BYTES);
  readonly #pieces = new PartialHead();

  /** Returns the position after the section's bytes. Throws MalformedMessage. */
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

import type { Fields } from '../core/index.ts';
import { type BodyDecoder, NO_FIELDS, type PieceTaker } from './body-decoder.ts';
import { CR, HEX, LF, SEMICOLON, TEXT } from './byte-classes.ts';
import { INCOMPLETE, readFields } from './field-section.ts';
import { MalformedMessage } from './malformed-message.ts';

/** Digits of a chunk size, zeros in front included: RFC 9112, 7.1 demands that a recipient guards against overflow. */
const MAX_SIZE_DIGITS = 12;
const MAX_EXTENSION_BYTES = 256;
const MAX_TRAILER_BYTES = 8_192;
const MAX_TRAILER_FIELDS = 500;
const NO_BYTES = Buffer.alloc(0);

/** RFC 9112, 7.1.1, without the "bad" blanks that a sender must not make. */
const EXTENSIONS = /^(?:;[!#$%&'*+\-.^_`|~\w]+(?:=(?:[!#$%&'*+\-.^_`|~\w]+|"(?:[^"\\]|\\.)*"))?)+$/;

/**
 * Framing behind the body that it would have framed (RFC 9110, 6.5.1): somebody is confused, or at mischief. Other fields
 * that are no trailers are the gateway's to leave out.
 */
const NEVER_TRAILERS: ReadonlySet<string> = new Set(['content-length', 'transfer-encoding']);

/** Where in the grammar of RFC 9112, 7.1 the next byte stands. */
type Place =
  /** In the digits of a chunk's size. */
  | 'size'
  /** In the extensions behind the size. */
  | 'extension'
  /** At the LF that ends the size line. */
  | 'size LF'
  /** In a chunk's data. */
  | 'data'
  /** At the CR, then the LF, that end a chunk's data. */
  | 'data CR'
  | 'data LF'
  /** In the trailer section, up to its empty line. */
  | 'trailers'
  | 'done';

/** A body in chunks (RFC 9112, 7.1). Extensions are ignored, as 7.1.1 demands, but must be such. */
export class ChunkedBody implements BodyDecoder {
  trailers: Fields = NO_FIELDS;
  readonly #take: PieceTaker;
  #place: Place = 'size';
  #digits = 0;
  /** What the size line has said so far; then the bytes left of the chunk. */
  #size = 0;
  #extension = '';
  #trailerBytes: Buffer = NO_BYTES;

  constructor(take: PieceTaker) {
    this.#take = take;
  }

  get done(): boolean {
    return this.#place === 'done';
  }

  decode(bytes: Uint8Array, at: number, end: number): number {
    while (at < end && this.#place !== 'done') {
      if (this.#place === 'data') at = this.#readData(bytes, at, end);
      else if (this.#place === 'trailers') at = this.#readTrailers(bytes, at, end);
      else this.#readByte(bytes[at++] as number);
    }
    return at;
  }

  #readData(bytes: Uint8Array, at: number, end: number): number {
    const to = Math.min(end, at + this.#size);
    this.#size -= to - at;
    if (this.#size === 0) this.#place = 'data CR';
    this.#take(bytes, at, to);
    return to;
  }

  /** One byte of what frames the chunks. */
  #readByte(byte: number): void {
    switch (this.#place) {
      case 'size':
        if ((HEX[byte] as number) >= 0) this.#readDigit(HEX[byte] as number);
        else this.#endSize(byte);
        break;
      case 'extension':
        if (byte === CR) this.#endExtension();
        else this.#extend(byte);
        break;
      case 'size LF':
        this.#expect(byte, LF, 'data');
        // The last chunk has no data: behind its size line stand the trailers.
        if (this.#size === 0) this.#place = 'trailers';
        break;
      case 'data CR':
        this.#expect(byte, CR, 'data LF');
        break;
      case 'data LF':
        this.#expect(byte, LF, 'size');
        this.#digits = 0;
        break;
    }
  }

  #readDigit(value: number): void {
    if (++this.#digits > MAX_SIZE_DIGITS) throw new MalformedMessage('a chunk size of too many digits');
    this.#size = this.#size * 16 + value;
  }

  /** A size needs a digit; behind it stand the end of the line or extensions, nothing else. */
  #endSize(byte: number): void {
    if (this.#digits === 0 || (byte !== CR && byte !== SEMICOLON))
      throw new MalformedMessage('a chunk size that is none');
    this.#place = byte === CR ? 'size LF' : 'extension';
    this.#extension = byte === CR ? '' : ';';
  }

  #extend(byte: number): void {
    if (TEXT[byte] !== 1 || this.#extension.length === MAX_EXTENSION_BYTES)
      throw new MalformedMessage('a chunk extension that is none, or too long');
    this.#extension += String.fromCharCode(byte);
  }

  #endExtension(): void {
    if (!EXTENSIONS.test(this.#extension)) throw new MalformedMessage('a chunk extension that is none');
    this.#place = 'size LF';
  }

  #expect(byte: number, expected: number, next: Place): void {
    if (byte !== expected)
      throw new MalformedMessage('a chunk that is longer than its size, or a line without CRLF');
    this.#place = next;
  }

  /** The trailer section is read again from its start with each piece: it is short, and mostly an empty line. */
  #readTrailers(bytes: Uint8Array, at: number, end: number): number {
    const before = this.#trailerBytes.length;
    const section = Buffer.concat([
      this.#trailerBytes,
      bytes.subarray(at, Math.min(end, at + MAX_TRAILER_BYTES)),
    ]);
    const fields: string[] = [];
    const behind = readFields(
      section,
      0,
      section.length,
      section.toString('latin1'),
      fields,
      MAX_TRAILER_FIELDS,
    );
    if (behind === INCOMPLETE) {
      if (section.length >= MAX_TRAILER_BYTES) throw new MalformedMessage('trailers that are too long');
      this.#trailerBytes = section;
      return end;
    }
    for (let i = 0; i < fields.length; i += 2) {
      if (NEVER_TRAILERS.has((fields[i] as string).toLowerCase()))
        throw new MalformedMessage('a field that is no trailer');
    }
    this.trailers = fields;
    this.#place = 'done';
    return at + behind - before;
  }
}

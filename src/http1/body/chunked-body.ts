import type { Fields } from '../../core/index.ts';
import { CR, HEX, LF, MalformedMessage, SEMICOLON } from '../message/index.ts';
import { type BodyDecoder, NO_FIELDS, type PieceTaker } from './body-decoder.ts';
import { ChunkExtensions } from './chunk-extensions.ts';
import { TrailerSection } from './trailer-section.ts';

/** Digits of a chunk size, leading zeros included: RFC 9112, 7.1 makes the recipient guard against overflow. */
const MAX_SIZE_DIGITS = 12;

/** Where in the grammar of RFC 9112, 7.1 the next byte stands. */
type Place =
  /** In the digits of a chunk's size. */
  | 'size'
  /** In the extensions after the size. */
  | 'extensions'
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

/** A body in chunks (RFC 9112, 7.1). Extensions are ignored, as 7.1.1 requires, but must be well-formed. */
export class ChunkedBody implements BodyDecoder {
  trailers: Fields = NO_FIELDS;
  readonly #take: PieceTaker;
  readonly #maxExtensionBytes: number;
  #place: Place = 'size';
  #digits = 0;
  /** The size read so far; then the bytes left of the chunk. */
  #size = 0;
  /** Null until one comes: they are rare. */
  #extensions: ChunkExtensions | null = null;
  #trailers: TrailerSection | null = null;

  /** @param maxExtensionBytes of all its chunks together; those of one chunk have a limit of their own */
  constructor(take: PieceTaker, maxExtensionBytes: number) {
    this.#take = take;
    this.#maxExtensionBytes = maxExtensionBytes;
  }

  get done(): boolean {
    return this.#place === 'done';
  }

  decode(bytes: Uint8Array, at: number, end: number): number {
    while (at < end) {
      switch (this.#place) {
        case 'size':
          at = this.#readSize(bytes, at, end);
          break;
        case 'extensions':
          at = this.#readExtensions(bytes, at, end);
          break;
        case 'size LF':
          // The last chunk has no data: trailers follow its size line.
          this.#expect(bytes[at++], LF, this.#size === 0 ? 'trailers' : 'data');
          break;
        case 'data':
          at = this.#readData(bytes, at, end);
          break;
        case 'data CR':
          this.#expect(bytes[at++], CR, 'data LF');
          break;
        case 'data LF':
          this.#expect(bytes[at++], LF, 'size');
          this.#digits = 0;
          break;
        case 'trailers':
          at = this.#readTrailers(bytes, at, end);
          break;
        case 'done':
          return at;
      }
    }
    return at;
  }

  #readSize(bytes: Uint8Array, at: number, end: number): number {
    for (; at < end; at++) {
      const value = HEX[bytes[at] as number] as number;
      if (value < 0) {
        this.#endSize(bytes[at]);
        return at + 1;
      }
      if (++this.#digits > MAX_SIZE_DIGITS) throw new MalformedMessage('a chunk size of too many digits');
      this.#size = this.#size * 16 + value;
    }
    return at;
  }

  /** A size needs a digit; after it comes the end of the line or an extension. */
  #endSize(byte: number | undefined): void {
    if (this.#digits === 0 || (byte !== CR && byte !== SEMICOLON))
      throw new MalformedMessage('a malformed chunk size');
    this.#place = byte === CR ? 'size LF' : 'extensions';
  }

  #readExtensions(bytes: Uint8Array, at: number, end: number): number {
    this.#extensions ??= new ChunkExtensions(this.#maxExtensionBytes);
    at = this.#extensions.read(bytes, at, end);
    if (this.#extensions.over) this.#place = 'size LF';
    return at;
  }

  #readData(bytes: Uint8Array, at: number, end: number): number {
    const to = Math.min(end, at + this.#size);
    this.#size -= to - at;
    if (this.#size === 0) this.#place = 'data CR';
    this.#take(bytes, at, to);
    return to;
  }

  #expect(byte: number | undefined, expected: number, next: Place): void {
    if (byte !== expected)
      throw new MalformedMessage('a chunk that is longer than its size, or a line without CRLF');
    this.#place = next;
  }

  #readTrailers(bytes: Uint8Array, at: number, end: number): number {
    // Usually there are none.
    if (this.#trailers === null && bytes[at] === CR && at + 1 < end && bytes[at + 1] === LF) {
      this.#place = 'done';
      return at + 2;
    }
    this.#trailers ??= new TrailerSection();
    at = this.#trailers.read(bytes, at, end);
    if (this.#trailers.fields === null) return at;
    this.trailers = this.#trailers.fields;
    this.#place = 'done';
    return at;
  }
}

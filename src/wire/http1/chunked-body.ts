import { type Fields, GrowingBytes } from '../../core/index.ts';
import { lenientSectionEnd, strictSection } from './lenient-response.ts';
import type { BodyDecoder, PieceTaker } from './message.ts';
import {
  CR,
  HEX,
  INCOMPLETE,
  LF,
  MalformedMessage,
  NO_FIELDS,
  PartialHead,
  readFields,
  SEMICOLON,
  SPACE,
  TAB,
  TEXT,
  TOKEN,
} from './message.ts';

/** Maximum digits of a chunk size, including leading zeros: RFC 9112, 7.1 requires recipients to guard against overflow. */
const MAX_SIZE_DIGITS = 12;

/**
 * The position of the next byte in the grammar of RFC 9112, 7.1.
 *
 * - `size` to `extensions` at a semicolon, to `size LF` at a CR; `extensions` to `size LF` at their CR
 * - `size LF` to `data`, or to `trailers` if the size was 0
 * - `data` to `data CR` after as many bytes as the size says, then to `data LF`, then to `size` of the next chunk
 * - `trailers` to `done` after an empty line
 */
type Place =
  /** Among the digits of a chunk's size. */
  | 'size'
  /** Among the extensions after the size. */
  | 'extensions'
  /** Among blanks after the size, which only a lenient reader accepts. */
  | 'size blanks'
  /** At the LF that ends the size line. */
  | 'size LF'
  /** Inside a chunk's data. */
  | 'data'
  /** At the CR, then the LF, that end a chunk's data. */
  | 'data CR'
  | 'data LF'
  /** Inside the trailer section, up to its empty line. */
  | 'trailers'
  | 'done';

/** A chunked body (RFC 9112, 7.1). Extensions are ignored, as 7.1.1 requires, but must be well-formed. */
export class ChunkedBody implements BodyDecoder {
  trailers: Fields = NO_FIELDS;
  readonly #take: PieceTaker;
  readonly #maxExtensionBytes: number;
  #place: Place = 'size';
  #digits = 0;
  /** The size read so far; then the remaining bytes of the chunk. */
  #size = 0;
  /** Reads extensions; `null` until there are some, since they are rare. */
  #extensions: ChunkExtensions | null = null;
  #trailers: TrailerSection | null = null;
  readonly #lenient: boolean;
  #blanks = 0;

  /**
   * @param maxExtensionBytes maximum bytes of extensions in all chunks together; those of one chunk have a separate limit
   * @param lenient whether lines may end without CR, and whether blanks may follow a size
   */
  constructor(take: PieceTaker, maxExtensionBytes: number, lenient = false) {
    this.#take = take;
    this.#lenient = lenient;
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
        case 'size blanks':
          this.#endSize(bytes[at++]);
          break;
        case 'size LF':
          // The last chunk has no data: trailers follow its size line.
          this.#expect(bytes[at++], LF, this.#size === 0 ? 'trailers' : 'data');
          break;
        case 'data':
          at = this.#readData(bytes, at, end);
          break;
        case 'data CR':
          if (!this.#lenient || bytes[at] === CR) this.#expect(bytes[at++], CR, 'data LF');
          else this.#place = 'data LF';
          break;
        case 'data LF':
          this.#expect(bytes[at++], LF, 'size');
          this.#digits = 0;
          this.#blanks = 0;
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

  /** Ends the size, which needs a digit. The end of the line or an extension follows. */
  #endSize(byte: number | undefined): void {
    if (this.#lenient && this.#endsLeniently(byte)) return;
    if (this.#digits === 0 || (byte !== CR && byte !== SEMICOLON))
      throw new MalformedMessage('a malformed chunk size');
    this.#place = byte === CR ? 'size LF' : 'extensions';
  }

  /** Takes a blank after the size, or a line end without CR. */
  #endsLeniently(byte: number | undefined): boolean {
    const isBlank = byte === SPACE || byte === TAB;
    if (this.#digits === 0 || (!isBlank && byte !== LF)) return false;
    if (!isBlank) this.#expect(byte, LF, this.#size === 0 ? 'trailers' : 'data');
    else if (++this.#blanks > MAX_LINE_BYTES) throw new MalformedMessage('a malformed chunk size');
    else this.#place = 'size blanks';
    return true;
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
    this.#trailers ??= new TrailerSection(this.#lenient);
    at = this.#trailers.read(bytes, at, end);
    if (this.#trailers.fields === null) return at;
    this.trailers = this.#trailers.fields;
    this.#place = 'done';
    return at;
  }
}

/** Maximum bytes of extensions in one chunk. */
const MAX_LINE_BYTES = 256;

const QUOTE = 0x22;
const EQUALS = 0x3d;
const BACKSLASH = 0x5c;

// The position of the next byte in a chunk's extensions. RFC 9112, 7.1.1, without the "bad" whitespace, which a sender must not
// generate: `*( ";" chunk-ext-name [ "=" chunk-ext-val ] )`, the value a token or a quoted string (RFC 9110, 5.6.4).
const NAME_START = 0;
const NAME = 1;
const VALUE_START = 2;
const VALUE = 3;
const QUOTED = 4;
const ESCAPED = 5;
const QUOTED_END = 6;
const END = 7;
const WRONG = 8;

/** The next position for each position and byte, at `position * 256 + byte`. */
const STEPS = new Uint8Array(END * 256).fill(WRONG);
for (let byte = 0; byte < 256; byte++) {
  if (TOKEN[byte] === 1) {
    for (const place of [NAME_START, NAME]) STEPS[place * 256 + byte] = NAME;
    for (const place of [VALUE_START, VALUE]) STEPS[place * 256 + byte] = VALUE;
  }
  if (TEXT[byte] === 1) for (const place of [QUOTED, ESCAPED]) STEPS[place * 256 + byte] = QUOTED;
}
STEPS[NAME * 256 + EQUALS] = VALUE_START;
STEPS[VALUE_START * 256 + QUOTE] = QUOTED;
STEPS[QUOTED * 256 + BACKSLASH] = ESCAPED;
STEPS[QUOTED * 256 + QUOTE] = QUOTED_END;
for (const place of [NAME, VALUE, QUOTED_END]) {
  STEPS[place * 256 + SEMICOLON] = NAME_START;
  STEPS[place * 256 + CR] = END;
}

/** Checks and skips the extensions of a body's chunks. */
class ChunkExtensions {
  #place = NAME_START;
  #lineBytes = 0;
  #bodyBytes = 0;
  readonly #maxBodyBytes: number;

  /** @param maxBodyBytes maximum bytes in all chunks of the body together */
  constructor(maxBodyBytes: number) {
    this.#maxBodyBytes = maxBodyBytes;
  }

  /** True once the extensions of the current chunk have been read, including the CR after them. */
  get over(): boolean {
    return this.#place === END;
  }

  /**
   * Reads a chunk's extensions after their first semicolon, and when they are over, those of the next chunk. Returns the position
   * after them. Throws MalformedMessage.
   */
  read(bytes: Uint8Array, at: number, end: number): number {
    if (this.over) {
      this.#place = NAME_START;
      this.#lineBytes = 0;
    }
    let place = this.#place;
    const from = at;
    while (at < end && place < END) place = STEPS[place * 256 + (bytes[at++] as number)] as number;
    this.#place = place;
    this.#lineBytes += at - from;
    this.#bodyBytes += at - from;
    if (place === WRONG) throw new MalformedMessage('a malformed chunk extension');
    if (this.#lineBytes > MAX_LINE_BYTES || this.#bodyBytes > this.#maxBodyBytes)
      throw new MalformedMessage('chunk extensions that are too long');
    return at;
  }
}

/** Writes the line before a chunk of this many bytes (RFC 9112, 7.1). Pass at least 1: a chunk of 0 ends the body. */
export function chunkSize(bytes: number): string {
  return `${bytes.toString(16)}\r\n`;
}

/** The last chunk without the trailer section that follows it (RFC 9112, 7.1). */
export const LAST_CHUNK = '0\r\n';

const MAX_BYTES = 8_192;
const LINE_END = Buffer.from('\n');
const MAX_FIELDS = 500;

/**
 * Fields that frame a body: after the body, they are an error or an attack (RFC 9110, 6.5.1). Other fields that are not allowed
 * as trailers are dropped by the gateway.
 */
const NEVER_TRAILERS: ReadonlySet<string> = new Set(['content-length', 'transfer-encoding']);

/** Reads the fields after the last chunk of a body, in however many pieces they arrive. */
class TrailerSection {
  /** The trailer fields; `null` until the whole section has been read. */
  fields: Fields | null = null;
  #bytes: Buffer = Buffer.alloc(0);
  readonly #joined = new GrowingBytes(MAX_BYTES);
  readonly #pieces = new PartialHead();
  readonly #lenient: boolean;

  /** @param lenient whether lines may end without CR */
  constructor(lenient: boolean) {
    this.#lenient = lenient;
  }

  /** Reads the section's bytes and returns the position after them. Throws MalformedMessage. */
  read(bytes: Uint8Array, at: number, end: number): number {
    const before = this.#bytes.length;
    const piece = bytes.subarray(at, Math.min(end, at + MAX_BYTES - before));
    this.#bytes = this.#joined.join(this.#bytes, piece);
    if (this.#lenient) return this.#readLeniently(at, end, before);
    if (!this.#pieces.isParsingDue(this.#bytes, MAX_BYTES)) return end;
    const { length } = this.#bytes;
    const fields: string[] = [];
    const behind = readFields(this.#bytes, 0, length, this.#bytes.toString('latin1'), fields, MAX_FIELDS);
    if (behind === INCOMPLETE) {
      if (length >= MAX_BYTES) throw new MalformedMessage('trailers that are too long');
      this.#pieces.incomplete(length);
      return end;
    }
    this.#accept(fields);
    return at + behind - before;
  }

  /** As `read`, once the section is complete. That is cheap: the section is short, and the servers that need this send none. */
  #readLeniently(at: number, end: number, before: number): number {
    // After a line end, the section may consist of its empty line only.
    const behind = lenientSectionEnd(Buffer.concat([LINE_END, this.#bytes]), this.#bytes.length + 1) - 1;
    if (behind < 0) {
      if (this.#bytes.length >= MAX_BYTES) throw new MalformedMessage('trailers that are too long');
      return end;
    }
    const text = strictSection(this.#bytes.toString('latin1', 0, behind));
    const strict = Buffer.from(text, 'latin1');
    const fields: string[] = [];
    readFields(strict, 0, strict.length, text, fields, MAX_FIELDS);
    this.#accept(fields);
    return at + behind - before;
  }

  #accept(fields: Fields): void {
    for (let i = 0; i < fields.length; i += 2) {
      if (NEVER_TRAILERS.has((fields[i] as string).toLowerCase()))
        throw new MalformedMessage('a framing field among the trailers');
    }
    this.fields = fields;
  }
}

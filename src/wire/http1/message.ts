import type { Fields } from '../../core/index.ts';

const NONE: readonly string[] = [];
const KEEP_ALIVE: readonly string[] = ['keep-alive'];
const CLOSE: readonly string[] = ['close'];

/**
 * Returns the options of a `Connection` value in lower case, since they are case-insensitive (RFC 9110, 7.6.1), without empty
 * ones.
 */
export function connectionOptions(value: string): readonly string[] {
  // Nearly all values are `keep-alive` or `close`.
  if (value === 'keep-alive' || value === 'Keep-Alive') return KEEP_ALIVE;
  if (value === 'close') return CLOSE;
  return value
    .toLowerCase()
    .split(',')
    .map(withoutBlanks)
    .filter(option => option !== '');
}

/** Returns the options that are names of hop-by-hop fields, so not `close` and `keep-alive`. */
export function hopFieldNames(options: readonly string[]): readonly string[] {
  if (options === KEEP_ALIVE || options === CLOSE) return NONE;
  return options.filter(option => option !== 'close' && option !== 'keep-alive');
}

/**
 * Trims spaces and tabs only (RFC 9110, 5.6.3), while `trim` would also drop 0xa0. Hand-written: a pattern for trailing blanks
 * takes quadratic time for a value with many blanks in the middle.
 */
function withoutBlanks(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isBlankByte(text[start])) start++;
  while (end > start && isBlankByte(text[end - 1])) end--;
  return text.slice(start, end);
}

function isBlankByte(character: string | undefined): boolean {
  return character === ' ' || character === '\t';
}

/** The byte classes of HTTP's grammar as tables: one lookup per byte. */

export const TAB = 9;
export const LF = 10;
export const CR = 13;
export const SPACE = 32;
const COLON = 58;
export const SEMICOLON = 59;

const TOKEN_PUNCTUATION = "!#$%&'*+-.^_`|~";

/** Holds 1 for each byte of a token, such as a field name. RFC 9110, 5.6.2: `tchar`. */
export const TOKEN = tableOf(
  byte => TOKEN_PUNCTUATION.includes(String.fromCharCode(byte)) || isDigit(byte) || isLetter(byte),
);

/**
 * Holds 1 for each byte of a field value or a reason phrase. RFC 9110, 5.5 and RFC 9112, 4: visible characters, blanks, and
 * opaque bytes from 0x80 on; the tab is the only control byte.
 */
export const TEXT = tableOf(byte => byte === TAB || (byte >= SPACE && byte !== 0x7f));

/** The value of a hexadecimal digit, in either case; -1 for every other byte. RFC 5234, B.1: `HEXDIG`. */
export const HEX = Int8Array.from({ length: 256 }, (_, byte) => {
  const value = Number.parseInt(String.fromCharCode(byte), 16);
  return Number.isNaN(value) ? -1 : value;
});

/** Whether a byte is a space or a tab, as in `OWS` (RFC 9110, 5.6.3). */
function isBlank(byte: number | undefined): boolean {
  return byte === SPACE || byte === TAB;
}

function tableOf(holds: (byte: number) => boolean): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, byte) => (holds(byte) ? 1 : 0));
}

export function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

function isLetter(byte: number): boolean {
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x7a;
}

/** Returned by `readFields` and `lineEnd` when the bytes are well-formed so far but do not reach the end. */
export const INCOMPLETE = -1;

/**
 * Reads header or trailer fields from `at` up to the empty line after them and adds each name and value to `fields`. Returns the
 * position after the empty line, or `INCOMPLETE`: then `fields` is incomplete and must be discarded. Throws MalformedMessage at
 * the first invalid byte.
 *
 * RFC 9112, 5: `field-line = field-name ":" OWS field-value OWS`, and each ends in CRLF.
 *
 * @param text the same bytes as a latin-1 string, from which names and values are cut
 * @param maxFields more are rejected
 */
export function readFields(
  bytes: Uint8Array,
  at: number,
  end: number,
  text: string,
  fields: string[],
  maxFields: number,
): number {
  for (;;) {
    if (bytes[at] === CR && at < end) return lineEnd(bytes, at, end);
    // RFC 9112, 5.1: no blank before the colon, or parsers disagree on the name. A line that begins with a blank would continue
    // the previous one (5.2, obs-fold); it is rejected here as well, since a name cannot begin with one.
    const name = at;
    while (at < end && TOKEN[bytes[at] as number] === 1) at++;
    if (at === end) return INCOMPLETE;
    const colon = at;
    if (colon === name || bytes[colon] !== COLON)
      throw new MalformedMessage(
        isBlank(bytes[name]) ? 'a field over several lines' : 'a malformed field name',
      );
    // RFC 9112, 5.1: blanks around the value are not part of it.
    at++;
    while (at < end && isBlank(bytes[at])) at++;
    const value = at;
    while (at < end && TEXT[bytes[at] as number] === 1) at++;
    let valueEnd = at;
    while (valueEnd > value && isBlank(bytes[valueEnd - 1])) valueEnd--;
    at = lineEnd(bytes, at, end);
    if (at === INCOMPLETE) return INCOMPLETE;
    if (fields.length === 2 * maxFields) throw new MalformedMessage('too many fields');
    fields.push(text.slice(name, colon), text.slice(value, valueEnd));
  }
}

/**
 * Returns the position after the CRLF at `at`. Rejects a bare LF, which RFC 9112, 2.2 allows a recipient to accept: parsers that
 * do disagree with those that do not. Rejects a CR without LF for the same reason.
 */
export function lineEnd(bytes: Uint8Array, at: number, end: number): number {
  if (at < end && bytes[at] !== CR)
    throw new MalformedMessage('a control byte, or a line that does not end in CRLF');
  if (at + 1 >= end) return INCOMPLETE;
  if (bytes[at + 1] !== LF) throw new MalformedMessage('a CR without LF');
  return at + 2;
}

/** Thrown for bytes that cannot be an HTTP/1.1 message. The text is for the log and the client: it repeats none of the bytes. */
export class MalformedMessage extends Error {
  override readonly name = 'MalformedMessage';
}

/** Heads shorter than this are parsed at each piece: that costs little and finds faults at once. */
const SHORT_BYTES = 1_024;
const SECTION_END = Buffer.from('\r\n\r\n');

/** Returns the position after the first empty line from `at` on, or `end` if there is none before it. */
export function sectionEnd(bytes: Buffer, at: number, end: number): number {
  const found = bytes.indexOf(SECTION_END, at);
  return found < 0 ? end : Math.min(end, found + SECTION_END.length);
}

/**
 * Decides when to parse a head or trailer section that arrives in pieces again, since each parse begins at its first byte: when
 * it may be complete, or has doubled in length. Parsing on each piece would let one byte cost a pass over a megabyte.
 */
export class PartialHead {
  /** The size of the head when it was last parsed. */
  #bytes = 0;
  /** How many of its bytes were searched for its end. */
  #searched = 0;

  /** Whether parsing these bytes may give a new result. A head of `maxBytes` without an end does: it is too long. */
  isParsingDue(bytes: Buffer, maxBytes: number): boolean {
    const { length } = bytes;
    if (length < SHORT_BYTES || length >= 2 * this.#bytes || length >= maxBytes) return true;
    const from = Math.max(0, this.#searched - SECTION_END.length);
    this.#searched = length;
    return this.hasEnd(bytes, from);
  }

  protected hasEnd(bytes: Buffer, from: number): boolean {
    return bytes.indexOf(SECTION_END, from) >= 0;
  }

  /** Called when the head was parsed and is not complete. */
  incomplete(bytes: number): void {
    this.#bytes = bytes;
    this.#searched = bytes;
  }

  /** Called when the head is complete: the next bytes begin another. */
  complete(): void {
    this.#bytes = 0;
    this.#searched = 0;
  }
}

/** Takes the pieces of a body as they are found: `bytes` from `from` to `to`. */
export type PieceTaker = (bytes: Uint8Array, from: number, to: number) => void;

/** Finds the body in the bytes after a head. */
export interface BodyDecoder {
  /** True once the body is complete. */
  readonly done: boolean;
  readonly trailers: Fields;
  /**
   * Reads the body's bytes from `at` up to `end`. Returns the position after them: `end`, unless the body is done. Throws
   * MalformedMessage.
   */
  decode(bytes: Uint8Array, at: number, end: number): number;
}

export const NO_FIELDS: Fields = [];

/** Limits on how a request's body is sent. */
export interface BodyTerms {
  /** Largest body on the wire, chunk framing included; `null` for no limit. */
  readonly maxBytes: number | null;
  /** Minimum bytes per second, averaged over the time in which the body was read, once that is 30 s; `null` for no limit. */
  readonly minBytesPerS: number | null;
  /** Maximum time for reading it; `null` for no limit. */
  readonly deadlineMs: number | null;
}

export const NO_TERMS: BodyTerms = { maxBytes: null, minBytesPerS: null, deadlineMs: null };

/** A body of a known number of bytes (RFC 9112, 6.2). */
export class LengthBody implements BodyDecoder {
  readonly trailers = NO_FIELDS;
  #left: number;
  readonly #take: PieceTaker;

  constructor(length: number, take: PieceTaker) {
    this.#left = length;
    this.#take = take;
  }

  get done(): boolean {
    return this.#left === 0;
  }

  decode(bytes: Uint8Array, at: number, end: number): number {
    const to = Math.min(end, at + this.#left);
    this.#left -= to - at;
    if (to > at) this.#take(bytes, at, to);
    return to;
  }
}

/** A body that ends with the connection (RFC 9112, 6.3, rule 8): never done on its own. */
export class UntilCloseBody implements BodyDecoder {
  readonly done = false;
  readonly trailers = NO_FIELDS;
  readonly #take: PieceTaker;

  constructor(take: PieceTaker) {
    this.#take = take;
  }

  decode(bytes: Uint8Array, at: number, end: number): number {
    if (end > at) this.#take(bytes, at, end);
    return end;
  }
}

/** Up to this many bytes are moved one by one, which is cheaper than a call. */
const FEW_BYTES = 32;

/**
 * Joins the data of all chunks in one read, overwriting the framing between them. A chunk may contain a single byte: passed on
 * one by one, every six bytes from a sender would cost a write.
 */
export class JoinedPieces {
  /** Where the joined data begins in the current bytes; `to` is where it ends. */
  from = 0;
  to = 0;

  get isEmpty(): boolean {
    return this.to === this.from;
  }

  /** Starts with other bytes. */
  reset(): void {
    this.from = 0;
    this.to = 0;
  }

  /** Adds the bytes from `from` up to `to`, which come after those already found. */
  add(bytes: Uint8Array, from: number, to: number): void {
    if (this.isEmpty) {
      this.from = from;
      this.to = to;
      return;
    }
    const length = to - from;
    if (length > FEW_BYTES) bytes.copyWithin(this.to, from, to);
    else for (let i = 0; i < length; i++) bytes[this.to + i] = bytes[from + i] as number;
    this.to += length;
  }
}

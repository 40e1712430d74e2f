const NONE: readonly string[] = [];
const KEEP_ALIVE: readonly string[] = ['keep-alive'];
const CLOSE: readonly string[] = ['close'];

/** Returns the options of a `Connection` value in lower case, since letter case means nothing (RFC 9110, 7.6.1), without empty ones. */
export function connectionOptions(value: string): readonly string[] {
  // Nearly all values are one of these.
  if (value === 'keep-alive' || value === 'Keep-Alive') return KEEP_ALIVE;
  if (value === 'close') return CLOSE;
  return value
    .toLowerCase()
    .split(',')
    .map(withoutBlanks)
    .filter(option => option !== '');
}

/** Returns the options that name fields, which end at this hop; `close` and `keep-alive` name none. */
export function hopFieldNames(options: readonly string[]): readonly string[] {
  if (options === KEEP_ALIVE || options === CLOSE) return NONE;
  return options.filter(option => option !== 'close' && option !== 'keep-alive');
}

/**
 * Trims spaces and tabs only (RFC 9110, 5.6.3), where `trim` would also drop 0xa0. Written by hand: a pattern for trailing
 * blanks takes quadratic time over a value with many blanks in the middle.
 */
function withoutBlanks(text: string): string {
  let [start, end] = [0, text.length];
  while (start < end && isBlankByte(text[start])) start++;
  while (end > start && isBlankByte(text[end - 1])) end--;
  return text.slice(start, end);
}

function isBlankByte(character: string | undefined): boolean {
  return character === ' ' || character === '\t';
}

/** The byte classes of HTTP's grammar as tables: one lookup a byte. */

const TAB = 9;
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
 * the bytes from 0x80 on, which have no meaning; the tab is the only control byte.
 */
export const TEXT = tableOf(byte => byte === TAB || (byte >= SPACE && byte !== 0x7f));

/** The value of a hexadecimal digit, in either case; -1 for every other byte. RFC 5234, B.1: `HEXDIG`. */
export const HEX = Int8Array.from({ length: 256 }, (_, byte) => {
  const value = Number.parseInt(String.fromCharCode(byte), 16);
  return Number.isNaN(value) ? -1 : value;
});

/** Whether a byte is a space or a tab, which `OWS` is made of (RFC 9110, 5.6.3). */
function isBlank(byte: number | undefined): boolean {
  return byte === SPACE || byte === TAB;
}

function tableOf(holds: (byte: number) => boolean): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, byte) => (holds(byte) ? 1 : 0));
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

function isLetter(byte: number): boolean {
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x7a;
}

/** Returned by `readFields` and `lineEnd` when the bytes are well-formed so far but do not reach the end. */
export const INCOMPLETE = -1;

/**
 * Reads header or trailer fields from `at` up to the empty line after them and adds each name and value to `fields`.
 * Returns the position after the empty line, or `INCOMPLETE`: then `fields` holds a part and must be thrown away. Throws
 * MalformedMessage at the first byte that no section can have.
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
    // RFC 9112, 5.1: no blank before the colon, or parsers disagree on the name. A line that begins with a blank would
    // continue the one before (5.2, obs-fold); it is rejected here too, since a name cannot begin with one.
    const name = at;
    while (at < end && TOKEN[bytes[at] as number] === 1) at++;
    if (at === end) return INCOMPLETE;
    const colon = at;
    if (colon === name || bytes[colon] !== COLON) throw new MalformedMessage('a malformed field name');
    // RFC 9112, 5.1: blanks around the value do not belong to it.
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
 * Returns the position after the CRLF at `at`. Rejects a bare LF, which RFC 9112, 2.2 lets a recipient accept: parsers that do disagree
 * with those that do not. Rejects a CR without LF for the same reason.
 */
export function lineEnd(bytes: Uint8Array, at: number, end: number): number {
  if (at < end && bytes[at] !== CR)
    throw new MalformedMessage('a control byte, or a line that does not end in CRLF');
  if (at + 1 >= end) return INCOMPLETE;
  if (bytes[at + 1] !== LF) throw new MalformedMessage('a CR without LF');
  return at + 2;
}

/** Thrown for bytes that cannot be a message of HTTP/1.1. The message is for the log. */
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
 * Decides when to parse a head or trailer section again that arrives in pieces, since each parse begins at its first byte: when
 * it may be complete, or has doubled in length. Parsing on each piece would let one byte cost a pass over a megabyte.
 */
export class PartialHead {
  /** The size of the head when it was last parsed. */
  #bytes = 0;
  /** How many of its bytes were searched for its end. */
  #searched = 0;

  /** Whether parsing these bytes may give a new result. A head of `maxBytes` without an end does: it is too long. */
  worthReading(bytes: Buffer, maxBytes: number): boolean {
    const { length } = bytes;
    if (length < SHORT_BYTES || length >= 2 * this.#bytes || length >= maxBytes) return true;
    const from = Math.max(0, this.#searched - SECTION_END.length);
    this.#searched = length;
    return bytes.indexOf(SECTION_END, from) >= 0;
  }

  /** Notes that the head was parsed and is not complete. */
  incomplete(bytes: number): void {
    this.#bytes = bytes;
    this.#searched = bytes;
  }

  /** Notes that the head is complete: the next bytes begin another. */
  complete(): void {
    this.#bytes = 0;
    this.#searched = 0;
  }
}

import { COLON, CR, isBlank, LF, TEXT, TOKEN } from './byte-classes.ts';
import { MalformedMessage } from './malformed-message.ts';

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
 * The position after the CRLF at `at`. Rejects a bare LF, which RFC 9112, 2.2 lets a recipient accept: parsers that do disagree
 * with those that do not. Rejects a CR without LF for the same reason.
 */
export function lineEnd(bytes: Uint8Array, at: number, end: number): number {
  if (at < end && bytes[at] !== CR)
    throw new MalformedMessage('a control byte, or a line that does not end in CRLF');
  if (at + 1 >= end) return INCOMPLETE;
  if (bytes[at + 1] !== LF) throw new MalformedMessage('a CR without LF');
  return at + 2;
}

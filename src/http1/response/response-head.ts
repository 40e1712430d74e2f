import type { Fields } from '../../core/index.ts';
import { INCOMPLETE, lineEnd, MalformedMessage, readFields, SPACE, TEXT } from '../message/index.ts';

/** The status line of a response and its fields, as they came. */
export interface ResponseHead {
  /** 1 for HTTP/1.1, 0 for HTTP/1.0. */
  readonly httpMinor: number;
  /** 100 to 999. */
  readonly status: number;
  /** Every character is one byte. */
  readonly reason: string;
  readonly fields: Fields;
  /** Bytes of the head, its empty line included. */
  readonly bytes: number;
}

const VERSION = Buffer.from('HTTP/1.');
/** Most fields in one head; no real server sends more. */
const MAX_FIELDS = 500;
const DIGIT_0 = 0x30;
/** Bytes of `HTTP/1.1 200`. */
const STATUS_END = 12;

/**
 * Reads the head of a response from the first `end` bytes. Returns null while it is incomplete. Throws MalformedMessage as
 * soon as no further byte could mend it.
 *
 * RFC 9112, 4: `status-line = HTTP-version SP status-code SP [ reason-phrase ]`.
 *
 * @param text the same bytes as a latin-1 string
 */
export function readResponseHead(bytes: Uint8Array, end: number, text: string): ResponseHead | null {
  // RFC 9112, 2.3: the name of the version is case-sensitive. Another major version is another protocol.
  for (let i = 0; i < VERSION.length && i < end; i++) {
    if (bytes[i] !== VERSION[i]) throw new MalformedMessage('it does not begin with HTTP/1.');
  }
  if (end <= STATUS_END) return null;
  const httpMinor = digit(bytes, 7);
  if (httpMinor > 1 || bytes[8] !== SPACE) throw new MalformedMessage('a version that is not 1.0 or 1.1');
  // RFC 9112, 4: `status-code = 3DIGIT`; RFC 9110, 15: no class of status is below 100.
  const status = 100 * digit(bytes, 9) + 10 * digit(bytes, 10) + digit(bytes, 11);
  if (status < 100) throw new MalformedMessage('a status below 100');
  // The grammar requires a space before an empty reason. Servers leave it out, and that can be read in one way only.
  let at = STATUS_END;
  if (bytes[at] === SPACE) at++;
  const reason = at;
  if (reason > STATUS_END) while (at < end && TEXT[bytes[at] as number] === 1) at++;
  const reasonEnd = at;
  at = lineEnd(bytes, at, end);
  if (at === INCOMPLETE) return null;
  const fields: string[] = [];
  at = readFields(bytes, at, end, text, fields, MAX_FIELDS);
  if (at === INCOMPLETE) return null;
  return { httpMinor, status, reason: text.slice(reason, reasonEnd), fields, bytes: at };
}

function digit(bytes: Uint8Array, at: number): number {
  const value = (bytes[at] as number) - DIGIT_0;
  if (value < 0 || value > 9) throw new MalformedMessage('a status line without its digits');
  return value;
}

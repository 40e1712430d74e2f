import { METHODS } from 'node:http';
import type { Fields } from '../../core/index.ts';
import {
  CR,
  INCOMPLETE,
  LF,
  lineEnd,
  MalformedMessage,
  readFields,
  SPACE,
  TEXT,
  TOKEN,
} from '../message/index.ts';
import { type RequestFraming, requestFraming } from './request-framing.ts';

/** The head of a request as it came: its request line, its fields, and what those say about framing. */
export interface IncomingHead {
  readonly method: string;
  /** In any of the four forms; every character is one byte. */
  readonly target: string;
  /** 1 for HTTP/1.1, 0 for HTTP/1.0. */
  readonly httpMinor: number;
  readonly fields: Fields;
  readonly framing: RequestFraming;
  /** The bytes of the fields, with their empty line; null: too many to be remembered. */
  readonly section: Buffer | null;
  /** Bytes of the head, its empty line included. */
  readonly bytes: number;
}

/**
 * Reads the head of a request from the first `end` bytes; null: they are the beginning of one. Throws MalformedMessage, or
 * the OtherVersion among them, as soon as no further byte could make it one.
 *
 * RFC 9112, 3: `request-line = method SP request-target SP HTTP-version`, and the line ends in CRLF. Section 3 lets a reader
 * take other blanks for the two spaces, and section 2.2 a lone LF for the end of the line: who does so can be made to see
 * another request than who does not.
 *
 * @param before the last request of the same connection: clients repeat their fields to the byte, and the same bytes are the
 *   same fields, the very same array
 */
export function readIncomingHead(
  bytes: Buffer,
  end: number,
  before: IncomingHead | null = null,
): IncomingHead | null {
  let at = 0;
  while (at < end && TOKEN[bytes[at] as number] === 1) at++;
  const methodEnd = at;
  if (methodEnd > MAX_METHOD_BYTES) throw new MalformedMessage('a method that there is not');
  if (at === end || isHalfEmptyLine(bytes, end)) return null;
  if (bytes[at++] !== SPACE) throw new MalformedMessage('a request line that is none');
  // What a target may hold is decided where it is read, in words that help its sender.
  const target = at;
  while (at < end && bytes[at] !== SPACE && TEXT[bytes[at] as number] === 1) at++;
  const targetEnd = at;
  if (at === end) return null;
  if (targetEnd === target) throw new MalformedMessage('a request line without a target');
  const versionEnd = readVersion(bytes, at, end);
  if (versionEnd === INCOMPLETE) return null;
  const line = lineEnd(bytes, versionEnd, end);
  if (line === INCOMPLETE) return null;
  const httpMinor = minorOf(bytes, versionEnd);
  // Behind the version, for another one may have methods of its own, as HTTP/2 has in its preface (RFC 9113, 3.4).
  const method = KNOWN_METHODS.get(bytes.toString('latin1', 0, methodEnd));
  if (method === undefined) throw new MalformedMessage('a method that there is not');
  const start = { method, target: bytes.toString('latin1', target, targetEnd), httpMinor };
  const section = before?.section ?? null;
  if (before !== null && section !== null && isAt(bytes, line, end, section)) {
    const { fields } = before;
    const framing = before.httpMinor === httpMinor ? before.framing : requestFraming(fields, httpMinor);
    return { ...start, fields, framing, section, bytes: line + section.length };
  }
  const fields: string[] = [];
  const text = bytes.toString('latin1', 0, textEnd(bytes, line, end));
  at = readFields(bytes, line, end, text, fields, Number.POSITIVE_INFINITY);
  if (at === INCOMPLETE) return null;
  const framing = requestFraming(fields, httpMinor);
  return { ...start, fields, framing, section: sectionOf(bytes, line, at), bytes: at };
}

/** A connection may be idle for long with what is remembered of it: no more than that, and nothing that came with it. */
function sectionOf(bytes: Buffer, from: number, to: number): Buffer | null {
  if (to - from > MAX_REMEMBERED_BYTES) return null;
  const section = bytes.subarray(from, to);
  if (bytes.buffer.byteLength <= MAX_REMEMBERED_BYTES) return section;
  const own = Buffer.allocUnsafeSlow(section.length);
  section.copy(own);
  return own;
}

/** Whether these bytes stand at `from`. The empty line among them is the end of what they are compared with, too. */
function isAt(bytes: Buffer, from: number, end: number, section: Buffer): boolean {
  const to = from + section.length;
  return to <= end && bytes.compare(section, 0, section.length, from, to) === 0;
}

/** A request of another version of HTTP. */
export class OtherVersion extends MalformedMessage {}

/**
 * The bytes behind empty lines before a request: RFC 9112, 2.2, since clients have sent such behind a body. An empty line is
 * CRLF: a reader in front who takes a bare CR or LF for something else would see another request.
 */
export function withoutEmptyLines(bytes: Buffer): Buffer {
  let at = 0;
  while (bytes[at] === CR && bytes[at + 1] === LF) at += 2;
  return at === 0 ? bytes : bytes.subarray(at);
}

/** Whether there is a CR alone, whose LF may still come. */
function isHalfEmptyLine(bytes: Buffer, end: number): boolean {
  return end === 1 && bytes[0] === CR;
}

/** The methods that Node knows, which are those that routes can name: by themselves, so that a request keeps no copy of one. */
const KNOWN_METHODS: ReadonlyMap<string, string> = new Map(METHODS.map(method => [method, method]));
const MAX_METHOD_BYTES = Math.max(...METHODS.map(method => method.length));
/** More than most clients send, and little enough for tens of thousands of idle connections. */
const MAX_REMEMBERED_BYTES = 4_096;
/** What stands behind a target; for each 1 another digit may. */
const VERSION = Buffer.from(' HTTP/1.1');
const DIGIT_0 = 0x30;
const DIGIT_1 = 0x31;
const DIGIT_9 = 0x39;
const HEAD_END = Buffer.from('\r\n\r\n');
/** Behind a head that is as long stands a body, or there is none: nobody wants that as a string. */
const MAY_HAVE_BODY_BYTES = 4_096;

/** The position behind the version. RFC 9112, 2.3: `HTTP-version = HTTP-name "/" DIGIT "." DIGIT`, in capitals. */
function readVersion(bytes: Buffer, at: number, end: number): number {
  for (let i = 0; i < VERSION.length; i++, at++) {
    if (at === end) return INCOMPLETE;
    if (bytes[at] !== VERSION[i] && !(VERSION[i] === DIGIT_1 && isDigit(bytes[at] as number)))
      throw new MalformedMessage('a version that is none');
  }
  return at;
}

/** RFC 9110, 15.6.6: 505 for a version that is not spoken here. */
function minorOf(bytes: Buffer, versionEnd: number): number {
  const major = bytes[versionEnd - 3];
  const minor = bytes[versionEnd - 1];
  if (major === DIGIT_1 && minor === DIGIT_1) return 1;
  if (major === DIGIT_1 && minor === DIGIT_0) return 0;
  throw new OtherVersion('a version that is not 1.0 or 1.1');
}

function isDigit(byte: number): boolean {
  return byte >= DIGIT_0 && byte <= DIGIT_9;
}

function textEnd(bytes: Buffer, at: number, end: number): number {
  if (end - at <= MAY_HAVE_BODY_BYTES) return end;
  const headEnd = bytes.indexOf(HEAD_END, at);
  return headEnd < 0 ? end : Math.min(end, headEnd + HEAD_END.length);
}

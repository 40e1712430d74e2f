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
  sectionEnd,
  TEXT,
  TOKEN,
} from '../message/index.ts';
import { type RequestFraming, requestFraming } from './request-framing.ts';

/** The head of a request as it came: its request line, its fields, and what those say about framing. */
export interface IncomingHead {
  /** '': a method that Node does not know. */
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
 * Reads the head of a request from the first `end` bytes. Returns null while it is incomplete. Throws MalformedMessage, or its
 * subclass OtherVersion, as soon as no further byte could mend it. Throws UnknownMethod at its end: its fields say whose it is.
 *
 * RFC 9112, 3: `request-line = method SP request-target SP HTTP-version`, ended by CRLF. RFC 9112 also lets a reader accept
 * other blanks (section 3) and a bare LF (2.2). Parsers that do so disagree with those that do not, so both are rejected.
 *
 * @param before the last head on the same connection. Clients repeat their fields to the byte; the same bytes then give the
 *   same array of fields
 */
export function readIncomingHead(
  bytes: Buffer,
  end: number,
  before: IncomingHead | null = null,
): IncomingHead | null {
  let at = 0;
  while (at < end && TOKEN[bytes[at] as number] === 1) at++;
  const methodEnd = at;
  if (at === end || isHalfEmptyLine(bytes, end)) return null;
  if (methodEnd === 0 || bytes[at++] !== SPACE)
    throw new MalformedMessage('a request line without a method and a space');
  // The parser of targets checks what a target may hold, with a more helpful error message.
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
  // Checked after the version: another version may have its own methods, as the preface of HTTP/2 does (RFC 9113, 3.4).
  const method = methodOf(bytes, methodEnd);
  const start = { method, target: bytes.toString('latin1', target, targetEnd), httpMinor };
  const section = before?.section ?? null;
  if (before !== null && section !== null && isAt(bytes, line, end, section)) {
    const { fields } = before;
    const framing = before.httpMinor === httpMinor ? before.framing : requestFraming(fields, httpMinor);
    return supported({ ...start, fields, framing, section, bytes: line + section.length });
  }
  const fields: string[] = [];
  const text = bytes.toString(
    'latin1',
    0,
    end - line <= WHOLE_TEXT_BYTES ? end : sectionEnd(bytes, line, end),
  );
  at = readFields(bytes, line, end, text, fields, Number.POSITIVE_INFINITY);
  if (at === INCOMPLETE) return null;
  const framing = requestFraming(fields, httpMinor);
  return supported({ ...start, fields, framing, section: sectionOf(bytes, line, at), bytes: at });
}

/** One of the strings that all requests share, so that none keeps a copy. */
function methodOf(bytes: Buffer, methodEnd: number): string {
  if (methodEnd > MAX_METHOD_BYTES) return '';
  return KNOWN_METHODS.get(bytes.toString('latin1', 0, methodEnd)) ?? '';
}

function supported(head: IncomingHead): IncomingHead {
  if (head.method === '') throw new UnknownMethod(head);
  return head;
}

/** Limits what an idle connection keeps in memory: no long section, and no larger buffer behind a short one. */
function sectionOf(bytes: Buffer, from: number, to: number): Buffer | null {
  if (to - from > MAX_REMEMBERED_BYTES) return null;
  const section = bytes.subarray(from, to);
  if (bytes.buffer.byteLength <= MAX_REMEMBERED_BYTES) return section;
  const own = Buffer.allocUnsafeSlow(section.length);
  section.copy(own);
  return own;
}

/** Whether these bytes stand at `from`. They include the empty line, so the sections end at the same place, too. */
function isAt(bytes: Buffer, from: number, end: number, section: Buffer): boolean {
  const to = from + section.length;
  return to <= end && bytes.compare(section, 0, section.length, from, to) === 0;
}

/** A request of another version of HTTP. */
export class OtherVersion extends MalformedMessage {
  /** It is how a client of HTTP/2 begins. */
  readonly isPreface: boolean;

  constructor(isPreface: boolean) {
    super('a version that is not 1.0 or 1.1');
    this.isPreface = isPreface;
  }
}

/** A request with a method that Node does not know. Other parsers may refuse it as well, so that nothing behind it is read. */
export class UnknownMethod extends MalformedMessage {
  readonly head: IncomingHead;

  constructor(head: IncomingHead) {
    super('an unknown method');
    this.head = head;
  }
}

/** RFC 9113, 3.4. */
const PREFACE_LINE = 'PRI * HTTP/2.0';

/**
 * Skips empty lines before a request (RFC 9112, 2.2): some clients send them after a body. Only CRLF is an empty line: a
 * parser in front may take a bare CR or LF for something else.
 */
export function withoutEmptyLines(bytes: Buffer): Buffer {
  let at = 0;
  while (bytes[at] === CR && bytes[at + 1] === LF) at += 2;
  return at === 0 ? bytes : bytes.subarray(at);
}

/** Whether there is only a CR, whose LF may still come. */
function isHalfEmptyLine(bytes: Buffer, end: number): boolean {
  return end === 1 && bytes[0] === CR;
}

/** The methods that Node knows, which are those that routes can name. */
const KNOWN_METHODS: ReadonlyMap<string, string> = new Map(METHODS.map(method => [method, method]));
const MAX_METHOD_BYTES = Math.max(...METHODS.map(method => method.length));
/** More than most clients send, and little enough for tens of thousands of idle connections. */
const MAX_REMEMBERED_BYTES = 4_096;
/** What follows a target; each 1 stands for any digit. */
const VERSION = Buffer.from(' HTTP/1.1');
const DIGIT_0 = 0x30;
const DIGIT_1 = 0x31;
const DIGIT_9 = 0x39;
/** Up to this many bytes become a string as they are. Of more, only the head does, since the rest may be a body. */
const WHOLE_TEXT_BYTES = 4_096;

/** The position after the version. RFC 9112, 2.3: `HTTP-version = HTTP-name "/" DIGIT "." DIGIT`, in capitals. */
function readVersion(bytes: Buffer, at: number, end: number): number {
  for (let i = 0; i < VERSION.length; i++, at++) {
    if (at === end) return INCOMPLETE;
    if (bytes[at] !== VERSION[i] && !(VERSION[i] === DIGIT_1 && isDigit(bytes[at] as number)))
      throw new MalformedMessage('a malformed version');
  }
  return at;
}

/** RFC 9110, 15.6.6: a well-formed version that is not supported is answered 505. */
function minorOf(bytes: Buffer, versionEnd: number): number {
  const major = bytes[versionEnd - 3];
  const minor = bytes[versionEnd - 1];
  if (major === DIGIT_1 && minor === DIGIT_1) return 1;
  if (major === DIGIT_1 && minor === DIGIT_0) return 0;
  throw new OtherVersion(bytes.toString('latin1', 0, versionEnd) === PREFACE_LINE);
}

function isDigit(byte: number): boolean {
  return byte >= DIGIT_0 && byte <= DIGIT_9;
}

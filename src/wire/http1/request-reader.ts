import {
  type Fields,
  GrowingBytes,
  MAX_METHOD_BYTES,
  METHODS,
  type MethodNames,
  NO_BYTES,
  NO_METHOD_NAMES,
} from '../../core/index.ts';
import {
  CR,
  INCOMPLETE,
  isDigit,
  LF,
  lineEnd,
  MalformedMessage,
  PartialHead,
  readFields,
  SPACE,
  sectionEnd,
  TEXT,
  TOKEN,
} from './message.ts';
import { RequestBody, type RequestBodyOwner } from './request-body.ts';
import { type RequestFraming, requestFraming } from './request-framing.ts';

/**
 * Reading stops while this much is waiting behind a request. Below this, keep reading: it is the only way to notice a disconnect.
 */
const MAX_WAITING_BYTES = 65_536;

/** Thrown if the head does not end within its cap. */
export class OversizedHead extends MalformedMessage {}

export interface RequestReaderOwner extends RequestBodyOwner {
  /** Called when a head is complete. The body, if any, is read once it is started. */
  requestBegun(head: IncomingHead, body: RequestBody | null): void;
}

/**
 * The part of a request that the next byte belongs to.
 *
 * - `head` to `body` or `behind`: a head is complete, and a body follows or not
 * - `body` to `behind`: the body has ended before its request was answered
 * - `body` to `head`: the body has ended after its request was answered
 * - `behind` to `head`: the request was answered (`next`)
 * - any to `over`: `giveUp` or `takeUnread`
 */
type RequestPhase =
  /** A head, or the empty lines before one. */
  | 'head'
  /** A body, which is read unless it is paused. */
  | 'body'
  /** A later request, which waits until the current one is answered. */
  | 'behind'
  /** Reading has ended. */
  | 'over';

/** Reads the requests of one connection, each once the previous one is answered. Independent of sockets. */
export class RequestReader {
  readonly #owner: RequestReaderOwner;
  #phase: RequestPhase = 'head';
  /** Bytes not read yet, or the beginning of a head. */
  #waiting: Buffer = NO_BYTES;
  #joined: GrowingBytes | null = null;
  readonly #partialHead = new PartialHead();
  /** The last head; `null` if it was too large to be remembered. */
  #before: IncomingHead | null = null;
  #body: RequestBody | null = null;
  #reading = false;

  constructor(owner: RequestReaderOwner) {
    this.#owner = owner;
  }

  /** The body that the next byte belongs to. Its request may already have been answered. */
  get body(): RequestBody | null {
    return this.#body;
  }

  /** The number of bytes waiting to be read. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** True if a part of a head has arrived. */
  get insideHead(): boolean {
    return this.#phase === 'head' && this.#waiting.length > 0;
  }

  /**
   * Whether further bytes are wanted. Call it after `read`: then no byte of a body being read is waiting. A head may grow up to
   * its own cap.
   */
  get wantsMore(): boolean {
    return this.#phase === 'head' || this.#waiting.length < MAX_WAITING_BYTES;
  }

  /** True if reading has stopped because too many bytes are waiting behind a request. */
  get isFull(): boolean {
    return this.#phase === 'behind' && this.#waiting.length >= MAX_WAITING_BYTES;
  }

  get over(): boolean {
    return this.#phase === 'over';
  }

  /** Whether a following request with exactly the same fields will get the same array. */
  get remembersFields(): boolean {
    return this.#before !== null;
  }

  /** Where the connection would break off if it ended now. `unread`: unknown until the waiting bytes are read. */
  get atEnd(): 'between requests' | 'inside a request' | 'unread' {
    const waits = this.#waiting.length > 0;
    if (this.#phase === 'head') return waits ? 'inside a request' : 'between requests';
    return this.#phase === 'body' && !waits ? 'inside a request' : 'unread';
  }

  add(bytes: Buffer): void {
    if (this.#phase === 'over') return;
    if (this.#waiting.length === 0) this.#waiting = bytes;
    else {
      this.#joined ??= new GrowingBytes(2 * MAX_WAITING_BYTES);
      this.#waiting = this.#joined.join(this.#waiting, bytes);
    }
  }

  /**
   * Reads waiting bytes as far as they are wanted. Its owner may call it again from within: that call does nothing and returns
   * false. Throws MalformedMessage.
   *
   * @param named the methods that are known besides those of Node
   */
  read(maxHeadBytes: number, named: MethodNames = NO_METHOD_NAMES): boolean {
    if (this.#reading) return false;
    this.#reading = true;
    try {
      while (this.#waiting.length > 0 && this.#readPart(maxHeadBytes, named));
    } finally {
      this.#reading = false;
    }
    if (this.#waiting.length === 0) this.#joined = null;
    return true;
  }

  /** Continues to the next request, once the last one is answered: discards the rest of its body, and reads the next head. */
  next(): void {
    if (this.#phase === 'behind') this.#phase = 'head';
    this.#body?.discard();
  }

  /** Stops reading permanently, and returns the bytes after the last request. */
  takeUnread(): Buffer {
    const unread = this.#waiting;
    this.giveUp();
    return unread;
  }

  /** Stops reading permanently. */
  giveUp(): void {
    this.#phase = 'over';
    this.#body = null;
    this.#waiting = NO_BYTES;
  }

  /** Reads the next part. Returns false if nothing more can be read for now. */
  #readPart(maxHeadBytes: number, named: MethodNames): boolean {
    if (this.#phase === 'head') return this.#readHead(maxHeadBytes, named);
    return this.#body?.flows === true && this.#readBody(this.#body);
  }

  #readHead(maxHeadBytes: number, named: MethodNames): boolean {
    const bytes = withoutEmptyLines(this.#waiting);
    this.#waiting = bytes;
    if (!this.#partialHead.isParsingDue(bytes, maxHeadBytes)) return false;
    const head = readIncomingHead(bytes, Math.min(bytes.length, maxHeadBytes), this.#before, named);
    if (head === null) {
      if (bytes.length >= maxHeadBytes) throw new OversizedHead('a head that is too large');
      this.#partialHead.incomplete(bytes.length);
      return false;
    }
    this.#partialHead.complete();
    this.#before = head.section === null ? null : head;
    this.#waiting = after(bytes, head.bytes);
    const { bodyLength } = head.framing;
    const hasBody = bodyLength !== 0 && typeof bodyLength !== 'object';
    this.#body = hasBody ? new RequestBody(bodyLength, this.#owner) : null;
    this.#phase = hasBody ? 'body' : 'behind';
    this.#owner.requestBegun(head, this.#body);
    return true;
  }

  #readBody(body: RequestBody): boolean {
    const bytes = this.#waiting;
    this.#waiting = NO_BYTES;
    const at = body.read(bytes);
    // The sink may have given up inside `read`.
    if (!body.done || this.#phase === 'over') return false;
    this.#body = null;
    this.#phase = body.discarded ? 'head' : 'behind';
    this.#waiting = after(bytes, at);
    return true;
  }
}

/** Returns the bytes after the first `count`. Avoids an empty view of them, which would keep the whole buffer alive. */
function after(bytes: Buffer, count: number): Buffer {
  if (count === 0) return bytes;
  return count === bytes.length ? NO_BYTES : bytes.subarray(count);
}

/** The head of a request as received: its request line, its fields, and what those say about framing. */
export interface IncomingHead {
  /** The method; '' if it is not known. */
  readonly method: string;
  /** The request target in any of the four forms; every character is one byte. */
  readonly target: string;
  /** The minor version: 1 for HTTP/1.1, 0 for HTTP/1.0. */
  readonly httpMinor: number;
  readonly fields: Fields;
  readonly framing: RequestFraming;
  /** The bytes of the fields, with the empty line; `null` if they are too many to be remembered. */
  readonly section: Buffer | null;
  /** Size of the head in bytes, including the empty line. */
  readonly bytes: number;
}

/**
 * Reads the head of a request from the first `end` bytes. Returns null while it is incomplete. Throws MalformedMessage, or its
 * subclass OtherVersion, as soon as no further byte could make it valid. Throws UnknownMethod only at its end, since its fields
 * identify the sender.
 *
 * RFC 9112, 3: `request-line = method SP request-target SP HTTP-version`, ended by CRLF. RFC 9112 also lets a reader accept other
 * blanks (section 3) and a bare LF (2.2). Parsers that do so disagree with those that do not, so this reader rejects both.
 *
 * @param before the last head on the same connection. Clients repeat their fields exactly; the same bytes then give the same array
 *   of fields
 * @param named the methods that are known besides those of Node
 */
export function readIncomingHead(
  bytes: Buffer,
  end: number,
  before: IncomingHead | null = null,
  named: MethodNames = NO_METHOD_NAMES,
): IncomingHead | null {
  let at = 0;
  while (at < end && TOKEN[bytes[at] as number] === 1) at++;
  const methodEnd = at;
  if (at === end || isHalfEmptyLine(bytes, end)) return null;
  if (methodEnd === 0 || bytes[at++] !== SPACE) throw new MalformedMessage(whyNoMethod(bytes));
  // The target parser checks the characters, with a more helpful error message.
  const targetStart = at;
  while (at < end && bytes[at] !== SPACE && TEXT[bytes[at] as number] === 1) at++;
  const targetEnd = at;
  if (at === end) return null;
  if (targetEnd === targetStart) throw new MalformedMessage('a request line without a target');
  if (methodEnd === PROXY_BYTES && isAt(bytes, 0, end, PROXY_V1)) throw new MalformedMessage(PROXY_HEADER);
  const versionEnd = readVersion(bytes, at, end);
  if (versionEnd === INCOMPLETE) return null;
  const line = lineEnd(bytes, versionEnd, end);
  if (line === INCOMPLETE) return null;
  const httpMinor = minorOf(bytes, versionEnd);
  // Check it after the version: another version may have methods of its own, such as the preface of HTTP/2 (RFC 9113, 3.4).
  const method = methodOf(bytes, methodEnd, named);
  const target = bytes.toString('latin1', targetStart, targetEnd);
  const section = before?.section ?? null;
  if (before !== null && section !== null && isAt(bytes, line, end, section)) {
    const { fields } = before;
    const framing = before.httpMinor === httpMinor ? before.framing : requestFraming(fields, httpMinor);
    return supported({ method, target, httpMinor, fields, framing, section, bytes: line + section.length });
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
  return supported({
    method,
    target,
    httpMinor,
    fields,
    framing,
    section: sectionOf(bytes, line, at),
    bytes: at,
  });
}

/**
 * Names the protocol that a client, or the balancer in front, probably speaks because its configuration differs from the
 * listener's.
 */
function whyNoMethod(bytes: Buffer): string {
  if (bytes[0] === 0x16 && bytes[1] === 3) return 'a TLS handshake on a listener without "tls"';
  return isAt(bytes, 0, bytes.length, PROXY_V2)
    ? PROXY_HEADER
    : 'a request line without a method and a space';
}

const PROXY_HEADER = 'a PROXY header on a listener without "proxy_protocol"';
const PROXY_V1 = Buffer.from('PROXY TCP');
const PROXY_BYTES = 5;
/** The signature of the PROXY protocol, version 2, after the empty lines that it begins with. */
const PROXY_V2 = Buffer.from('\0\r\nQUIT\n', 'latin1');

/** Returns the method as a string shared by all requests, so that none keeps a copy. */
function methodOf(bytes: Buffer, methodEnd: number, named: MethodNames): string {
  if (methodEnd > MAX_METHOD_BYTES) return '';
  const text = bytes.toString('latin1', 0, methodEnd);
  return KNOWN_METHODS.get(text) ?? named.get(text) ?? '';
}

function supported(head: IncomingHead): IncomingHead {
  if (head.method === '') throw new UnknownMethod(head);
  return head;
}

/**
 * Copies the section if it would keep a large buffer in memory. Returns `null` for a long one: idle connections must stay small.
 */
function sectionOf(bytes: Buffer, from: number, to: number): Buffer | null {
  if (to - from > MAX_REMEMBERED_BYTES) return null;
  const section = bytes.subarray(from, to);
  if (bytes.buffer.byteLength <= MAX_REMEMBERED_BYTES) return section;
  const own = Buffer.allocUnsafeSlow(section.length);
  section.copy(own);
  return own;
}

/** Whether these bytes are found at `from`. They include the empty line, so the sections have the same end as well. */
function isAt(bytes: Buffer, from: number, end: number, section: Buffer): boolean {
  const to = from + section.length;
  return to <= end && bytes.compare(section, 0, section.length, from, to) === 0;
}

/** Thrown for a request with another version of HTTP. */
export class OtherVersion extends MalformedMessage {
  /** True if it is the beginning of an HTTP/2 client's preface. */
  readonly isPreface: boolean;

  constructor(isPreface: boolean) {
    super('a version that is not 1.0 or 1.1');
    this.isPreface = isPreface;
  }
}

/** Thrown for a method that is not known. Other parsers may refuse it as well, so nothing after it is read. */
export class UnknownMethod extends MalformedMessage {
  readonly head: IncomingHead;

  constructor(head: IncomingHead) {
    super('an unknown method');
    this.head = head;
  }
}

/** The first line of an HTTP/2 client (RFC 9113, 3.4). */
const PREFACE_LINE = 'PRI * HTTP/2.0';

/**
 * Skips empty lines before a request (RFC 9112, 2.2): some clients send them after a body. Only CRLF is an empty line: a
 * parser in front may take a bare CR or LF for something else.
 */
export function withoutEmptyLines(bytes: Buffer): Buffer {
  let at = 0;
  while (bytes[at] === CR && bytes[at + 1] === LF) at += 2;
  return after(bytes, at);
}

/** Whether there is only a CR, whose LF may still arrive. */
function isHalfEmptyLine(bytes: Buffer, end: number): boolean {
  return end === 1 && bytes[0] === CR;
}

/** The methods that Node knows. */
const KNOWN_METHODS: MethodNames = new Map(METHODS.map(method => [method, method]));
/** Largest section that is remembered: more than most clients send, and small for tens of thousands of idle connections. */
const MAX_REMEMBERED_BYTES = 4_096;
/** The version as it follows a target. Each `1` matches any digit. */
const VERSION = Buffer.from(' HTTP/1.1');
const DIGIT_0 = 0x30;
const DIGIT_1 = 0x31;
/** Up to this many bytes are converted to a string as a whole; of more, only the head, since the rest may be a body. */
const WHOLE_TEXT_BYTES = 4_096;

/** Returns the position after the version. RFC 9112, 2.3: `HTTP-version = HTTP-name "/" DIGIT "." DIGIT`, in capitals. */
function readVersion(bytes: Buffer, at: number, end: number): number {
  for (let i = 0; i < VERSION.length; i++, at++) {
    if (at === end) return INCOMPLETE;
    if (bytes[at] !== VERSION[i] && !(VERSION[i] === DIGIT_1 && isDigit(bytes[at] as number)))
      throw new MalformedMessage('a malformed version');
  }
  return at;
}

/**
 * Returns the minor version. Throws OtherVersion for a well-formed one that is not supported: that gets a 505 (RFC 9110, 15.6.6).
 */
function minorOf(bytes: Buffer, versionEnd: number): number {
  const major = bytes[versionEnd - 3];
  const minor = bytes[versionEnd - 1];
  if (major === DIGIT_1 && minor === DIGIT_1) return 1;
  if (major === DIGIT_1 && minor === DIGIT_0) return 0;
  throw new OtherVersion(bytes.toString('latin1', 0, versionEnd) === PREFACE_LINE);
}

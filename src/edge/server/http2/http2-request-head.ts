import type { FieldNames, Fields, GatewayError, MethodNames, RandomBytes } from '../../../core/index.ts';
import { firstValue, METHODS, NO_METHOD_NAMES, NO_NAMES } from '../../../core/index.ts';
import { errors } from '../../../gateway/index.ts';
import { type RequestFraming, requestFraming } from '../../../wire/http1/index.ts';
import { type HeaderSection, isSecret, TOO_LARGE } from '../../../wire/http2/index.ts';

/** The head of an HTTP/2 request, in the form in which the gateway reads HTTP/1.1 heads. */
export interface Http2RequestHead {
  /** The method; '' if it is not known. */
  readonly method: string;
  readonly target: string;
  /** The header fields; `:authority` comes first, as `host`. */
  readonly fields: Fields;
  /** Names of the fields that the client marked as never indexed, to be forwarded with that mark. Secrets always have it. */
  readonly neverIndexed: FieldNames;
  readonly framing: RequestFraming;
  /** Size in bytes that the head would have in HTTP/1.1. */
  readonly bytes: number;
  /** Why the head is refused; `null` if it is valid. */
  readonly fault: GatewayError | null;
}

/** The fields after the pseudo-fields, and their meaning. */
interface FieldSection {
  readonly authority: string | null;
  /** Names and values as received; those of the section begin at `from`. */
  readonly raw: readonly string[];
  readonly from: number;
  readonly fields: Fields;
  readonly bytes: number;
  /** The framing if the request ends with its head. */
  readonly bodiless: RequestFraming;
  /** The framing if a body follows. */
  readonly withBody: RequestFraming;
  readonly flaw: string | null;
}

/** Largest section that is remembered: more than most clients send, and small for an idle connection. */
const MAX_REMEMBERED_BYTES = 4_096;
/** Bytes that HTTP/1.1 writes around a name and its value. */
const FIELD_FRAMING_BYTES = 4;
/** Bytes that HTTP/1.1 writes around a method and a target, with the empty line at the end of the head. */
const REQUEST_LINE_FRAMING_BYTES = 14;
/** The field with the key of a WebSocket handshake, and the size of a key (RFC 6455, 4.1). */
const KEY = 'sec-websocket-key';
const KEY_BYTES = 16;
const COLON = 0x3a;
const SLASH = 0x2f;

const KNOWN_METHODS: ReadonlySet<string> = new Set(METHODS);
/** Matches a token (RFC 9110, 5.6.2). */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Reads the heads of one connection. The codec has already checked each field on its own, and the set of pseudo-fields. */
export class HeadReader {
  /** The last section, and its head if valid: the same object need not be read again. */
  #last: {
    readonly section: HeaderSection;
    readonly bodiless: boolean;
    readonly head: Http2RequestHead;
  } | null = null;
  #before: FieldSection | null = null;
  readonly #randomBytes: RandomBytes;

  /** @param randomBytes makes the keys of WebSocket handshakes, which HTTP/2 lacks (RFC 8441, 5) */
  constructor(randomBytes: RandomBytes) {
    this.#randomBytes = randomBytes;
  }

  /** Whether a following request with the same fields will get the same array of fields. */
  get remembersFields(): boolean {
    return this.#before !== null;
  }

  /**
   * @param bodiless true if the head ends the stream
   * @param named the methods that are known besides those of Node
   */
  read(
    section: HeaderSection,
    bodiless: boolean,
    maxBytes: number,
    named: MethodNames = NO_METHOD_NAMES,
  ): Http2RequestHead {
    const last = this.#last;
    if (
      last !== null &&
      last.section === section &&
      last.bodiless === bodiless &&
      last.head.bytes <= maxBytes
    )
      return last.head;
    const head = this.#read(section, bodiless, maxBytes, named);
    const isWhole = head.fault === null && head.method !== '';
    const isLasting = isWhole && this.remembersFields && head.framing.upgrade === 'none';
    this.#last = isLasting ? { section, bodiless, head } : null;
    return head;
  }

  #read(section: HeaderSection, bodiless: boolean, maxBytes: number, named: MethodNames): Http2RequestHead {
    const pseudo = new PseudoFields(section.fields);
    const { method, path, authority, end } = pseudo;
    const rest = this.#rest(section.fields, end, authority);
    const bytes = method.length + path.length + REQUEST_LINE_FRAMING_BYTES + rest.bytes;
    const flaw = section.flaw ?? pseudo.flaw() ?? rest.flaw;
    const framing = bodiless ? rest.bodiless : rest.withBody;
    const isTooLarge = flaw === TOO_LARGE || (flaw === null && bytes > maxBytes);
    const head = {
      method: KNOWN_METHODS.has(method) || named.has(method) ? method : '',
      // RFC 9112, 3.2.3: a CONNECT names only its authority.
      target: path === '' ? (authority ?? '') : path,
      fields: rest.fields,
      neverIndexed: passedOn(section.neverIndexed),
      framing,
      bytes,
      fault: isTooLarge ? errors.headTooLarge() : flaw === null ? null : errors.badRequest(flaw),
    };
    return pseudo.protocol === 'websocket' ? this.#handshake(head, bodiless) : head;
  }

  /** Turns a request for a WebSocket into its HTTP/1.1 form: a GET with a key, which the service must prove to have read. */
  #handshake(head: Http2RequestHead, bodiless: boolean): Http2RequestHead {
    const { fields, framing } = head;
    const bodyLength = framing.bodyLength === 'chunked' ? 0 : framing.bodyLength;
    const key = this.#randomBytes(KEY_BYTES).toString('base64');
    const others = fields.filter((_, i) => fields[i - (i % 2)] !== KEY);
    return {
      ...head,
      method: 'GET',
      fields: [...others, KEY, key],
      framing: { ...framing, bodyLength, upgrade: 'websocket' },
      // The client could never close such a WebSocket.
      fault: head.fault ?? (bodiless ? errors.badRequest('a request for a WebSocket ends its stream') : null),
    };
  }

  /** Reads the fields. Clients repeat theirs: equal ones give the same array, which the gateway recognises. */
  #rest(raw: readonly string[], from: number, authority: string | null): FieldSection {
    const before = this.#before;
    if (before !== null && isRepeated(before, raw, from, authority)) return before;
    const section = readSection(raw, from, authority);
    this.#before = section.bytes <= MAX_REMEMBERED_BYTES ? section : null;
    return section;
  }
}

/**
 * The pseudo-fields of a request (RFC 9113, 8.3.1). The codec has ensured that each occurs at most once, and that none is
 * unknown.
 */
class PseudoFields {
  method = '';
  scheme = '';
  path = '';
  protocol = '';
  authority: string | null = null;
  /** Position of the first field that is not a pseudo-field. */
  end = 0;

  constructor(raw: readonly string[]) {
    for (; (raw[this.end] ?? '').charCodeAt(0) === COLON; this.end += 2) {
      const value = raw[this.end + 1] as string;
      switch (raw[this.end]) {
        case ':method':
          this.method = value;
          break;
        case ':scheme':
          this.scheme = value;
          break;
        case ':path':
          this.path = value;
          break;
        case ':protocol':
          this.protocol = value;
          break;
        case ':authority':
          this.authority = value;
      }
    }
  }

  /** Returns why the pseudo-fields are malformed; `null` if they are not. */
  flaw(): string | null {
    const { method, scheme, path, protocol } = this;
    if (!KNOWN_METHODS.has(method) && !TOKEN.test(method)) return 'the method is not a token';
    // RFC 9113, 8.5: a CONNECT names only its authority, unless it is extended (RFC 8441, 4).
    if (method === 'CONNECT' && protocol === '') return null;
    if (scheme !== 'https' && scheme !== 'http') return ':scheme is neither http nor https';
    // RFC 9113, 8.3.1: only a path is allowed, or `*` for OPTIONS. An absolute-form would name a second authority.
    if (path.charCodeAt(0) === SLASH || (path === '*' && method === 'OPTIONS')) return null;
    return ':path is not a path';
  }
}

function isRepeated(
  before: FieldSection,
  raw: readonly string[],
  from: number,
  authority: string | null,
): boolean {
  const shift = before.from - from;
  if (before.authority !== authority || before.raw.length - raw.length !== shift) return false;
  // Compare from the end, where requests most often differ.
  for (let i = raw.length - 1; i >= from; i--) if (raw[i] !== before.raw[i + shift]) return false;
  return true;
}

function readSection(raw: readonly string[], from: number, authority: string | null): FieldSection {
  const fields: string[] = authority === null ? [] : ['host', authority];
  let bytes = authority === null ? 0 : 'host'.length + authority.length + FIELD_FRAMING_BYTES;
  let cookieAt = -1;
  let flaw: string | null = null;
  let hosts = 0;
  for (let i = from; i + 1 < raw.length; i += 2) {
    const name = raw[i] as string;
    const value = raw[i + 1] as string;
    bytes += name.length + value.length + FIELD_FRAMING_BYTES;
    // RFC 9113, 8.3.1: Host and :authority may both come, and must name the same place.
    if (name === 'host' && authority !== null) {
      if (value.toLowerCase() !== authority.toLowerCase()) flaw = 'Host names another place than :authority';
      else if (++hosts > 1) flaw = 'the header field "host" came twice';
    } else if (name !== 'cookie') fields.push(name, value);
    // RFC 9113, 8.2.3: join the parts of a cookie into one field for HTTP/1.1.
    else if (cookieAt === -1) cookieAt = fields.push(name, value) - 1;
    else if (value !== '') fields[cookieAt] += `; ${value}`;
  }
  return { authority, raw, from, fields, bytes, ...framings(fields), flaw };
}

/** Returns the framing without and with a body. Its length may be omitted, since the stream marks its end (RFC 9113, 8.1.1). */
function framings(fields: Fields): Pick<FieldSection, 'bodiless' | 'withBody'> {
  const framing = requestFraming(fields, 1);
  const { bodyLength } = framing;
  if (typeof bodyLength === 'object') return { bodiless: framing, withBody: framing };
  const hasLength = firstValue(fields, 'content-length') !== undefined;
  const missing = { rejected: 'the body is shorter than Content-Length says' };
  return {
    bodiless: bodyLength === 0 ? framing : { ...framing, bodyLength: missing },
    withBody: hasLength ? framing : { ...framing, bodyLength: 'chunked' },
  };
}

/** Omits names of secrets, which are never indexed anyway. */
function passedOn(neverIndexed: FieldNames): FieldNames {
  if (neverIndexed.size === 0 || [...neverIndexed].every(isSecret)) return NO_NAMES;
  return neverIndexed;
}

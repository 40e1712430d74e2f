import { METHODS } from 'node:http';
import { type Fields, firstValue } from '../../core/index.ts';
import { type RequestFraming, requestFraming } from '../../http1/index.ts';

/** The head of a request over HTTP/2, in the form in which the gateway reads heads of HTTP/1.1. */
export interface Http2RequestHead {
  /** The method; '' if Node does not know it. */
  readonly method: string;
  readonly target: string;
  /** The header fields; `:authority` comes first, as `host`. */
  readonly fields: Fields;
  readonly framing: RequestFraming;
  /** Size of the head in bytes, as HTTP/1.1 would write it. */
  readonly bytes: number;
  /** Why the head is refused; `null` if it is valid. */
  readonly fault: HeadFault | null;
}

/** Why a head is refused. */
export type HeadFault =
  | { readonly kind: 'malformed'; readonly why: string }
  /** It has more bytes than the cap. */
  | { readonly kind: 'too large' };

/** The fields after the pseudo-fields, and what they say. */
interface FieldSection {
  readonly authority: string | null;
  /** Names and values as nghttp2 read them; those of the section begin at `from`. */
  readonly raw: readonly string[];
  readonly from: number;
  readonly fields: Fields;
  readonly bytes: number;
  /** The framing if the request ends with its head. */
  readonly bodiless: RequestFraming;
  /** The framing if a body follows. */
  readonly withBody: RequestFraming;
  readonly fault: HeadFault | null;
}

/** Largest section that is remembered: more than most clients send, and little for an idle connection. */
const MAX_REMEMBERED_BYTES = 4_096;
/** Bytes that HTTP/1.1 writes around a name and its value. */
const FIELD_FRAMING_BYTES = 4;
/** Bytes that HTTP/1.1 writes around a method and a target, with the empty line at the end of the head. */
const REQUEST_LINE_FRAMING_BYTES = 14;
const COLON = 0x3a;
const SLASH = 0x2f;

const KNOWN_METHODS: ReadonlySet<string> = new Set(METHODS);
/** Matches a token (RFC 9110, 5.6.2). */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const TOO_LARGE: HeadFault = { kind: 'too large' };

/**
 * Reads the heads of one connection. nghttp2 has refused what is malformed by RFC 9113, 8.2 and 8.3: capitals in names, bytes
 * that no value has, fields of the connection, pseudo-fields that are missing, doubled or late, and a second Content-Length.
 */
export class HeadReader {
  #before: FieldSection | null = null;

  /** Whether a next request with the same fields will get the same array of fields. */
  get remembersFields(): boolean {
    return this.#before !== null;
  }

  /**
   * @param raw names and values as nghttp2 read them, pseudo-fields first
   * @param bodiless true if the head ends the stream
   */
  read(raw: readonly string[], bodiless: boolean, maxBytes: number): Http2RequestHead {
    const { method, path, authority, end } = new PseudoFields(raw);
    const section = this.#section(raw, end, authority);
    const bytes = method.length + path.length + REQUEST_LINE_FRAMING_BYTES + section.bytes;
    return {
      method: KNOWN_METHODS.has(method) ? method : '',
      // RFC 9112, 3.2.3: a CONNECT names only its authority.
      target: path === '' ? (authority ?? '') : path,
      fields: section.fields,
      framing: bodiless ? section.bodiless : section.withBody,
      bytes,
      fault: faultOfLine(method, path) ?? section.fault ?? (bytes > maxBytes ? TOO_LARGE : null),
    };
  }

  /** Returns the section. Clients repeat their fields: the same ones give the same array, by which the gateway recognizes them. */
  #section(raw: readonly string[], from: number, authority: string | null): FieldSection {
    const before = this.#before;
    if (before !== null && isRepeated(before, raw, from, authority)) return before;
    const section = readSection(raw, from, authority);
    this.#before = section.bytes <= MAX_REMEMBERED_BYTES ? section : null;
    return section;
  }
}

class PseudoFields {
  method = '';
  path = '';
  authority: string | null = null;
  /** Position of the first field that is not a pseudo-field. */
  end = 0;

  constructor(raw: readonly string[]) {
    while ((raw[this.end] ?? '').charCodeAt(0) === COLON) {
      const value = raw[this.end + 1] ?? '';
      switch (raw[this.end]) {
        case ':method':
          this.method = value;
          break;
        case ':path':
          this.path = value;
          break;
        case ':authority':
          this.authority = value;
      }
      this.end += 2;
    }
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
  // Compare from the end, where most differences between requests are.
  for (let i = raw.length - 1; i >= from; i--) if (raw[i] !== before.raw[i + shift]) return false;
  return true;
}

function readSection(raw: readonly string[], from: number, authority: string | null): FieldSection {
  const fields: string[] = authority === null ? [] : ['host', authority];
  let bytes = authority === null ? 0 : 'host'.length + authority.length + FIELD_FRAMING_BYTES;
  let cookieAt = -1;
  let otherHost = false;
  for (let i = from; i + 1 < raw.length; i += 2) {
    const name = raw[i] as string;
    const value = raw[i + 1] as string;
    bytes += name.length + value.length + FIELD_FRAMING_BYTES;
    // RFC 9113, 8.3.1: Host and :authority may both come, and must name the same place.
    if (name === 'host' && authority !== null) otherHost ||= value.toLowerCase() !== authority.toLowerCase();
    else if (name !== 'cookie') fields.push(name, value);
    // RFC 9113, 8.2.3: join the parts of a cookie to one field before they go on over HTTP/1.1.
    else if (cookieAt === -1) cookieAt = fields.push(name, value) - 1;
    else fields[cookieAt] += `; ${value}`;
  }
  const fault = otherHost ? malformed('Host names another place than :authority') : null;
  return { authority, raw, from, fields, bytes, ...framings(fields), fault };
}

/** Returns the framing without and with a body. Its length may be left out, since the stream says where it ends (RFC 9113, 8.1.1). */
function framings(fields: Fields): Pick<FieldSection, 'bodiless' | 'withBody'> {
  const framing = requestFraming(fields, 1);
  const hasLength = firstValue(fields, 'content-length') !== undefined;
  const isRefused = typeof framing.bodyLength === 'object';
  return {
    bodiless: isRefused ? framing : { ...framing, bodyLength: 0 },
    withBody: isRefused || hasLength ? framing : { ...framing, bodyLength: 'chunked' },
  };
}

function faultOfLine(method: string, path: string): HeadFault | null {
  if (!KNOWN_METHODS.has(method) && !TOKEN.test(method)) return malformed('the method is no token');
  // RFC 9113, 8.3.1: only a path is allowed, or `*` for OPTIONS. An absolute-form would name a second authority.
  if (path.charCodeAt(0) === SLASH || method === 'CONNECT' || (path === '*' && method === 'OPTIONS'))
    return null;
  return malformed(':path is no path');
}

function malformed(why: string): HeadFault {
  return { kind: 'malformed', why };
}

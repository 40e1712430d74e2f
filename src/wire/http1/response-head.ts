import { type Fields, GrowingBytes, NO_BYTES, withoutFields } from '../../core/index.ts';
import {
  connectionOptions,
  INCOMPLETE,
  lineEnd,
  MalformedMessage,
  PartialHead,
  readFields,
  SPACE,
  TEXT,
} from './message.ts';

/** The status line of a response and its fields, as received. */
export interface ResponseHead {
  /** The minor version: 1 for HTTP/1.1, 0 for HTTP/1.0. */
  readonly httpMinor: number;
  /** 100 to 999. */
  readonly status: number;
  /** The reason phrase; every character is one byte. */
  readonly reason: string;
  readonly fields: Fields;
  /** Size of the head in bytes, including the empty line. */
  readonly bytes: number;
}

const VERSION = Buffer.from('HTTP/1.');
/** Maximum fields in one head; no real server sends more. */
const MAX_FIELDS = 500;
const DIGIT_0 = 0x30;
/** The position after `HTTP/1.1 200`. */
const STATUS_END = 12;

/**
 * Reads the head of a response from the first `end` bytes. Returns null while it is incomplete. Throws MalformedMessage as soon
 * as no further byte could make it valid.
 *
 * RFC 9112, 4: `status-line = HTTP-version SP status-code SP [ reason-phrase ]`.
 *
 * @param text the same bytes as a latin-1 string
 */
export function readResponseHead(bytes: Uint8Array, end: number, text: string): ResponseHead | null {
  // RFC 9112, 2.3: the name of the version is case-sensitive. Another major version is another protocol.
  for (let i = 0; i < VERSION.length && i < end; i++) {
    if (bytes[i] !== VERSION[i]) throw new MalformedMessage(whyNotHttp1(bytes, end));
  }
  if (end <= STATUS_END) return null;
  const httpMinor = digit(bytes, 7);
  if (httpMinor > 1 || bytes[8] !== SPACE) throw new MalformedMessage('a version that is not 1.0 or 1.1');
  // RFC 9112, 4: `status-code = 3DIGIT`; RFC 9110, 15: no class of status is below 100.
  const status = 100 * digit(bytes, 9) + 10 * digit(bytes, 10) + digit(bytes, 11);
  if (status < 100) throw new MalformedMessage('a status below 100');
  // The grammar requires a space before an empty reason. Servers omit it, which is unambiguous.
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

/** Names the protocol of a service that is configured as HTTP/1.1 by mistake. */
function whyNotHttp1(bytes: Uint8Array, end: number): string {
  // RFC 8446, 5.1: an alert of TLS.
  if (bytes[0] === 0x15 && bytes[1] === 3) return 'an alert of TLS: write https:// for this upstream';
  // RFC 9113, 3.4 and 4.1: a server begins with SETTINGS.
  if (end > 3 && bytes[0] === 0 && bytes[3] === 4)
    return 'HTTP/2: write protocol: h2 (or grpc) for this upstream';
  return 'it does not begin with HTTP/1.';
}

function digit(bytes: Uint8Array, at: number): number {
  const value = (bytes[at] as number) - DIGIT_0;
  if (value < 0 || value > 9) throw new MalformedMessage('a status line without its digits');
  return value;
}

/** Keeps the beginning of a head until it is complete. Stays empty for the many heads that arrive in one read. */
export class UnfinishedHead {
  #bytes: Buffer = NO_BYTES;
  readonly #joined = new GrowingBytes();
  readonly #partialHead: PartialHead;

  /** @param isDue says when a head that arrives in pieces is parsed again */
  constructor(isDue = new PartialHead()) {
    this.#partialHead = isDue;
  }

  get isEmpty(): boolean {
    return this.#bytes.length === 0;
  }

  /** Adds further bytes. Returns the head so far, or `null` while parsing it again cannot give a new result. */
  add(bytes: Buffer, maxBytes: number): Buffer | null {
    this.#bytes = this.#joined.join(this.#bytes, bytes);
    return this.#partialHead.isParsingDue(this.#bytes, maxBytes) ? this.#bytes : null;
  }

  /** Keeps an incomplete head. Copies the bytes if they are lent, since they will be overwritten. */
  keep(head: Buffer, lent: boolean): void {
    this.#partialHead.incomplete(head.length);
    this.#bytes = lent ? this.#joined.join(NO_BYTES, head) : head;
  }

  /** Forgets the head, which is complete or given up. */
  forget(): void {
    if (this.isEmpty) return;
    this.#bytes = NO_BYTES;
    this.#joined.forget();
  }
}

/** What a response's head says about the bytes after it. Only this file reads it. */
export interface ResponseFraming {
  /** The body's length; `until close` is everything up to the end of the connection. */
  readonly length: number | 'chunked' | 'until close';
  /** True if the connection carries no further requests. */
  readonly close: boolean;
  /** How long the server keeps an idle connection, in milliseconds; `null` if it does not say. */
  readonly keepAliveMs: number | null;
  /** The fields without `Transfer-Encoding`, which is decoded here. */
  readonly fields: string[];
}

/** The fields read here, by length: most names are distinguished without comparing letters. */
const CONNECTION_BYTES = 10;
const CONTENT_LENGTH_BYTES = 14;
const TRANSFER_ENCODING_BYTES = 17;

/**
 * Decides how the response to a request with this method is framed, by the rules of RFC 9112, 6.3 in order. Where those allow a
 * recipient to repair a server's mistake, throws MalformedMessage: the next recipient might repair it differently.
 */
export function responseFraming(method: string, head: ResponseHead): ResponseFraming {
  const said = new FramingFields(head);
  const fields = said.fields;
  const { keepAliveMs } = said;
  // RFC 9112, 9.3: HTTP/1.0 closes unless both sides agree otherwise, which is never offered here.
  const close = said.close || head.httpMinor === 0;
  // Rule 1. The response to a HEAD and a 304 may state the framing that a GET would have had.
  if (method === 'HEAD' || head.status === 304) return { length: 0, close, keepAliveMs, fields };
  // A 204 must not have a body (RFC 9110, 8.6; RFC 9112, 6.1). A server that states one may send it after all, and it would be
  // taken for the response to the next request.
  if (head.status < 200 || head.status === 204) {
    const announced = said.chunked || (said.contentLength ?? 0) > 0;
    return { length: 0, close: close || announced, keepAliveMs, fields };
  }
  // Rules 3 and 4 were applied while reading the fields; 5 and 6.
  if (said.chunked) return { length: 'chunked', close, keepAliveMs, fields };
  if (said.contentLength !== null) return { length: said.contentLength, close, keepAliveMs, fields };
  // Rule 8.
  return { length: 'until close', close: true, keepAliveMs, fields };
}

/** The framing and connection fields of a head, each read strictly. */
class FramingFields {
  fields: string[];
  contentLength: number | null = null;
  chunked = false;
  close = false;
  keepAliveMs: number | null = null;

  constructor({ fields, httpMinor }: ResponseHead) {
    this.fields = fields as string[];
    for (let i = 0; i + 1 < fields.length; i += 2) {
      const { length } = fields[i] as string;
      if (
        length === CONNECTION_BYTES ||
        length === CONTENT_LENGTH_BYTES ||
        length === TRANSFER_ENCODING_BYTES
      )
        this.#read((fields[i] as string).toLowerCase(), fields[i + 1] as string, httpMinor);
    }
    if (!this.chunked) return;
    // RFC 9112, 6.3, rule 3: both fields may be an attempt at smuggling, since recipients disagree on which one counts.
    if (this.contentLength !== null) throw new MalformedMessage('both Content-Length and Transfer-Encoding');
    this.fields = withoutFields(
      fields,
      name => name.length === TRANSFER_ENCODING_BYTES && name.toLowerCase() === 'transfer-encoding',
    );
  }

  #read(name: string, value: string, httpMinor: number): void {
    switch (name) {
      case 'content-length':
        // RFC 9112, 6.3, rule 5 would accept "5, 5" as 5, and two equal lines as well.
        if (this.contentLength !== null) throw new MalformedMessage('Content-Length came twice');
        this.contentLength = readLength(value);
        break;
      case 'transfer-encoding':
        // RFC 9112, 7: the only coding that every recipient knows. 6.1: in HTTP/1.0 it is an error.
        if (this.chunked) throw new MalformedMessage('Transfer-Encoding came twice');
        if (httpMinor === 0) throw new MalformedMessage('Transfer-Encoding in HTTP/1.0');
        if (value.toLowerCase() !== 'chunked')
          throw new MalformedMessage('the only transfer coding accepted is chunked');
        this.chunked = true;
        break;
      case 'connection':
        this.close ||= connectionOptions(value).includes('close');
        break;
      case 'keep-alive':
        this.keepAliveMs = readKeepAlive(value);
        break;
    }
  }
}

/** Reads a length (RFC 9110, 8.6: `1*DIGIT`). Rejects a leading zero, which some parsers take for octal, and more than 15 digits. */
function readLength(value: string): number {
  if (!/^(?:0|[1-9]\d{0,14})$/.test(value))
    throw new MalformedMessage('Content-Length is not a plain number');
  return Number(value);
}

/** Reads the `timeout` of a `Keep-Alive` value, which is in seconds (RFC 2068, 19.7.1.1). */
function readKeepAlive(value: string): number | null {
  const seconds = /(?:^|[,; \t])timeout=(\d{1,9})(?:[,; \t]|$)/i.exec(value)?.[1];
  return seconds === undefined ? null : Number(seconds) * 1_000;
}

/** What a listener adds to the fields of a response. */
export interface ResponseTerms {
  /** The value of `Date`, for a response that has none. */
  readonly date: string;
  /** The value of `Keep-Alive`; `null` if the connection closes after the response. */
  readonly keepAliveHint: string | null;
  /** Whether the body is sent in chunks. */
  readonly chunked: boolean;
}

const DATE_BYTES = 4;

/** Writes the head of a response as text, in latin-1. RFC 9112, 4 and 6; the version is always ours (RFC 9110, 2.5). */
export function responseHead(status: number, reason: string, fields: Fields, terms: ResponseTerms): string {
  let head = `HTTP/1.1 ${status} ${reason}\r\n`;
  let dated = false;
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = fields[i] as string;
    if (name.length === DATE_BYTES && name.toLowerCase() === 'date') dated = true;
    head += `${name}: ${fields[i + 1]}\r\n`;
  }
  if (!dated) head += `Date: ${terms.date}\r\n`;
  if (terms.chunked) head += 'Transfer-Encoding: chunked\r\n';
  if (terms.keepAliveHint === null) return `${head}Connection: close\r\n\r\n`;
  return `${head}Connection: keep-alive\r\nKeep-Alive: ${terms.keepAliveHint}\r\n\r\n`;
}

/** Writes an interim response as text (RFC 9110, 15.2). */
export function interimResponse(status: number, reason: string, fields: Fields): string {
  let head = `HTTP/1.1 ${status} ${reason}\r\n`;
  for (let i = 0; i + 1 < fields.length; i += 2) head += `${fields[i]}: ${fields[i + 1]}\r\n`;
  return `${head}\r\n`;
}

/** A response that accepts another protocol. */
export interface Switched {
  readonly fields: Fields;
  /** The bytes that followed it. They belong to the other protocol. */
  readonly behind: Buffer;
}

/** What the last response, or the one in progress, means for the connection. */
export class LastResponse {
  /** True once a byte of it has arrived. */
  begun = false;
  readonly interim = new InterimCount();
  status = 0;
  /** True if no byte of a body was received, whatever its framing. */
  bodiless = false;
  /** True if the connection must not carry further requests. */
  close = false;
  /** How long the server keeps the connection, in milliseconds; `null` if it does not say. */
  keepAliveMs: number | null = null;
  /** Set if it accepted the requested protocol. The sink has not been called for it. */
  switched: Switched | null = null;

  /** Starts over for another request. */
  begin(): void {
    this.begun = false;
    this.interim.begin();
    this.close = false;
    this.switched = null;
  }
}

/** Maximum interim responses between two sweeps; a server that sends more is at fault. */
const MAX_INTERIM = 16;

/**
 * Counts the interim responses before a final one (RFC 9110, 15.2). Only their rate is bounded: a service may report progress for
 * as long as a request takes, for example with 102, or with 104 for a resumable upload.
 */
export class InterimCount {
  #count = 0;
  #swept = 0;

  /** Starts over for another response. */
  begin(): void {
    this.#count = 0;
    this.#swept = 0;
  }

  /** Adds one. Throws MalformedMessage if too many have come since the last sweep. */
  add(): void {
    if (++this.#count - this.#swept > MAX_INTERIM) throw new MalformedMessage('too many interim responses');
  }

  /** Returns how many have come in all. Call it at every sweep. */
  sweep(): number {
    this.#swept = this.#count;
    return this.#count;
  }
}

/** Throws MalformedMessage for an interim response that no server may send. */
export function checkInterim({ status, httpMinor }: ResponseHead): void {
  // RFC 9110, 15.2.2: the upgrade that a 101 accepts was never requested.
  if (status === 101) throw new MalformedMessage('an upgrade that was not requested');
  // RFC 9110, 15.2: HTTP/1.0 knows no interim responses.
  if (httpMinor === 0) throw new MalformedMessage('an interim response in HTTP/1.0');
}

/** The value of `Date` on responses (RFC 9110, 6.6.1), computed once a second rather than for each response. */
export class DateField {
  #second = Number.NaN;
  #text = '';

  at(epochMs: number): string {
    const second = Math.floor(epochMs / 1_000);
    if (second !== this.#second) {
      this.#second = second;
      this.#text = new Date(second * 1_000).toUTCString();
    }
    return this.#text;
  }
}

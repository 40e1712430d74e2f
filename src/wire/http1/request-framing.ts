import type { BodyLength, Fields } from '../../core/index.ts';
import { connectionOptions, hopFieldNames } from './message.ts';

/** Why a part of a request cannot be trusted: a phrase for the client, in ASCII. */
export interface Rejection {
  readonly rejected: string;
}

/** What a request's head says about the bytes after it. Only this file reads it; all other code gets the result. */
export interface RequestFraming {
  /** The length of the body, or why it is ambiguous. */
  readonly bodyLength: BodyLength | Rejection;
  /** True if the head says itself that the body has no bytes (`Content-Length: 0`). */
  readonly statesZero: boolean;
  /** Whether the client waits for a 100 before it sends the body (RFC 9110, 10.1.1). HTTP/1.0 has no `Expect`. */
  readonly expectation: 'none' | 'continue' | 'unknown';
  /** True if the client may send another request on this connection (RFC 9112, 9.3). */
  readonly persistent: boolean;
  /** The protocol that it requests (RFC 9110, 7.8). `none` includes all that are never switched to. */
  readonly upgrade: 'none' | 'websocket';
  /** Names of the fields that `Connection` limits to this hop, in lower case (RFC 9110, 7.6.1). */
  readonly hopFields: readonly string[];
}

/** The fields read here, by length: most names are distinguished without comparing letters. */
const EXPECT_BYTES = 6;
const UPGRADE_BYTES = 7;
const CONNECTION_BYTES = 10;
const CONTENT_LENGTH_BYTES = 14;
const TRANSFER_ENCODING_BYTES = 17;

const NO_FIELDS: readonly string[] = [];

export function requestFraming(fields: Fields, httpMinor: number): RequestFraming {
  const read = new FramingFields(fields);
  const upgrade = upgradeOf(read, httpMinor);
  return {
    bodyLength: bodyLengthOf(read, httpMinor),
    statesZero: read.contentLength === '0',
    expectation: httpMinor === 0 ? 'none' : expectationOf(read),
    // RFC 9112, 9.3: `close` wins in any line; HTTP/1.0 persists only on request. After a handshake, even a refused one, a client
    // sends frames: never read them as a request.
    persistent: !read.close && (httpMinor === 1 || read.keepAlive) && upgrade === 'none',
    upgrade,
    hopFields: read.hopFields ?? NO_FIELDS,
  };
}

/** The values of the framing fields; null if a field is absent. */
class FramingFields {
  contentLength: string | null = null;
  transferEncoding: string | null = null;
  expect: string | null = null;
  upgrade: string | null = null;
  close = false;
  keepAlive = false;
  /** True if `Connection` names `Upgrade`. */
  upgradeNamed = false;
  hopFields: string[] | null = null;
  /** The name of a repeated field that must be unique; `null` if there is none. */
  doubled: string | null = null;

  constructor(fields: Fields) {
    for (let i = 0; i + 1 < fields.length; i += 2) {
      const name = fields[i] as string;
      switch (name.length) {
        case EXPECT_BYTES:
        case UPGRADE_BYTES:
        case CONNECTION_BYTES:
        case CONTENT_LENGTH_BYTES:
        case TRANSFER_ENCODING_BYTES:
          this.#read(name.toLowerCase(), fields[i + 1] as string);
      }
    }
  }

  #read(name: string, value: string): void {
    switch (name) {
      case 'expect':
        this.expect = this.#once(name, this.expect, value);
        break;
      case 'content-length':
        this.contentLength = this.#once(name, this.contentLength, value);
        break;
      case 'transfer-encoding':
        this.transferEncoding = this.#once(name, this.transferEncoding, value);
        break;
      case 'upgrade':
        this.upgrade = this.upgrade === null ? value : `${this.upgrade}, ${value}`;
        break;
      case 'connection':
        this.#readConnection(value);
    }
  }

  #readConnection(value: string): void {
    const options = connectionOptions(value);
    this.close ||= options.includes('close');
    this.keepAlive ||= options.includes('keep-alive');
    this.upgradeNamed ||= options.includes('upgrade');
    for (const name of hopFieldNames(options)) {
      // All lines share one array: a small head can hold thousands of them.
      this.hopFields ??= [];
      this.hopFields.push(name);
    }
  }

  #once(name: string, before: string | null, value: string): string {
    if (before !== null) this.doubled = name;
    return value;
  }
}

/**
 * Decides only by `Content-Length` and `Transfer-Encoding`, never by the method (RFC 9112, 6.3). Rejects everything that a
 * backend could read differently: `010`, `gzip, chunked`, both fields, a repeated field, chunks in HTTP/1.0.
 */
function bodyLengthOf(read: FramingFields, httpMinor: number): BodyLength | Rejection {
  const { contentLength, transferEncoding, doubled } = read;
  if (doubled !== null) return { rejected: `the header field "${doubled}" came twice` };
  if (transferEncoding !== null) {
    if (contentLength !== null) return { rejected: 'both Content-Length and Transfer-Encoding' };
    if (httpMinor === 0) return { rejected: 'Transfer-Encoding in an HTTP/1.0 request' };
    if (transferEncoding.toLowerCase() !== 'chunked')
      return { rejected: 'the only transfer coding accepted is chunked' };
    return 'chunked';
  }
  if (contentLength === null || contentLength === '0') return 0;
  // At most 15 digits: exact as a number.
  if (!/^[1-9]\d{0,14}$/.test(contentLength)) return { rejected: 'Content-Length is not a plain number' };
  return Number(contentLength);
}

/**
 * Ignores an upgrade that `Connection` does not name, since it was intended for another hop, and any upgrade in HTTP/1.0. Also
 * ignores an offer of several protocols, as a server may (RFC 9110, 7.8).
 */
function upgradeOf({ upgrade, upgradeNamed }: FramingFields, httpMinor: number): RequestFraming['upgrade'] {
  const isWebSocket = upgradeNamed && httpMinor === 1 && upgrade?.toLowerCase() === 'websocket';
  return isWebSocket ? 'websocket' : 'none';
}

function expectationOf({ expect }: FramingFields): RequestFraming['expectation'] {
  // An empty list expects nothing (RFC 9110, 10.1.1).
  if (expect === null || expect === '') return 'none';
  return expect.toLowerCase() === '100-continue' ? 'continue' : 'unknown';
}

import type { BodySource, Fields, Release } from '../../core/index.ts';
import type { HttpVersion } from '../../http/index.ts';
import type { BodyTerms, RequestFraming } from '../../http1/index.ts';
import type { ConnectionMemory } from './connection-memory.ts';

/**
 * The client's side of an exchange, as a listener offers it: one request, and the way to answer it. The gateway knows
 * nothing of Node's objects behind it.
 */
export interface Downstream {
  readonly method: string;
  /** The request target as it came. */
  readonly target: string;
  readonly protocol: 'http1' | 'h2';
  /** Of HTTP, as `Via` names it. */
  readonly version: HttpVersion;
  readonly fields: Fields;
  /** What the fields say about the body and the connection; the listener has read it. */
  readonly framing: RequestFraming;
  readonly scheme: 'http' | 'https';
  /** Address of the connection's other end, IPv4-mapped IPv6 written as IPv4. */
  readonly peer: string;
  /** The client's verified certificate, as the value of `Client-Cert` (RFC 9440); null: none. */
  readonly clientCertificate: string | null;
  readonly memory: ConnectionMemory;
  /** Bytes of the request's body that have been read. */
  readonly bytesReceived: number;
  /** The request's body, for which these terms hold. Called at most once, and only where the framing says there is one. */
  body(terms: BodyTerms): BodySource;

  /** Answers at once, in one write; every character of the body is one byte. */
  answer(status: number, reason: string, fields: Fields, body: string, close: boolean): void;
  /** An interim response. */
  info(status: number, fields: Fields): void;
  /** Starts a response whose body follows; the fields say its length, or it goes out chunked. */
  head(status: number, reason: string, fields: Fields): void;
  /** False: the client is slower; wait for `Exchange.drained`. `taken` is called when the bytes may change. */
  write(chunk: Buffer, taken: Release | null): boolean;
  end(trailers: Fields): void;
  /** Breaks the response off, so that the client cannot take what it got for the whole. */
  abort(): void;
}

import type { BodySource, ByteStream, ErrorSide, FieldNames, Fields, Release } from '../../core/index.ts';
import type { HttpVersion } from '../../wire/http/index.ts';
import type { BodyTerms, RequestFraming } from '../../wire/http1/index.ts';
import type { ConnectionMemory } from './connection-memory.ts';

/** Takes over a connection from an exchange when the protocol is switched. */
export interface Successor {
  start(client: ByteStream): void;
  /** Checks for timeouts. Called twice a second. */
  sweep(nowMs: number): void;
  /** Called when the gateway shuts down. */
  drain(): void;
}

/** The client's side of an exchange, provided by a listener: one request, and the means to answer it. Hides Node's objects. */
export interface Downstream {
  /** The method; empty if Node does not know it. */
  readonly method: string;
  /** The request target as received. */
  readonly target: string;
  readonly protocol: 'http1' | 'h2';
  /** The HTTP version, as written in `Via`. */
  readonly version: HttpVersion;
  readonly fields: Fields;
  /** Names of the fields that the client marked as never indexed (RFC 7541, 6.2.3). Empty in HTTP/1.1. */
  readonly neverIndexed: FieldNames;
  /** What the fields say about the body and the connection, as read by the listener. */
  readonly framing: RequestFraming;
  readonly scheme: 'http' | 'https';
  /** The peer's address, with IPv4-mapped IPv6 written as IPv4. */
  readonly peer: string;
  /** True if its listener only redirects clients to https. */
  readonly redirects: boolean;
  /** True if its listener serves only gRPC calls. */
  readonly onlyCalls: boolean;
  /** The client's verified certificate, in the form of `Client-Cert` (RFC 9440); `null` if there is none. */
  readonly clientCertificate: string | null;
  readonly memory: ConnectionMemory;
  /** Bytes of the request's body read so far. */
  readonly bytesReceived: number;
  /** The request's body, read under these terms. Called at most once, and only if the framing announces a body. */
  body(terms: BodyTerms): BodySource;

  /**
   * Reports that this many bytes of the body are buffered instead of passed on. They count as held for the client until the
   * exchange ends. Returns false if there was no room for them under `caps.buffered`, in all or for its client.
   */
  keeps(bytes: number): boolean;
  /** Keeps response fields with these names out of compression tables. Call it before they are sent. */
  neverIndex(names: FieldNames): void;
  /** Sends a complete response in one write; each character of the body is one byte. */
  answer(status: number, reason: string, fields: Fields, body: string, close: boolean): void;
  /** Sends an interim response. */
  info(status: number, fields: Fields): void;
  /** Starts a response with a body to follow; without a length among the fields, it is chunked. */
  head(status: number, reason: string, fields: Fields): void;
  /**
   * Sends a part of the body. Returns false if the client is slower: then wait for `Exchange.drained`. Calls `release` once the
   * buffer may be reused.
   */
  write(chunk: Buffer, release: Release | null): boolean;
  end(trailers: Fields): void;
  /**
   * Answers 101, hands the connection to the successor, and starts it. Returns false if the client has disconnected. Call it only
   * if the request asks for that protocol.
   */
  switchProtocols(fields: Fields, successor: Successor): boolean;
  /** Aborts the response, so that the client cannot take it for complete. `side`: who is at fault. */
  abort(side: ErrorSide): void;
}

import { constants, type ServerHttp2Stream, type ServerStreamResponseOptions } from 'node:http2';
import type { ListenerModel } from '../../config/index.ts';
import {
  type BodySource,
  type FieldNames,
  type Fields,
  firstValue,
  type GatewayError,
  inNextTurn,
  NO_NAMES,
  type Release,
  type RosterEntry,
  StallTimer,
  type TimerClock,
} from '../../core/index.ts';
import {
  bodyTooSlow,
  type ConnectionMemory,
  clientTooSlow,
  type Downstream,
  type Exchange,
} from '../../gateway/index.ts';
import type { BodyTerms, RequestFraming } from '../../http1/index.ts';
import { BodyPace } from '../body-pace.ts';
import type { ConnectedClient } from '../client-connection.ts';
import type { ListenerState } from '../listener-state.ts';
import type { Http2RequestHead } from './http2-request-head.ts';
import { asObject, markNeverIndexed } from './session-options.ts';
import { closeWhenSent, StreamBody, type StreamBodyOwner } from './stream-body.ts';

const { NGHTTP2_NO_ERROR } = constants;

/** How much is read of a request that was answered before its end, while its client takes the response. */
const DROPPED_MAX_BYTES = 65_536;
const DROPPED_MAX_MS = 1_000;

const WHOLE: ServerStreamResponseOptions = { endStream: true };
const BODY_FOLLOWS: ServerStreamResponseOptions = {};
const TRAILERS_MAY_FOLLOW: ServerStreamResponseOptions = { waitForTrailers: true };

/** What a stream needs from its connection. */
export interface SessionSide {
  readonly clock: TimerClock;
  readonly client: ConnectedClient;
  readonly memory: ConnectionMemory;
  /** What its listener serves. */
  readonly serves: ListenerModel['serves'];
  /** Value of `Date`, now. */
  readonly date: string;
  /** The body of this request outgrew its terms. */
  bodyTooLarge(downstream: Http2Downstream): void;
  /** What takes the body of this request failed. */
  bodyFailed(downstream: Http2Downstream, fault: unknown): void;
}

/** One request of HTTP/2 and its response: one stream. */
export class Http2Downstream implements Downstream, StreamBodyOwner {
  readonly method: string;
  readonly target: string;
  readonly version = '2';
  readonly protocol = 'h2';
  readonly fields: Fields;
  readonly neverIndexed: FieldNames;
  readonly framing: RequestFraming;
  readonly scheme: 'http' | 'https';
  readonly peer: string;
  readonly redirects: boolean;
  readonly onlyCalls: boolean;
  readonly clientCertificate: string | null;
  readonly memory: ConnectionMemory;
  readonly stream: ServerHttp2Stream;
  /** Null without a body, or if its end is ambiguous. */
  readonly requestBody: StreamBody | null;
  /** Pieces of the response that were written. */
  writes = 0;
  readonly #connection: SessionSide;
  #ended = false;
  #sendsTrailers = false;
  #trailers: Fields = [];
  /** Fields of the response that the upstream sent so. */
  #neverIndexedBack: FieldNames = NO_NAMES;

  constructor(
    connection: SessionSide,
    stream: ServerHttp2Stream,
    head: Http2RequestHead,
    neverIndexed: FieldNames,
  ) {
    this.method = head.method;
    this.target = head.target;
    this.fields = head.fields;
    this.neverIndexed = neverIndexed;
    this.framing = head.framing;
    this.scheme = connection.client.scheme;
    this.peer = connection.client.peer;
    this.redirects = connection.client.redirects;
    this.onlyCalls = connection.serves === 'grpc';
    this.clientCertificate = connection.client.certificate;
    this.memory = connection.memory;
    this.stream = stream;
    this.#connection = connection;
    const { bodyLength } = head.framing;
    const hasBody = bodyLength !== 0 && typeof bodyLength !== 'object';
    this.requestBody = hasBody ? new StreamBody(stream, this) : null;
  }

  get bytesReceived(): number {
    return this.requestBody?.bytes ?? 0;
  }

  /** Pieces of DATA that were read. */
  get piecesReceived(): number {
    return this.requestBody?.pieces ?? 0;
  }

  /** Bytes of trailers that were read, and dropped. */
  get trailerBytes(): number {
    return this.requestBody?.trailerBytes ?? 0;
  }

  /** Whether the whole request has been read. */
  get requestComplete(): boolean {
    return this.requestBody?.done === true || this.stream.endAfterHeaders;
  }

  /** Whether it is the client's turn to send: the body flows, and is not complete. */
  get awaitsClient(): boolean {
    return this.requestBody?.flows === true;
  }

  /** Whether a stream that has closed took the whole response. */
  get delivered(): boolean {
    return this.#ended && this.stream.rstCode === NGHTTP2_NO_ERROR && !this.stream.aborted;
  }

  /**
   * Whether the client has reset the stream with NO_ERROR. Node does not report it: it waits for an end that cannot come, a response that
   * waits for its window or a body that is paused.
   */
  get isAbandoned(): boolean {
    const { closed, aborted, bufferSize } = this.stream;
    return closed && (aborted || bufferSize > 0);
  }

  body(terms: BodyTerms): BodySource {
    if (this.requestBody === null) throw new Error('a request without a body was asked for it');
    return this.requestBody.withTerms(terms);
  }

  /** Asks for the body where the client waits for that (RFC 9110, 10.1.1). One that already sends does not. */
  bodyStarted(): void {
    const { stream } = this;
    if (this.framing.expectation === 'none' || stream.headersSent || stream.readableLength > 0) return;
    if (!stream.closed) stream.additionalHeaders({ ':status': 100 });
  }

  bodyTooLarge(): void {
    this.#connection.bodyTooLarge(this);
  }

  bodyFailed(fault: unknown): void {
    this.#connection.bodyFailed(this, fault);
  }

  neverIndex(names: FieldNames): void {
    this.#neverIndexedBack = new Set([...this.#neverIndexedBack, ...names]);
  }

  answer(status: number, _reason: string, fields: Fields, body: string): void {
    const { stream } = this;
    if (stream.closed || stream.destroyed) return;
    if (body === '' || !this.#mayHaveBody(status)) this.#respond(status, fields, WHOLE);
    else {
      this.#respond(status, fields, BODY_FOLLOWS);
      stream.end(body, 'latin1');
    }
    this.#ended = true;
    this.#dropRequest();
  }

  info(status: number, fields: Fields): void {
    const { stream } = this;
    if (stream.closed || stream.destroyed || stream.headersSent) return;
    this.#send(() =>
      stream.additionalHeaders({ ...asObject(fields, this.#neverIndexedBack), ':status': status }),
    );
  }

  head(status: number, _reason: string, fields: Fields): void {
    const { stream } = this;
    if (stream.closed || stream.destroyed) return;
    if (!this.#mayHaveBody(status)) this.#respond(status, fields, WHOLE);
    else if (firstValue(fields, 'content-length') !== undefined && !this.#takesTrailers())
      this.#respond(status, fields, BODY_FOLLOWS);
    else {
      this.#sendsTrailers = true;
      this.#respond(status, fields, TRAILERS_MAY_FOLLOW);
      stream.once('wantTrailers', () => this.#sendTrailers());
    }
  }

  write(chunk: Buffer, taken: Release | null): boolean {
    const { stream } = this;
    if (!stream.writable) {
      // Of a response that has no body, or of a stream that has gone.
      taken?.();
      return !stream.destroyed;
    }
    this.writes++;
    return taken === null ? stream.write(chunk) : stream.write(chunk, taken);
  }

  end(trailers: Fields): void {
    const { stream } = this;
    this.#trailers = trailers;
    this.#ended = true;
    if (stream.writable) stream.end();
    if (!this.#sendsTrailers) this.#dropRequest();
  }

  switchProtocols(): boolean {
    throw new Error('a request of HTTP/2 asks for no upgrade');
  }

  /** `close` would not do: Node ends the response before it resets the stream, so that it could look complete. */
  abort(): void {
    this.#ended = false;
    this.stream.destroy(new Error('the response broke off'));
  }

  #respond(status: number, fields: Fields, options: ServerStreamResponseOptions): void {
    const head = [':status', String(status), ...fields];
    if (firstValue(fields, 'date') === undefined) head.push('date', this.#connection.date);
    this.#send(() => this.stream.respond(markNeverIndexed(head, head, this.#neverIndexedBack), options));
  }

  /** What HTTP/2 cannot say, such as a status past 599 (RFC 9110, 15), ends the stream. */
  #send(write: () => void): void {
    try {
      write();
    } catch {
      this.abort();
    }
  }

  #sendTrailers(): void {
    this.#send(() => this.stream.sendTrailers(asObject(this.#trailers, this.#neverIndexedBack)));
    // Node sends them in an immediate, too, which comes first.
    inNextTurn(() => this.#dropRequest());
  }

  /**
   * RFC 9113, 8.1: what is left of a request that was answered before its end is not wanted. It is read for a
   * moment all the same: curl 7.88 loses a response that a reset follows at once.
   */
  #dropRequest(): void {
    if (this.requestComplete) this.requestBody?.stop();
    else if (this.requestBody === null) closeWhenSent(this.stream);
    else this.requestBody.drop(DROPPED_MAX_BYTES, DROPPED_MAX_MS, this.#connection.clock);
  }

  /** RFC 9110, 6.5.1. Beside a stated length they are worth their cost only to a client that asks for them, as those of gRPC do. */
  #takesTrailers(): boolean {
    return firstValue(this.fields, 'te') === 'trailers';
  }

  /** RFC 9110, 15.3.6 and 15.4.5: these responses end with their head, whatever its fields say. */
  #mayHaveBody(status: number): boolean {
    return this.method !== 'HEAD' && status !== 204 && status !== 205 && status !== 304;
  }
}

/** HEADERS with their frame's header, the pseudo-fields that HTTP/1.1 does not have, and padding. */
const HEADERS_FRAMING_BYTES = 300;
/** The head of a frame (RFC 9113, 4.1). */
const FRAME_HEAD_BYTES = 9;
/**
 * Padding of a DATA frame, at most, with its length (RFC 9113, 6.1). nghttp2 does not say how much came. What a client sends in its place
 * costs less than the frame that it sends with it.
 */
const PADDING_BYTES = 256;
/** A client may answer each DATA with two WINDOW_UPDATE, and a PING that measures the connection. */
const ACKNOWLEDGEMENT_BYTES = 64;

/**
 * - an error: the client is late, and answered with it
 * - `reset`: it is late, and the stream is reset
 * - null: it is in time
 */
type StreamLateness = GatewayError | 'reset' | null;

/** A stream whose exchange is under way. */
export class OpenStream implements RosterEntry {
  place = -1;
  readonly downstream: Http2Downstream;
  readonly exchange: Exchange;
  readonly #headBytes: number;
  /** Made by the first sweep that finds the stream: most are gone before. */
  #waits: StreamWaits | null = null;

  constructor(downstream: Http2Downstream, exchange: Exchange, head: Http2RequestHead) {
    this.downstream = downstream;
    this.exchange = exchange;
    this.#headBytes = head.bytes;
  }

  /** Bytes that its client may have sent because of it: those of the request, and what the response makes it send. */
  get explainedBytes(): number {
    const { bytesReceived, piecesReceived, trailerBytes, stream, writes } = this.downstream;
    const heads = this.#headBytes + HEADERS_FRAMING_BYTES + trailerBytes;
    const body = bytesReceived + stream.readableLength + piecesReceived * (FRAME_HEAD_BYTES + PADDING_BYTES);
    return heads + body + writes * ACKNOWLEDGEMENT_BYTES;
  }

  /** Bytes that may have come as heads of the frames that wait to be read, at most: each byte may have had a frame of its own. */
  get waitingHeadBytes(): number {
    return this.downstream.stream.readableLength * FRAME_HEAD_BYTES;
  }

  /** Whether its client has taken too long. Ask at each sweep, and only then. */
  lateness(nowMs: number, state: ListenerState): StreamLateness {
    if (!this.exchange.dialect.isPaced) return null;
    this.#waits ??= new StreamWaits();
    return this.#waits.lateness(nowMs, this.downstream, state);
  }
}

/** Times what a stream waits for its client to do. */
class StreamWaits {
  readonly #pace = new BodyPace();
  readonly #stall = new StallTimer();
  #bytesReceived = 0;
  #unread = 0;

  lateness(nowMs: number, downstream: Http2Downstream, { timeouts }: ListenerState): StreamLateness {
    const { requestBody: body, bytesReceived } = downstream;
    // Bytes of the response that the client has yet to take.
    const unread = downstream.stream.bufferSize;
    const moved = bytesReceived !== this.#bytesReceived || unread !== this.#unread;
    this.#bytesReceived = bytesReceived;
    this.#unread = unread;
    const waitedMs = this.#stall.waitedMs(nowMs, moved);
    if (body?.done === false && this.#isTooSlow(nowMs, body)) return bodyTooSlow();
    if (unread > 0) return waitedMs > timeouts.clientReadMs ? 'reset' : null;
    if (downstream.awaitsClient) return waitedMs > timeouts.clientBodyIdleMs ? clientTooSlow() : null;
    this.#stall.begin();
    return null;
  }

  #isTooSlow(nowMs: number, body: StreamBody): boolean {
    if (body.stoodStill) this.#pace.stoodStill();
    body.stoodStill = false;
    return this.#pace.isTooSlow(nowMs, body);
  }
}

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
import type { ConnectedClient, ListenerState } from '../client-connection.ts';
import type { Http2RequestHead } from './http2-request-head.ts';
import { asObject, markNeverIndexed } from './session-options.ts';
import { closeWhenSent, StreamBody, type StreamBodyOwner } from './stream-body.ts';

const { NGHTTP2_NO_ERROR } = constants;

/** If a request is answered early: how much of its rest is read and thrown away, and for how long. */
const DROPPED_MAX_BYTES = 65_536;
const DROPPED_MAX_MS = 1_000;

const WHOLE: ServerStreamResponseOptions = { endStream: true };
const BODY_FOLLOWS: ServerStreamResponseOptions = {};
const TRAILERS_MAY_FOLLOW: ServerStreamResponseOptions = { waitForTrailers: true };

/** The connection of a stream, as the stream uses it. */
export interface SessionSide {
  readonly clock: TimerClock;
  readonly client: ConnectedClient;
  readonly memory: ConnectionMemory;
  /** What the connection's listener serves. */
  readonly serves: ListenerModel['serves'];
  /** The value of `Date`, now. */
  readonly date: string;
  /** Called when the body of this request is larger than its terms allow. */
  bodyTooLarge(downstream: Http2Downstream): void;
  /** Called when the sink of this request's body failed. */
  bodyFailed(downstream: Http2Downstream, fault: unknown): void;
}

/** One request of HTTP/2 and its response, which are one stream. */
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
  /** The body; `null` without one, or if its end is ambiguous. */
  readonly requestBody: StreamBody | null;
  /** How many pieces of the response were written. */
  writes = 0;
  readonly #connection: SessionSide;
  #ended = false;
  #sendsTrailers = false;
  #trailers: Fields = [];
  /** Names of the response's fields that the upstream sent as never indexed. */
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

  /** How many pieces of DATA were read. */
  get piecesReceived(): number {
    return this.requestBody?.pieces ?? 0;
  }

  /** How many bytes of trailers were read and dropped. */
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

  /** Whether a stream that has closed ended well for both sides. */
  get endedWell(): boolean {
    return this.#ended && this.stream.rstCode === NGHTTP2_NO_ERROR && !this.stream.aborted;
  }

  /**
   * Whether a stream that has closed took the whole response. A client that has read a response to the end may reset what is left of
   * its request (RFC 9113, 8.1).
   */
  get delivered(): boolean {
    return this.endedWell || (this.#ended && this.stream.writableFinished);
  }

  /**
   * Whether the client has reset the stream with NO_ERROR. Node does not report that if the response waits for its window or the
   * body is paused: it waits for an end that cannot come.
   */
  get isAbandoned(): boolean {
    const { closed, aborted, bufferSize } = this.stream;
    return closed && (aborted || bufferSize > 0);
  }

  body(terms: BodyTerms): BodySource {
    if (this.requestBody === null) throw new Error('a request without a body was asked for it');
    return this.requestBody.withTerms(terms);
  }

  /** Sends a 100 if the client waits for it (RFC 9110, 10.1.1). A client that already sends its body does not wait. */
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
      // The response has no body, or the stream is gone.
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

  /** Breaks the response off. Not by `close`: Node would end the response before the reset, so that it could look complete. */
  abort(): void {
    this.#ended = false;
    this.stream.destroy(new Error('the response broke off'));
  }

  #respond(status: number, fields: Fields, options: ServerStreamResponseOptions): void {
    const head = [':status', String(status), ...fields];
    if (firstValue(fields, 'date') === undefined) head.push('date', this.#connection.date);
    this.#send(() => this.stream.respond(markNeverIndexed(head, head, this.#neverIndexedBack), options));
  }

  /** Writes a part of the response. What HTTP/2 cannot say, such as a status above 599 (RFC 9110, 15), ends the stream. */
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
   * Gives up what is left of a request that was answered before its end (RFC 9113, 8.1). Still reads it for a moment: curl 7.88
   * loses a response that a reset follows at once.
   */
  #dropRequest(): void {
    if (this.requestComplete) this.requestBody?.stop();
    else if (this.requestBody === null) closeWhenSent(this.stream);
    else this.requestBody.drop(DROPPED_MAX_BYTES, DROPPED_MAX_MS, this.#connection.clock);
  }

  /** Whether the client asks for trailers, as those of gRPC do. Next to a stated length, only then are they worth their cost. */
  #takesTrailers(): boolean {
    return firstValue(this.fields, 'te') === 'trailers';
  }

  /** Whether a response may have a body. Others end with their head, whatever its fields say (RFC 9110, 15.3.6 and 15.4.5). */
  #mayHaveBody(status: number): boolean {
    return this.method !== 'HEAD' && status !== 204 && status !== 205 && status !== 304;
  }
}

/** Most bytes of a HEADERS frame besides its fields: the frame's head, pseudo-fields that HTTP/1.1 does not have, and padding. */
const HEADERS_FRAMING_BYTES = 300;
/** Size of a frame's head (RFC 9113, 4.1). */
const FRAME_HEAD_BYTES = 9;
/**
 * Most bytes of padding in a DATA frame, with its length (RFC 9113, 6.1). nghttp2 does not say how many came. Other frames that a
 * client sends in their place cost less than the DATA frame itself.
 */
const PADDING_BYTES = 256;
/** Most bytes that a client sends for each DATA frame it gets: two WINDOW_UPDATE, and a PING that measures the connection. */
const ACKNOWLEDGEMENT_BYTES = 64;

/**
 * - an error: the client is late; answer with this
 * - `reset`: the client is late; reset the stream
 * - `null`: the client is in time
 */
type StreamLateness = GatewayError | 'reset' | null;

/** A stream whose exchange is under way. */
export class OpenStream implements RosterEntry {
  place = -1;
  readonly downstream: Http2Downstream;
  readonly exchange: Exchange;
  readonly #headBytes: number;
  /** Times the stream; made by the first sweep that finds it, since most are gone before. */
  #waits: StreamWaits | null = null;

  constructor(downstream: Http2Downstream, exchange: Exchange, head: Http2RequestHead) {
    this.downstream = downstream;
    this.exchange = exchange;
    this.#headBytes = head.bytes;
  }

  /** How many bytes its client may have sent because of it: the request, and what the response makes it send. */
  get explainedBytes(): number {
    const { bytesReceived, piecesReceived, trailerBytes, stream, writes } = this.downstream;
    const heads = this.#headBytes + HEADERS_FRAMING_BYTES + trailerBytes;
    const body = bytesReceived + stream.readableLength + piecesReceived * (FRAME_HEAD_BYTES + PADDING_BYTES);
    return heads + body + writes * ACKNOWLEDGEMENT_BYTES;
  }

  /** Most bytes that may have come as heads of the frames that wait to be read: each byte may have had a frame of its own. */
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

/** Measures how long a stream waits for its client. */
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

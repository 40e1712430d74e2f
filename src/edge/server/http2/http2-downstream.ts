import type { ListenerModel, TimeoutsModel } from '../../../config/index.ts';
import type * as core from '../../../core/index.ts';
import { firstValue, NO_NAMES, StallTimer, withoutFields } from '../../../core/index.ts';
import type { ConnectionMemory, Downstream, Exchange, Gateway, Successor } from '../../../gateway/index.ts';
import { errors } from '../../../gateway/index.ts';
import type { BodyTerms, RequestFraming } from '../../../wire/http1/index.ts';
import { JOINED_BYTES, type RequestHandler, type ServerStream } from '../../../wire/http2/index.ts';
import { BodyPace, type PacedBody } from '../body-pace.ts';
import type { ConnectedClient, ListenerState } from '../client-connection.ts';
import type { ReadTerms } from '../read-pace.ts';
import type { Tunnels } from '../tunnels.ts';
import type { Http2RequestHead } from './http2-request-head.ts';
import { StreamBody, type StreamBodyOwner } from './stream-body.ts';
import { type ReadStream, StreamReadPace } from './stream-read-pace.ts';
import { StreamTunnel } from './stream-tunnel.ts';

/**
 * As long as fewer bytes than this are waiting, the response is read further, as with an HTTP/1.1 socket. So a short response can
 * be read to its end even if the client reads none of it.
 */
const WAITING_BYTES = 65_536;

export interface DownstreamConnection {
  readonly gateway: Gateway;
  readonly client: ConnectedClient;
  readonly memory: ConnectionMemory;
  /** What the connection's listener serves. */
  readonly serves: ListenerModel['serves'];
  readonly date: string;
  readonly clock: core.TimerClock;
  readonly tunnels: Tunnels;
  /** Updates the count of what is held for the client, after some of it could not be sent. */
  count(): void;
  /** Called when a stream ended because its client read too slowly. */
  readTooSlowly(): void;
  /** Reports that this many more bytes of requests are buffered, or fewer if negative. */
  keeps(change: number): boolean;
  /**
   * Called once, when the stream is closed.
   *
   * @param answered true if the complete response was passed to the session. It may not be written yet
   */
  streamClosed(downstream: Http2Downstream, answered: boolean): void;
}

/**
 * How far the response on a stream is.
 *
 * - `none` to `begun`: the final head is written, and a body follows
 * - `none` to `ended`: the final head is written and ends the stream
 * - `begun` to `ended`: the end of the body is written
 * - any to `closed`: the stream is closed, by its end, by a reset of either side or with its connection
 */
type ResponsePhase = 'none' | 'begun' | 'ended' | 'closed';

/** One request of HTTP/2 and its response, which are one stream. */
export class Http2Downstream implements Downstream, RequestHandler, StreamBodyOwner, core.RosterEntry {
  place = -1;
  readonly method: string;
  readonly target: string;
  readonly version = '2';
  readonly protocol = 'h2';
  readonly fields: core.Fields;
  readonly neverIndexed: core.FieldNames;
  readonly framing: RequestFraming;
  readonly stream: ServerStream;
  /** The body; `null` if there is none, or if its end is ambiguous. */
  readonly requestBody: StreamBody | null;
  readonly exchange: Exchange;
  readonly #connection: DownstreamConnection;
  #response: ResponsePhase = 'none';
  /** Names of the response's fields that the upstream sent as never indexed. */
  #neverIndexedBack: core.FieldNames = NO_NAMES;
  /** Callbacks that return the bytes waiting to be sent. */
  #releases: core.Release[] = [];
  /** Replaces the exchange if it became a WebSocket. */
  #tunnel: StreamTunnel | null = null;
  /** Bytes of its body that are buffered. */
  #kept = 0;
  /** Times the stream; created by the first sweep that finds it, since most are gone before. */
  #waits: StreamWaits | null = null;

  constructor(connection: DownstreamConnection, stream: ServerStream, head: Http2RequestHead) {
    this.method = head.method;
    this.target = head.target;
    this.fields = head.fields;
    this.neverIndexed = head.neverIndexed;
    this.framing = head.framing;
    this.stream = stream;
    this.#connection = connection;
    const { bodyLength } = head.framing;
    const hasBody = bodyLength !== 0 && typeof bodyLength !== 'object';
    this.requestBody = hasBody ? new StreamBody(stream, this) : null;
    this.exchange = connection.gateway.accept(this);
  }

  get scheme(): 'http' | 'https' {
    return this.#connection.client.scheme;
  }

  get peer(): string {
    return this.#connection.client.peer;
  }

  get redirects(): boolean {
    return this.#connection.client.redirects;
  }

  get onlyCalls(): boolean {
    return this.#connection.serves === 'grpc';
  }

  get clientCertificate(): string | null {
    return this.#connection.client.certificate;
  }

  get memory(): ConnectionMemory {
    return this.#connection.memory;
  }

  get bytesReceived(): number {
    return this.requestBody?.bytes ?? 0;
  }

  body(terms: BodyTerms): core.BodySource {
    if (this.requestBody === null) throw new Error('the body was requested of a request without a body');
    return this.requestBody.withTerms(terms);
  }

  neverIndex(names: core.FieldNames): void {
    this.#neverIndexedBack = new Set([...this.#neverIndexedBack, ...names]);
  }

  answer(status: number, _reason: string, fields: core.Fields, body: string): void {
    this.#begin(status, fields, body === '');
    if (this.#response !== 'begun') return;
    this.stream.write(Buffer.from(body, 'latin1'));
    this.end([]);
  }

  info(status: number, fields: core.Fields): void {
    if (this.#response === 'none') this.stream.info(status, fields, this.#neverIndexedBack);
  }

  head(status: number, _reason: string, fields: core.Fields): void {
    this.#begin(status, fields, false);
  }

  write(chunk: Buffer, release: core.Release | null): boolean {
    if (this.#response !== 'begun' || this.stream.write(chunk)) {
      release?.();
      return this.#response !== 'closed';
    }
    if (chunk.length < JOINED_BYTES) release?.();
    else if (release !== null) this.#releases.push(release);
    this.#connection.count();
    return !this.stream.isClosed && this.stream.unsent < WAITING_BYTES;
  }

  keeps(bytes: number): boolean {
    const change = bytes - this.#kept;
    this.#kept = bytes;
    return this.#connection.keeps(change);
  }

  end(trailers: core.Fields): void {
    if (this.#response !== 'begun') return;
    this.#response = 'ended';
    this.stream.end(trailers, this.#neverIndexedBack);
    this.#dropRequest();
    if (this.stream.unsent > 0) this.#connection.count();
  }

  /** Answers 200, the equivalent of the 101 of HTTP/1.1 (RFC 8441, 5). */
  switchProtocols(fields: core.Fields, successor: Successor): boolean {
    this.#begin(200, fields, false);
    if (this.#response !== 'begun') return false;
    const { clock, tunnels } = this.#connection;
    this.#tunnel = new StreamTunnel(this.stream, successor, clock, {
      left: () => this.#connection.count(),
      over: () => {
        tunnels.delete(successor);
        this.#close(true);
      },
    });
    successor.start(this.#tunnel);
    tunnels.add(successor);
    return true;
  }

  /** Aborts the response. A failing service must not cost its clients their connection. */
  abort(side: core.ErrorSide): void {
    if (this.#response === 'closed') return;
    this.stream.breakOff(side === 'client');
    this.#close(false);
  }

  /** Sends a 100 if the client waits for it (RFC 9110, 10.1.1). */
  bodyStarted(): void {
    if (this.framing.expectation !== 'none') this.info(100, []);
  }

  bodyTooLarge(): void {
    this.exchange.fault(errors.bodyTooLarge());
  }

  // From here on: called by the session for what arrives on the stream.

  data(bytes: Buffer): boolean {
    if (this.#tunnel !== null) return this.#tunnel.take(bytes);
    try {
      if (this.requestBody === null || this.requestBody.take(bytes)) return true;
      if (this.#response === 'ended') this.stream.dropRest();
    } catch (fault) {
      // Do not rethrow it: that would end the connection, and only this exchange has failed.
      this.exchange.fault(fault);
    }
    return false;
  }

  /** Drops trailers, which nobody requested (RFC 9110, 6.5.1). */
  section(): void {}

  ended(): void {
    if (this.#tunnel !== null) this.#tunnel.ended();
    else this.exchange.contain(() => this.requestBody?.end());
  }

  drained(): void {
    this.#giveBack(null);
    if (this.#tunnel !== null) this.#tunnel.drained();
    else this.exchange.drained();
  }

  malformed(why: string): void {
    this.exchange.fault(errors.badRequest(why));
  }

  /** A client that has the complete response may reset the rest of its request (RFC 9113, 8.1). */
  closed(): void {
    if (this.#tunnel !== null) this.#tunnel.gone();
    else this.#close(this.#response === 'ended' && this.stream.isAnswered);
  }

  /** Ends the exchange if its sender must not continue, or is late. */
  sweep(nowMs: number, state: ListenerState): void {
    const { clientReadMs } = state.timeouts;
    const readTerms = { clientReadMs, minBytesPerS: this.exchange.minReadRate };
    if (this.#tunnel !== null) {
      if (this.#tunnel.sweep(nowMs, readTerms)) this.#connection.readTooSlowly();
      return;
    }
    state.gateway.review(this.exchange);
    if (this.#response === 'closed') return;
    this.#waits ??= new StreamWaits();
    const late = this.#waits.lateness(nowMs, this, state.timeouts.clientBodyIdleMs, readTerms);
    if (late === 'reset') {
      this.abort('client');
      this.#connection.readTooSlowly();
    } else if (late === 'enough') this.stream.dropRest();
    else if (late !== null) this.exchange.fault(late);
  }

  /** Called last, when the complete response was written, or never will be. A WebSocket has replaced its exchange. */
  over(delivered: boolean): void {
    if (this.#tunnel === null) this.#connection.gateway.over(this.exchange, delivered);
  }

  /** True if it is the client's turn to send: the body is being read, and is not complete. */
  get awaitsClient(): boolean {
    return this.requestBody?.flows === true;
  }

  /** True if the client has the complete response, and is still sending its request. */
  get isAnsweredEarly(): boolean {
    return this.stream.isAnswered && !this.stream.isReceived;
  }

  #begin(status: number, fields: core.Fields, isEmpty: boolean): void {
    if (this.#response !== 'none') return;
    const ends = isEmpty || !this.#mayHaveBody(status);
    const isPlain = this.framing.upgrade === 'none';
    const out = isPlain ? fields : withoutFields(fields, name => UPGRADE_FIELDS.has(name.toLowerCase()));
    const hasDate = firstValue(fields, 'date') !== undefined;
    this.#response = ends ? 'ended' : 'begun';
    const dated = hasDate ? out : [...out, 'date', this.#connection.date];
    this.stream.respond(status, dated, ends, this.#neverIndexedBack);
    if (ends) this.#dropRequest();
  }

  /** Gives up the rest of a request that was answered before its end (RFC 9113, 8.1). */
  #dropRequest(): void {
    if (this.stream.isReceived) return;
    if (this.requestBody === null) this.stream.dropRest();
    else this.requestBody.drop();
  }

  #close(answered: boolean): void {
    if (this.#response === 'closed') return;
    this.#response = 'closed';
    if (this.#kept > 0) this.keeps(0);
    // Only if needed: creating an error costs more than the rest of this function.
    if (this.#releases.length > 0) this.#giveBack(new Error('the stream is closed'));
    this.#connection.streamClosed(this, answered);
  }

  #giveBack(error: Error | null): void {
    if (this.#releases.length === 0) return;
    const releases = this.#releases;
    this.#releases = [];
    for (const release of releases) release(error);
  }

  /** Whether a response may have a body. Others end after their head, whatever its fields say (RFC 9110, 15.3.6 and 15.4.5). */
  #mayHaveBody(status: number): boolean {
    return this.method !== 'HEAD' && status !== 204 && status !== 205 && status !== 304;
  }
}

/** Handshake fields that HTTP/2 does not use (RFC 8441, 5). */
const UPGRADE_FIELDS: core.FieldNames = new Set(['connection', 'upgrade', 'sec-websocket-accept']);

/** How long the rest of a request that was answered early is read and discarded. */
const DROPPED_MAX_MS = 1_000;

/**
 * What to do about a client:
 * - an error: it is late; answer with this
 * - `reset`: it is late; reset the stream
 * - `enough`: it has had time to read its response; stop reading its request
 * - `null`: it is in time
 */
type StreamLateness = core.GatewayError | 'reset' | 'enough' | null;

/** Measures how long a stream waits for its client. Call it at every sweep, and only then. */
export class StreamWaits {
  readonly #pace = new BodyPace();
  readonly #readPace = new StreamReadPace();
  readonly #stall = new StallTimer();
  #bytesReceived = 0;
  #isAnsweredEarly = false;

  lateness(
    nowMs: number,
    { requestBody: body, bytesReceived, stream, exchange, isAnsweredEarly, awaitsClient }: WaitingStream,
    clientBodyIdleMs: TimeoutsModel['clientBodyIdleMs'],
    readTerms: ReadTerms,
  ): StreamLateness {
    if (this.#readPace.isTooSlow(nowMs, stream, readTerms)) return 'reset';
    const moved =
      bytesReceived !== this.#bytesReceived || stream.unsent > 0 || isAnsweredEarly !== this.#isAnsweredEarly;
    this.#bytesReceived = bytesReceived;
    this.#isAnsweredEarly = isAnsweredEarly;
    const waitedMs = this.#stall.waitedMs(nowMs, moved);
    if (isAnsweredEarly) return waitedMs >= DROPPED_MAX_MS ? 'enough' : null;
    if (!exchange.dialect.isPaced) return null;
    if (body?.done === false && this.#isTooSlow(nowMs, body)) return errors.bodyTooSlow();
    if (awaitsClient) return waitedMs > clientBodyIdleMs ? errors.clientTooSlow() : null;
    this.#stall.begin();
    return null;
  }

  #isTooSlow(nowMs: number, body: MeasuredBody): boolean {
    if (body.wasPaused) this.#pace.wasPaused();
    body.wasPaused = false;
    return this.#pace.isTooSlow(nowMs, body);
  }
}

interface WaitingStream extends Pick<Http2Downstream, 'bytesReceived' | 'awaitsClient' | 'isAnsweredEarly'> {
  readonly requestBody: MeasuredBody | null;
  readonly stream: ReadStream;
  readonly exchange: { readonly dialect: Pick<Exchange['dialect'], 'isPaced'> };
}

type MeasuredBody = PacedBody & Pick<StreamBody, 'done' | 'wasPaused'>;

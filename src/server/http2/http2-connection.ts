import {
  constants,
  type IncomingHttpHeaders,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { Socket } from 'node:net';
import type { ListenerModel } from '../../config/index.ts';
import {
  forgetListeners,
  type GatewayError,
  type Http2FaultReason,
  holdSession,
  Roster,
  StallTimer,
  type TimerClock,
} from '../../core/index.ts';
import {
  badRequest,
  bodyTooLarge,
  ConnectionMemory,
  headTooLarge,
  internalFault,
} from '../../gateway/index.ts';
import { Liveness } from '../../http2/index.ts';
import type { ClientConnection, ConnectedClient, ListenerState } from '../client-connection.ts';
import { FloodWatch } from './flood-watch.ts';
import { Http2Downstream, OpenStream, type SessionSide } from './http2-downstream.ts';
import { type HeadFault, HeadReader } from './http2-request-head.ts';
import { blameClient, clientSessionOptions, faultOf, neverIndexedIn } from './session-options.ts';

const { NGHTTP2_ENHANCE_YOUR_CALM, NGHTTP2_INTERNAL_ERROR, NGHTTP2_FLAG_END_STREAM } = constants;

/** An idle connection is kept this much longer than announced, to serve a request sent at the last moment. */
const KEEP_ALIVE_GRACE_MS = 1_000;
/** How long a client may take to close a connection with nothing under way. */
const CLOSE_MS = 2_000;

/** What a client's connection over HTTP/2 is doing. */
type Http2Phase =
  /** Accepted; the client's SETTINGS have yet to come, which end its preface (RFC 9113, 3.4). */
  | { readonly name: 'preface'; readonly sinceMs: number }
  | { readonly name: 'open' }
  /** The client may open no further stream. What is under way ends, and then the connection. */
  | { readonly name: 'going away' };

const OPEN: Http2Phase = { name: 'open' };
const GOING_AWAY: Http2Phase = { name: 'going away' };

/** A client's connection over HTTP/2: a session of streams, each of which is one exchange. */
export class Http2Connection implements ClientConnection, SessionSide {
  readonly socket: Socket;
  readonly client: ConnectedClient;
  readonly memory: ConnectionMemory;
  readonly #state: ListenerState;
  readonly serves: ListenerModel['serves'];
  readonly #session: ServerHttp2Session;
  readonly #heads = new HeadReader();
  readonly #streams = new Roster<OpenStream>();
  readonly #stall = new StallTimer();
  readonly #liveness = new Liveness();
  readonly #floods: FloodWatch;
  /** How many bytes the closed streams explain. */
  #explained = 0;
  #phase: Http2Phase;

  /** @param socket put bytes that were read of it back first (`unshift`) */
  constructor(
    socket: Socket,
    client: ConnectedClient,
    state: ListenerState,
    serves: ListenerModel['serves'],
  ) {
    this.socket = socket;
    this.serves = serves;
    this.client = client;
    this.memory = new ConnectionMemory(client.mayForward);
    this.#state = state;
    const nowMs = state.clock.monotonicMs();
    this.#phase = { name: 'preface', sinceMs: nowMs };
    this.#floods = new FloodWatch(nowMs);
    this.#session = performServerHandshake(socket, clientSessionOptions(state.http2, state));
    this.#session.setLocalWindowSize(state.http2.connectionWindowBytes);
    blameClient(this.#session);
    this.#session.on('stream', (stream, headers, flags, raw) => {
      try {
        this.#onStream(stream, headers, flags, raw);
      } catch (fault) {
        this.#onStreamFault(stream, fault);
      }
    });
    this.#session.once('remoteSettings', () => this.#onSettings());
    this.#session.on('error', error => this.#onFault(faultOf(error)));
    socket.on('close', holdSession(this.#session));
    // TLS that breaks leaves its socket open.
    socket.on('error', () => socket.destroy());
    // A client that has closed its side can acknowledge nothing any more, so it waits for no response either.
    socket.on('end', () => this.#session.destroy());
  }

  get clock(): TimerClock {
    return this.#state.clock;
  }

  get date(): string {
    return this.#state.date.at(this.#state.clock.epochMs());
  }

  /** Closes the connection, for which there is no room: no stream of it was served. */
  refuse(error: GatewayError): void {
    this.#state.gateway.refuse({ peer: this.client.peer, protocol: 'h2' }, error);
    this.#close();
  }

  sweep(nowMs: number): void {
    for (const open of this.#streams) this.#sweepStream(open, nowMs);
    this.#sweepFloods(nowMs);
    const waitedMs = this.#stall.waitedMs(nowMs, this.#streams.size > 0);
    const { timeouts } = this.#state;
    this.#sweepLiveness(nowMs);
    switch (this.#phase.name) {
      case 'preface':
        if (nowMs - this.#phase.sinceMs > timeouts.clientHeaderMs) this.socket.destroy();
        break;
      case 'open':
        if (waitedMs > timeouts.keepAliveMs + KEEP_ALIVE_GRACE_MS) this.drain();
        break;
      case 'going away':
        if (waitedMs > CLOSE_MS) this.socket.destroy();
    }
  }

  /** Sends a GOAWAY: the client learns which of its streams are served, and sends the others elsewhere (RFC 9113, 6.8). */
  drain(): void {
    this.#phase = GOING_AWAY;
    this.#stall.begin();
    this.#session.close();
  }

  retire(): void {
    this.drain();
  }

  bodyTooLarge(downstream: Http2Downstream): void {
    this.bodyFailed(downstream, bodyTooLarge());
  }

  bodyFailed(downstream: Http2Downstream, fault: unknown): void {
    for (const open of this.#streams)
      if (open.downstream === downstream) this.#state.gateway.fault(open.exchange, fault);
  }

  #onSettings(): void {
    if (this.#phase.name === 'preface') this.#phase = OPEN;
  }

  #onStream(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    flags: number,
    raw: readonly string[],
  ): void {
    // Node calls it an error when a stream is reset; 'close' follows and is handled.
    stream.on('error', () => {});
    if (stream.destroyed) {
      this.#onReset();
      return;
    }
    const { gateway, headBytes } = this.#state;
    const head = this.#heads.read(raw, (flags & NGHTTP2_FLAG_END_STREAM) !== 0, headBytes);
    const downstream = new Http2Downstream(this, stream, head, neverIndexedIn(headers));
    const exchange = gateway.accept(downstream);
    const open = new OpenStream(downstream, exchange, head);
    this.#streams.add(open);
    stream.on('drain', () => exchange.drained());
    stream.on('close', () => this.#onStreamClosed(open));
    if (head.fault !== null) gateway.fault(exchange, errorOf(head.fault));
    else gateway.run(exchange);
    // A repeated head would not be recognized: its fields would be another array.
    if (!this.#heads.remembersFields) this.memory.arrival = null;
  }

  /** Closes a stream of which no exchange could be made. */
  #onStreamFault(stream: ServerHttp2Stream, fault: unknown): void {
    this.#state.gateway.refuse({ peer: this.client.peer, protocol: 'h2' }, internalFault(fault));
    stream.close(NGHTTP2_INTERNAL_ERROR);
  }

  #onStreamClosed(open: OpenStream): void {
    const { downstream } = open;
    forgetListeners(downstream.stream);
    this.#streams.delete(open);
    this.#explained += open.explainedBytes;
    // More of the request may have come that was not looked at.
    if (!downstream.requestComplete)
      this.#explained += this.#state.http2.streamWindowBytes + open.waitingHeadBytes;
    if (!downstream.endedWell) this.#onReset();
    this.#state.gateway.over(open.exchange, downstream.delivered);
  }

  #sweepStream(open: OpenStream, nowMs: number): void {
    const { gateway } = this.#state;
    gateway.review(open.exchange);
    if (open.downstream.isAbandoned) {
      open.downstream.abort();
      return;
    }
    const late = open.lateness(nowMs, this.#state);
    if (late === 'reset') open.downstream.abort();
    else if (late !== null) gateway.fault(open.exchange, late);
  }

  #sweepLiveness(nowMs: number): void {
    const { keepAliveMs: pingIntervalMs, clientReadMs: pingTimeoutMs } = this.#state.timeouts;
    const terms = { pingIntervalMs, pingTimeoutMs };
    const next = this.#liveness.sweep(nowMs, this.socket.bytesRead, this.#streams.size === 0, terms);
    if (next === 'give up') this.socket.destroy();
    else if (next === 'ping' && this.#liveness.ping()) this.#session.ping(() => {});
  }

  #sweepFloods(nowMs: number): void {
    let explained = this.#explained;
    let maybeExplained = 0;
    for (const open of this.#streams) {
      explained += open.explainedBytes;
      maybeExplained += open.waitingHeadBytes;
    }
    const flood = this.#floods.sweep(nowMs, this.socket.bytesRead, explained, maybeExplained);
    if (flood !== null) this.#calm(flood);
  }

  #onReset(): void {
    const flood = this.#floods.reset();
    if (flood !== null) this.#calm(flood);
  }

  #calm(flood: Http2FaultReason): void {
    if (this.#session.destroyed) return;
    this.#onFault(flood);
    this.#close();
  }

  #onFault(fault: Http2FaultReason | null): void {
    if (fault !== null) this.#state.connectionListener.http2Closed(fault);
  }

  #close(): void {
    this.#phase = GOING_AWAY;
    this.#stall.begin();
    // Pass an error, or Node would ignore the code.
    this.#session.destroy(new Error('the client asks for too much'), NGHTTP2_ENHANCE_YOUR_CALM);
  }
}

function errorOf(fault: HeadFault): GatewayError {
  return fault.kind === 'too large' ? headTooLarge() : badRequest(fault.why);
}

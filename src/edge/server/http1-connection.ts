import type { Socket } from 'node:net';
import { type GatewayError, readDirectly, StallTimer } from '../../core/index.ts';
import type { RenderedResponse, Successor } from '../../gateway/index.ts';
import { ConnectionMemory, errors } from '../../gateway/index.ts';
import type { IncomingHead, RequestBody, RequestReaderOwner, ResponseTerms } from '../../wire/http1/index.ts';
import {
  MalformedMessage,
  OtherVersion,
  OversizedHead,
  RequestReader,
  responseHead,
  UnknownMethod,
} from '../../wire/http1/index.ts';
import { BodyPace } from './body-pace.ts';
import { type Holding, type HoldingConnection, KEEPING_BYTES, WRITING_BYTES } from './buffered.ts';
import type { Accepted, ClientConnection, ConnectedClient, ListenerState } from './client-connection.ts';
import { type ConnectionSide, Http1Downstream, ResponseEnd } from './http1-downstream.ts';
import type { Http1Phase } from './http1-lateness.ts';
import { BETWEEN_REQUESTS, CLOSED, clientLateness, DISCARDING_BODY } from './http1-lateness.ts';
import { SwitchedConnection } from './switched-connection.ts';

/** A client's HTTP/1.1 connection: serves requests one after the other, and times every wait. */
export class Http1Connection
  implements ClientConnection, ConnectionSide, RequestReaderOwner, HoldingConnection
{
  readonly socket: Socket;
  readonly client: ConnectedClient;
  readonly memory: ConnectionMemory;
  readonly #accepted: Accepted;
  readonly #state: ListenerState;
  readonly #handlers = [
    ['end', () => this.#onEnd()],
    ['drain', () => this.#onDrain()],
    // 'close' follows and is handled. A TLS error leaves the socket open.
    ['error', () => this.socket.destroy()],
    ['close', () => this.#onClose()],
  ] as const;
  readonly #reader = new RequestReader(this);
  #phase: Http1Phase;
  #halfClosed = false;
  #retired = false;
  readonly #readPause = new ReadPause();
  readonly #holding: Holding;
  readonly #watch: ClientWatch;
  readonly #responseEnd: ResponseEnd;
  readonly #endReads: () => void;

  /** @param socket carries HTTP: the accepted socket, or TLS over it */
  constructor(accepted: Accepted, socket: Socket, client: ConnectedClient, state: ListenerState) {
    this.socket = socket;
    this.#accepted = accepted;
    this.client = client;
    this.memory = new ConnectionMemory(client.mayForward);
    this.#state = state;
    this.#holding = state.buffered.open(this, client.peer);
    this.#watch = new ClientWatch(socket, this.#reader, this.#holding, state);
    this.#responseEnd = new ResponseEnd(
      socket,
      () => this.#endExchange(true),
      () => this.count(),
    );
    this.#phase = { name: 'head', sinceMs: state.clock.monotonicMs() };
    for (const [event, handler] of this.#handlers) socket.on(event, handler);
    this.#endReads = readDirectly(socket, bytes => this.#onBytes(bytes));
  }

  get draining(): boolean {
    return this.#state.draining || this.#retired || this.#reader.over;
  }

  get takenBytes(): number {
    return this.socket.bytesWritten - this.socket.writableLength;
  }

  /** Ends the connection at once: it holds too much, or its client does not read. */
  cut(): void {
    this.reset();
    this.socket.destroy();
  }

  count(): void {
    const { body, waiting } = this.#reader;
    const { writableLength, destroyed } = this.socket;
    const kept = this.#phase.name === 'exchange' ? heldFor(this.#phase) : 0;
    // The last piece that the paused body passed on is still waiting for its upstream.
    const passed = body?.started === true && body.paused ? PASSED_BYTES : 0;
    const bytes = destroyed ? 0 : writableLength + waiting + kept + passed;
    const around = writableLength > 0 ? WRITING_BYTES : KEEPING_BYTES;
    this.#holding.set(bytes === 0 ? 0 : bytes + around);
  }

  hasRoomFor(bytes: number): boolean {
    return this.#holding.hasRoomFor(bytes);
  }

  terms(kept: boolean, chunked: boolean): ResponseTerms {
    const { date, clock, keepAliveHint } = this.#state;
    return { date: date.at(clock.epochMs()), keepAliveHint: kept ? keepAliveHint : null, chunked };
  }

  /** Answers with an error and closes: the bytes are not a request, or arrived too late. */
  refuse(error: GatewayError): void {
    if (this.#reader.over) return;
    this.#reader.giveUp();
    if (this.#phase.name === 'exchange') this.#phase.exchange.fault(error);
    else if (this.#phase.name === 'head') this.#answerLast(error);
    else this.#linger();
  }

  /** Restarts the idle time. Every response closes the connection from now on. */
  drain(): void {
    if (this.#phase.name === 'head' || this.#phase.name === 'discarding body') this.#watch.begin();
  }

  /** Makes the next response the last. An idle connection stays open: its client may just have sent a request. */
  retire(): void {
    this.#retired = true;
  }

  answered(): void {
    this.#responseEnd.written();
  }

  reset(): void {
    this.#accepted.reset();
  }

  switched(successor: Successor): void {
    const { socket } = this;
    for (const [event, handler] of this.#handlers) socket.off(event, handler);
    this.#endReads();
    const minReadRate = this.#phase.name === 'exchange' ? this.#phase.exchange.minReadRate : null;
    this.#phase = CLOSED;
    this.#holding.set(0);
    this.memory.owned?.close();
    const { peer } = this.client;
    const early = this.#reader.takeUnread();
    const switching = { accepted: this.#accepted, bytes: socket, peer, minReadRate, early, successor };
    SwitchedConnection.begin(switching, this.#state);
  }

  requestBegun(head: IncomingHead, body: RequestBody | null): void {
    const downstream = new Http1Downstream(this, head, body);
    const exchange = this.#state.gateway.accept(downstream);
    this.#watch.begin();
    this.#phase = { name: 'exchange', exchange, downstream };
    this.#state.gateway.run(exchange);
  }

  bodyStarted(): void {
    const phase = this.#phase;
    // RFC 9110, 10.1.1: a client that already sends the body is not waiting for the 100.
    if (phase.name === 'exchange' && phase.downstream.awaitsContinue && this.#reader.waiting === 0)
      this.socket.write('HTTP/1.1 100 Continue\r\n\r\n', 'latin1');
    this.#read();
  }

  bodyFlowChanged(): void {
    if (this.#reader.body?.flows !== true) this.#watch.bodyStoodStill();
    this.#read();
    this.count();
  }

  bodyTooLarge(): void {
    this.refuse(errors.bodyTooLarge());
  }

  sweep(nowMs: number): void {
    const phase = this.#phase;
    if (phase.name === 'exchange') this.#state.gateway.review(phase.exchange);
    const late = this.#watch.lateness(nowMs, phase, this.#halfClosed);
    if (late === 'close' && this.socket.writableLength > 0) this.cut();
    else if (late === 'close') this.socket.destroy();
    else if (late !== null) this.refuse(late);
    if (phase.name === 'exchange' && this.#watch.isFullTooLong(nowMs)) this.#dropRequestsBehind();
    this.count();
    if (this.#readPause.isOver()) this.#read();
    else this.#regulate();
  }

  /**
   * Drops pipelined requests that fill the reader, as RFC 9112, 9.3.2 allows, and keeps reading: a paused socket never reports that
   * its client has disconnected. The connection closes after the current response.
   */
  #dropRequestsBehind(): void {
    this.#reader.giveUp();
    this.#regulate();
  }

  #onBytes(bytes: Buffer): void {
    if (this.#reader.over) return;
    this.#reader.add(bytes);
    this.#read();
  }

  /** Called when the client has closed its side. It may still want the response: `sweep` allows it a moment. */
  #onEnd(): void {
    this.#halfClosed = true;
    this.#watch.begin();
    this.#read();
  }

  #onDrain(): void {
    this.count();
    if (this.#phase.name === 'exchange') this.#phase.exchange.drained();
  }

  #onClose(): void {
    this.#reader.giveUp();
    this.#endExchange(false);
    this.#phase = CLOSED;
    this.#holding.set(0);
    this.memory.owned?.close();
  }

  #read(): void {
    try {
      // Called from within a read, so do not start another.
      if (!this.#reader.read(this.#state.headBytes, this.#state.namedMethods)) return;
    } catch (error) {
      if (error instanceof UnknownMethod) this.#serveLast(error.head);
      // The error may also come from the sink of the body.
      else this.refuse(error instanceof MalformedMessage ? errorFor(error) : errors.internalFault(error));
    }
    this.#followReader();
    this.#regulate();
    if (this.#halfClosed) this.#readToEnd();
  }

  /** Serves a request with an unknown method, and reads nothing after its head. */
  #serveLast(head: IncomingHead): void {
    this.#reader.giveUp();
    this.requestBegun(head, null);
  }

  /** Updates the phase after the reader has moved on, between exchanges. */
  #followReader(): void {
    if (this.#phase.name === 'discarding body' && this.#reader.body === null && !this.#reader.over) {
      this.#phase = BETWEEN_REQUESTS;
      this.#watch.begin();
    }
    if (this.#phase === BETWEEN_REQUESTS && this.#reader.insideHead)
      this.#phase = { name: 'head', sinceMs: this.#state.clock.monotonicMs() };
  }

  /** Ends the connection, or refuses an incomplete request: the client has closed its side, so no further byte will come. */
  #readToEnd(): void {
    if (this.#reader.atEnd === 'inside a request')
      this.refuse(errors.badRequest('it is not valid HTTP/1.1 (the end inside a request)'));
    else if (this.#reader.atEnd === 'between requests') this.socket.end();
  }

  /** Pauses or resumes reading from the socket. */
  #regulate(): void {
    const wanted = this.#reader.wantsMore && !this.#readPause.isOn && !this.#holding.isOverShare;
    if (wanted && this.socket.isPaused()) this.socket.resume();
    else if (!wanted && !this.socket.isPaused()) this.socket.pause();
  }

  #endExchange(delivered: boolean): void {
    if (this.#phase.name !== 'exchange') return;
    const { exchange, downstream } = this.#phase;
    this.#phase = CLOSED;
    this.#watch.exchangeEnded();
    this.#holding.rest();
    this.#state.gateway.over(exchange, delivered);
    if (this.socket.destroyed) return;
    if (this.#holding.bytes > 0) this.count();
    if (exchange.isShed) this.#readPause.begin();
    if (downstream.keepsConnection && !this.#reader.over) this.#nextRequest();
    else this.#close(downstream.lingers || this.#reader.over);
  }

  #nextRequest(): void {
    this.#watch.begin();
    // The gateway could not recognise a repeated head: the reader would make another array of its fields.
    if (!this.#reader.remembersFields) this.memory.arrival = null;
    this.#phase = this.#reader.body === null ? BETWEEN_REQUESTS : DISCARDING_BODY;
    this.#reader.next();
    if (this.#readPause.isOn) this.#regulate();
    else this.#read();
  }

  #close(lingers: boolean): void {
    // Closing with unread bytes would reset the connection.
    const mustLinger = lingers || this.#reader.waiting > 0;
    this.#reader.giveUp();
    if (mustLinger) this.#linger();
    else this.socket.destroySoon();
  }

  #linger(): void {
    this.#watch.begin();
    this.#phase = { name: 'lingering', sinceMs: this.#state.clock.monotonicMs() };
    this.#regulate();
    this.socket.end();
  }

  /** Answers bytes that never became a request, and closes. */
  #answerLast(error: GatewayError): void {
    const response = this.#state.gateway.refuse({ peer: this.client.peer, protocol: 'http1' }, error);
    if (this.socket.writable) this.socket.write(lastResponse(response, this.terms(false, false)), 'latin1');
    this.#linger();
  }
}

/** The buffered part of a request's body, and the part of its response that cannot be written yet. */
function heldFor({ downstream, exchange }: Extract<Http1Phase, { name: 'exchange' }>): number {
  return downstream.kept + (exchange.upstreamLeg?.heldBytes ?? 0);
}

/** Maximum that a body passes on before it pauses: one read of the socket. */
const PASSED_BYTES = 65_536;

/** How many sweeps a pause lasts: the third is a second away or slightly more, as `Retry-After` says. */
const SWEEPS = 3;

/**
 * Pauses reading from a connection after one of its requests was shed. Otherwise refusals alone would keep an overloaded process
 * busy: one costs about half as much as a served request (bench/README.md).
 */
export class ReadPause {
  #sweeps = 0;

  get isOn(): boolean {
    return this.#sweeps > 0;
  }

  begin(): void {
    this.#sweeps = SWEEPS;
  }

  /** Whether the pause ends now. Call it at every sweep. */
  isOver(): boolean {
    return this.#sweeps > 0 && --this.#sweeps === 0;
  }
}

/** How long requests that fill the reader may wait behind another. */
const MAX_FULL_MS = 5_000;

/** Measures how long a connection waits for its client. Only sweeps read the clock. */
class ClientWatch {
  readonly #socket: Socket;
  readonly #reader: RequestReader;
  readonly #holding: Holding;
  readonly #state: ListenerState;
  readonly #stall = new StallTimer();
  readonly #pace = new BodyPace();
  readonly #progress: SocketProgress;
  /** When a sweep first found the reader full behind the current exchange; `null` if it is not. */
  #fullSinceMs: number | null = null;

  constructor(socket: Socket, reader: RequestReader, holding: Holding, state: ListenerState) {
    this.#socket = socket;
    this.#reader = reader;
    this.#holding = holding;
    this.#state = state;
    this.#progress = new SocketProgress(socket);
  }

  begin(): void {
    this.#stall.begin();
  }

  bodyStoodStill(): void {
    this.#pace.wasPaused();
  }

  exchangeEnded(): void {
    this.#fullSinceMs = null;
  }

  /**
   * Decides whether the client has taken too long. Returns the error to answer with, `close` if no response is due, or `null`.
   * Call it at every sweep, and only then.
   */
  lateness(nowMs: number, phase: Http1Phase, halfClosed: boolean): GatewayError | 'close' | null {
    const { body, insideHead } = this.#reader;
    const moved = this.#progress.moved(phase.name === 'lingering' || body?.flows === true);
    const waitedMs = this.#stall.waitedMs(nowMs, moved);
    const isTooSlow = body !== null && this.#pace.isTooSlow(nowMs, body);
    const readsTooSlowly = this.#readsTooSlowly(nowMs, phase);
    const wait = { nowMs, waitedMs, isTooSlow, readsTooSlowly, insideHead, halfClosed };
    const late = clientLateness(phase, this.#state, wait);
    if (late !== 'not awaited') return late;
    this.#stall.begin();
    return null;
  }

  #readsTooSlowly(nowMs: number, phase: Http1Phase): boolean {
    if (phase.name !== 'exchange' || this.#socket.writableLength === 0) {
      this.#holding.rest();
      return false;
    }
    const { clientReadMs } = this.#state.timeouts;
    const isSlow = this.#holding.isTooSlow(nowMs, { clientReadMs, minBytesPerS: phase.exchange.minReadRate });
    if (isSlow) this.#state.connectionListener.readTooSlowly();
    return isSlow;
  }

  /** Whether requests behind a slow one have filled the reader for too long. Call it at every sweep during an exchange. */
  isFullTooLong(nowMs: number): boolean {
    if (!this.#reader.isFull) return false;
    this.#fullSinceMs ??= nowMs;
    return nowMs - this.#fullSinceMs >= MAX_FULL_MS;
  }
}

/** Finds out whether a socket has transferred bytes since the last sweep. */
class SocketProgress {
  readonly #socket: Socket;
  #bytesRead = 0;
  #bytesTaken = 0;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /**
   * Whether bytes were transferred since the last call.
   *
   * @param wantsBytes whether bytes from the client count as progress now. Otherwise a client could keep its connection forever
   *   with an occasional empty line, or with requests behind a response that it does not read
   */
  moved(wantsBytes: boolean): boolean {
    const { bytesRead, bytesWritten, writableLength } = this.#socket;
    const bytesTaken = bytesWritten - writableLength;
    const moved = (wantsBytes && bytesRead !== this.#bytesRead) || bytesTaken !== this.#bytesTaken;
    this.#bytesRead = bytesRead;
    this.#bytesTaken = bytesTaken;
    return moved;
  }
}

function errorFor(fault: MalformedMessage): GatewayError {
  if (fault instanceof OversizedHead) return errors.headTooLarge();
  if (fault instanceof OtherVersion) return errors.versionNotSupported(fault.isPreface);
  return errors.badRequest(`it is not valid HTTP/1.1 (${fault.message})`);
}

function lastResponse({ status, reason, fields, body }: RenderedResponse, terms: ResponseTerms): string {
  return responseHead(status, reason, fields, terms) + body;
}

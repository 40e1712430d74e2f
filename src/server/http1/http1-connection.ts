import type { Socket } from 'node:net';
import { type GatewayError, SocketStream, StallTimer } from '../../core/index.ts';
import {
  badRequest,
  bodyTooLarge,
  ConnectionMemory,
  headTooLarge,
  type Successor,
  versionNotSupported,
} from '../../gateway/index.ts';
import {
  type IncomingHead,
  MalformedMessage,
  OtherVersion,
  OversizedHead,
  type RequestBody,
  RequestReader,
  type RequestReaderOwner,
  responseHead,
} from '../../http1/index.ts';
import type { Accepted } from '../accepted.ts';
import { BodyPace } from '../body-pace.ts';
import type { Client, ClientConnection } from '../client-connection.ts';
import type { ListenerState } from '../listener-state.ts';
import { SwitchedConnection } from '../switched-connection.ts';
import { BETWEEN_REQUESTS, CLOSED, type Phase, REST_OF_BODY } from './connection-phase.ts';
import { type ConnectionSide, Http1Downstream } from './http1-downstream.ts';
import { lateness } from './lateness.ts';
import { SocketProgress } from './socket-progress.ts';

/** So many requests of one read are answered before other connections have their turn. */
const ANSWERS_AT_A_TIME = 16;
/** How long requests that fill the reader may wait behind another. */
const MAX_FULL_MS = 5_000;

const NO_BYTES = Buffer.alloc(0);

/** A client's connection: serves one request after the other, and times every wait. */
export class Connection implements ClientConnection, ConnectionSide, RequestReaderOwner {
  readonly socket: Socket;
  readonly client: Client;
  readonly memory: ConnectionMemory;
  readonly #accepted: Accepted;
  readonly #state: ListenerState;
  readonly #handlers = [
    ['data', (bytes: Buffer) => this.#onBytes(bytes)],
    ['end', () => this.#onEnd()],
    ['drain', () => this.#onDrain()],
    // 'close' follows and is handled; TLS that breaks leaves its socket open.
    ['error', () => this.socket.destroy()],
    ['close', () => this.#onClose()],
  ] as const;
  readonly #reader = new RequestReader(this);
  #phase: Phase;
  /** Answers since bytes last came. */
  #responses = 0;
  #halfClosed = false;
  /** The first sweep that found the reader full behind the present exchange. */
  #fullSinceMs: number | null = null;
  readonly #stall = new StallTimer();
  readonly #progress: SocketProgress;
  readonly #pace = new BodyPace();

  /** @param socket carries HTTP: the accepted socket, or TLS over it */
  constructor(accepted: Accepted, socket: Socket, client: Client, state: ListenerState) {
    this.socket = socket;
    this.#accepted = accepted;
    this.client = client;
    this.memory = new ConnectionMemory(client.mayForward);
    this.#state = state;
    this.#progress = new SocketProgress(socket);
    this.#phase = { name: 'head', sinceMs: state.clock.monotonicMs() };
    for (const [event, handler] of this.#handlers) socket.on(event, handler);
  }

  get draining(): boolean {
    return this.#state.draining || this.#reader.over;
  }

  get keepAliveHint(): string {
    return this.#state.keepAliveHint;
  }

  get date(): string {
    return this.#state.date.at(this.#state.clock.epochMs());
  }

  /** Answers with an error and closes: what came is not a request, or did not come in time. */
  refuse(error: GatewayError): void {
    if (this.#reader.over) return;
    this.#reader.giveUp();
    if (this.#phase.name === 'exchange') this.#state.gateway.clientFault(this.#phase.exchange, error);
    else if (this.#phase.name === 'head') this.#answerLast(error);
    else this.#linger();
  }

  /** No response keeps the connection from here on. Its idle time begins anew. */
  drain(): void {
    if (this.#phase.name === 'head' || this.#phase.name === 'rest of body') this.#stall.begin();
  }

  answered(): void {
    // Deferred to the next tick: the upstream connection that brought the response is idle only after this call. Ending the
    // exchange here, 200 pipelined requests used two upstream connections in turns; deferred, they use one. CPU per response:
    // 8.9 µs without deferring, 9.0 with a tick, 9.4 with the callback of the write, 10.3 with an immediate.
    if (this.socket.writableLength > 0)
      this.socket.write(NO_BYTES, error => (error ? undefined : this.#endExchange(true)));
    else if (++this.#responses % ANSWERS_AT_A_TIME === 0) setImmediate(Connection.#responseGone, this);
    else process.nextTick(Connection.#responseGone, this);
  }

  reset(): void {
    this.#accepted.socket.resetAndDestroy();
  }

  switched(successor: Successor): void {
    const { socket } = this;
    for (const [event, handler] of this.#handlers) socket.off(event, handler);
    this.#phase = CLOSED;
    const stream = new SocketStream(socket, this.#reader.takeRest());
    // Started before it becomes the stage: while the gateway drains, that ends it at once.
    successor.start(stream);
    this.#accepted.become(new SwitchedConnection(this.#accepted.socket, socket, successor, this.#state));
  }

  requestBegun(head: IncomingHead, body: RequestBody | null): void {
    const { gateway } = this.#state;
    const downstream = new Http1Downstream(this, head, body);
    const exchange = gateway.accept(downstream);
    this.#stall.begin();
    this.#phase = { name: 'exchange', exchange, downstream };
    gateway.run(exchange);
  }

  bodyStarted(): void {
    // RFC 9110, 10.1.1: a client that already sends the body does not wait for the 100.
    if (
      this.#phase.name === 'exchange' &&
      this.#phase.downstream.awaitsContinue &&
      this.#reader.waiting === 0
    )
      this.socket.write('HTTP/1.1 100 Continue\r\n\r\n', 'latin1');
    this.#read();
  }

  bodyFlowChanged(): void {
    if (this.#reader.body?.flows !== true) this.#pace.stoodStill();
    this.#read();
  }

  bodyTooLarge(): void {
    this.refuse(bodyTooLarge());
  }

  /** Checks whether something has taken too long. */
  sweep(nowMs: number): void {
    const { body } = this.#reader;
    const phase = this.#phase;
    const moved = this.#progress.moved(phase.name === 'lingering' || body?.flows === true);
    const waitedMs = this.#stall.waitedMs(nowMs, moved);
    const isTooSlow = body !== null && this.#pace.isTooSlow(nowMs, body);
    if (phase.name === 'exchange') this.#state.gateway.review(phase.exchange);
    const { insideHead } = this.#reader;
    const late = lateness(phase, this.#state, {
      nowMs,
      waitedMs,
      isTooSlow,
      insideHead,
      halfClosed: this.#halfClosed,
    });
    if (late === 'close') this.socket.destroy();
    else if (late === 'not awaited') this.#stall.begin();
    else if (late !== null) this.refuse(late);
    if (phase.name === 'exchange') this.#dropRequestsBehind(nowMs);
  }

  /**
   * Reads on where requests behind a slow one have filled the reader for a while: a paused socket never reports that
   * its client has gone. Those requests are lost, as pipelined ones may be (RFC 9112, 9.3.2), and the connection ends with
   * the response under way.
   */
  #dropRequestsBehind(nowMs: number): void {
    if (!this.#reader.isFull) return;
    this.#fullSinceMs ??= nowMs;
    if (nowMs - this.#fullSinceMs < MAX_FULL_MS) return;
    this.#reader.giveUp();
    this.#regulate();
  }

  #onBytes(bytes: Buffer): void {
    if (this.#reader.over) return;
    this.#responses = 0;
    this.#reader.add(bytes);
    this.#read();
  }

  /** A client may close its side after its last request and still want the response: `sweep` gives it a moment. */
  #onEnd(): void {
    this.#halfClosed = true;
    this.#stall.begin();
    this.#read();
  }

  #onDrain(): void {
    if (this.#phase.name === 'exchange') this.#phase.exchange.drained();
  }

  #onClose(): void {
    this.#reader.giveUp();
    this.#endExchange(false);
    this.#phase = CLOSED;
  }

  /** Reads waiting bytes as far as they are wanted. */
  #read(): void {
    try {
      // Called from within a read, which goes on.
      if (!this.#reader.read(this.#state.headBytes)) return;
    } catch (error) {
      if (!(error instanceof MalformedMessage)) throw error;
      this.refuse(errorFor(error));
    }
    this.#followReader();
    this.#regulate();
    if (this.#halfClosed) this.#readToEnd();
  }

  /** Keeps the phase in step with the reader where no exchange is under way. */
  #followReader(): void {
    if (this.#phase.name === 'rest of body' && this.#reader.body === null && !this.#reader.over) {
      this.#phase = BETWEEN_REQUESTS;
      this.#stall.begin();
    }
    if (this.#phase === BETWEEN_REQUESTS && this.#reader.insideHead)
      this.#phase = { name: 'head', sinceMs: this.#state.clock.monotonicMs() };
  }

  /** The client has closed its side: no further byte will come. */
  #readToEnd(): void {
    if (this.#reader.atEnd === 'inside a request') this.refuse(notValid());
    else if (this.#reader.atEnd === 'between requests') this.socket.end();
  }

  /** Pauses or resumes reading from the socket. */
  #regulate(): void {
    const wanted = this.#reader.wantsMore;
    if (wanted === this.socket.isPaused()) {
      if (wanted) this.socket.resume();
      else this.socket.pause();
    }
  }

  /** The last byte of the response has gone. */
  static #responseGone(connection: Connection): void {
    connection.#endExchange(true);
  }

  #endExchange(delivered: boolean): void {
    if (this.#phase.name !== 'exchange') return;
    const { exchange, downstream } = this.#phase;
    this.#phase = CLOSED;
    this.#fullSinceMs = null;
    this.#state.gateway.over(exchange, delivered);
    if (this.socket.destroyed) return;
    if (downstream.keepsConnection && !this.#reader.over) this.#nextRequest();
    else this.#close(downstream.lingers || this.#reader.over);
  }

  #nextRequest(): void {
    this.#stall.begin();
    // A repeated head would not be recognised: its fields would be another array.
    if (!this.#reader.remembersFields) this.memory.arrival = null;
    this.#phase = this.#reader.body === null ? BETWEEN_REQUESTS : REST_OF_BODY;
    this.#reader.next();
    this.#read();
  }

  #close(lingers: boolean): void {
    // Closing with unread bytes would reset the connection.
    const unread = this.#reader.waiting > 0;
    this.#reader.giveUp();
    if (lingers || unread) this.#linger();
    else this.socket.destroySoon();
  }

  #linger(): void {
    this.#stall.begin();
    this.#phase = { name: 'lingering', sinceMs: this.#state.clock.monotonicMs() };
    this.#regulate();
    this.socket.end();
  }

  /** Answers bytes that never became a request, and closes. */
  #answerLast(error: GatewayError): void {
    const { status, reason, fields, body } = this.#state.gateway.refuse(
      { peer: this.client.peer, protocol: 'http1' },
      error,
    );
    const terms = { date: this.date, keepAliveHint: null, chunked: false };
    if (this.socket.writable) this.socket.write(responseHead(status, reason, fields, terms) + body, 'latin1');
    this.#linger();
  }
}

function errorFor(fault: MalformedMessage): GatewayError {
  if (fault instanceof OversizedHead) return headTooLarge();
  return fault instanceof OtherVersion ? versionNotSupported() : notValid();
}

function notValid(): GatewayError {
  return badRequest('it is not valid HTTP/1.1');
}

import type { Socket } from 'node:net';
import { type GatewayError, GrowingBytes } from '../core/index.ts';
import {
  badRequest,
  bodyTooLarge,
  bodyTooSlow,
  ConnectionMemory,
  clientTooSlow,
  type Exchange,
  headTooLarge,
  versionNotSupported,
} from '../gateway/index.ts';
import {
  answerHead,
  type IncomingHead,
  MalformedMessage,
  OtherVersion,
  PartialHead,
  type RequestBody,
  readIncomingHead,
  withoutEmptyLines,
} from '../http1/index.ts';
import { type ConnectionSide, Http1Downstream } from './http1-downstream.ts';
import type { ListenerState } from './listener-state.ts';
import { StallTimer } from './stall-timer.ts';

/**
 * While so many bytes wait behind the current request, nothing more is read. With fewer it is, for only so does the gateway
 * see that a client has gone.
 */
const MAX_WAITING_BYTES = 65_536;
/** Requests that come in one piece are answered so many at a time; in between, other connections have their turn. */
const ANSWERS_AT_A_TIME = 16;
/** After an answer that closes the connection, what the client still sends is thrown away until it pauses for this long. */
const LINGER_MS = 2_000;
/** And for no longer than this in all. */
const LINGER_MAX_MS = 5_000;
/** After a client has closed its side, an exchange may stand still for this long: it may have half-closed only. */
const HALF_CLOSED_MS = 1_000;
/** While draining, an idle connection is kept for this long: its client may just have sent a request. */
const DRAIN_IDLE_MS = 1_000;

const NO_BYTES = Buffer.alloc(0);

/**
 * A client's connection: reads one request after the other, each when the one before is answered, and knows how long it has
 * been waiting for what.
 */
export class Connection implements ConnectionSide {
  readonly socket: Socket;
  readonly peer: string;
  readonly memory = new ConnectionMemory();
  readonly #state: ListenerState;
  #current: { readonly exchange: Exchange; readonly downstream: Http1Downstream } | null = null;
  /** The body that the next byte belongs to; its exchange may be over already. */
  #body: RequestBody | null = null;
  /** The last request that was read; null where it was too large to be remembered. */
  #before: IncomingHead | null = null;
  /** Bytes that have been read and not been looked at, or are the beginning of a head. */
  #waiting: Buffer = NO_BYTES;
  /** Where those that came in several pieces are joined. */
  readonly #joined = new GrowingBytes(2 * MAX_WAITING_BYTES);
  readonly #partialHead = new PartialHead();
  /** Answers since bytes last came. */
  #answers = 0;
  /** The bytes that wait are being looked at. */
  #looking = false;
  /** Nothing that comes is served any more. */
  #closing = false;
  /** When the lingering began. */
  #lingersSince: number | null = null;
  #halfClosed = false;
  /** When the head that is not complete began. For the first, when the connection did: a client that says nothing is slow, too. */
  #headSince: number | null;
  readonly #stall: StallTimer;

  constructor(socket: Socket, peer: string, state: ListenerState) {
    this.socket = socket;
    this.peer = peer;
    this.#state = state;
    this.#stall = new StallTimer(socket);
    this.#headSince = state.clock.monotonicMs();
    socket.on('data', (bytes: Buffer) => this.#onBytes(bytes));
    socket.on('end', () => this.#onEnd());
    socket.on('drain', () => this.#current?.exchange.terminal?.drained());
    // 'close' follows, and says all there is to say.
    socket.on('error', () => {});
    socket.on('close', () => this.#over(false));
  }

  get draining(): boolean {
    return this.#state.draining;
  }

  get keepAliveHint(): string {
    return this.#state.keepAliveHint;
  }

  get date(): string {
    return this.#state.date.at(this.#state.clock.epochMs());
  }

  /** Answers with an error what is no request, or one that is not finished in time, and closes. */
  refuse(error: GatewayError): void {
    if (this.#closing) return;
    this.#closing = true;
    this.#waiting = NO_BYTES;
    if (this.#current !== null) this.#state.gateway.clientFault(this.#current.exchange, error);
    else if (this.#body !== null) this.#linger();
    else this.#sayLast(error);
  }

  /** From here on no answer keeps the connection. Its idle time counts anew. */
  drain(): void {
    if (this.#current === null && this.#lingersSince === null) this.#stall.begin();
  }

  answered(): void {
    // Later: whoever gave the answer has yet to say how it ended. A write with a callback costs more, and mostly all is
    // written by now.
    if (this.socket.writableLength > 0)
      this.socket.write(NO_BYTES, error => (error ? undefined : this.#over(true)));
    else if (++this.#answers % ANSWERS_AT_A_TIME === 0) setImmediate(overLater, this);
    else process.nextTick(overLater, this);
  }

  /** The answer has gone to the last byte. */
  answerGone(): void {
    this.#over(true);
  }

  bodyStarted(): void {
    const downstream = this.#current?.downstream;
    // RFC 9110, 10.1.1: who has begun to send the body is not waiting to be asked for it.
    if (downstream?.expectsContinue && !downstream.answerBegun && this.#waiting.length === 0)
      this.socket.write('HTTP/1.1 100 Continue\r\n\r\n', 'latin1');
    this.#look();
  }

  bodyFlowChanged(): void {
    this.#look();
  }

  bodyTooLarge(): void {
    this.refuse(bodyTooLarge());
  }

  /** Looks whether something has taken too long. Called every second or so. */
  sweep(nowMs: number): void {
    const body = this.#closing ? null : this.#body;
    const waitedMs = this.#stall.waitedMs(nowMs, this.#lingersSince !== null || body?.flows === true);
    const isTooSlow = body?.isTooSlow(nowMs) === true;
    if (this.#current === null) this.#sweepIdle(nowMs, waitedMs, isTooSlow);
    else this.#sweepBusy(waitedMs, isTooSlow, this.#current);
  }

  #sweepIdle(nowMs: number, waitedMs: number, isTooSlow: boolean): void {
    const { timeouts, draining } = this.#state;
    if (this.#lingersSince !== null) {
      if (waitedMs >= LINGER_MS || nowMs - this.#lingersSince >= LINGER_MAX_MS) this.socket.destroy();
    } else if (this.#body !== null) {
      if (isTooSlow || waitedMs > timeouts.clientBodyIdleMs) this.socket.destroy();
    } else if (this.#headSince !== null && nowMs - this.#headSince > timeouts.clientHeaderMs) {
      this.refuse(clientTooSlow());
    } else if (this.#waiting.length === 0) {
      // A connection is kept for a second more than was announced, so that a request sent in the last moment is served.
      if (waitedMs > (draining ? DRAIN_IDLE_MS : timeouts.keepAliveMs + 1_000)) this.socket.destroy();
    }
  }

  #sweepBusy(
    waitedMs: number,
    isTooSlow: boolean,
    current: { exchange: Exchange; downstream: Http1Downstream },
  ): void {
    const { timeouts, gateway } = this.#state;
    const { exchange, downstream } = current;
    gateway.review(exchange);
    if (isTooSlow) {
      this.refuse(bodyTooSlow());
    } else if (this.#halfClosed) {
      if (waitedMs >= HALF_CLOSED_MS) this.socket.destroy();
    } else if (downstream.awaitsReader) {
      if (waitedMs > timeouts.clientReadMs) this.socket.destroy();
    } else if (downstream.awaitsClient) {
      if (waitedMs > timeouts.clientBodyIdleMs) this.refuse(clientTooSlow());
    } else {
      this.#stall.begin();
    }
  }

  #onBytes(bytes: Buffer): void {
    if (this.#closing) return;
    this.#answers = 0;
    this.#waiting = this.#waiting.length === 0 ? bytes : this.#joined.join(this.#waiting, bytes);
    this.#look();
  }

  /** A client that sends its last request and closes its side may still want the answer: `sweep` gives it a moment. */
  #onEnd(): void {
    this.#halfClosed = true;
    this.#stall.begin();
    this.#look();
  }

  /** Looks at the bytes that wait, as far as anybody wants them. */
  #look(): void {
    // What is found can lead here again.
    if (this.#looking) return;
    this.#looking = true;
    try {
      while (!this.#closing && this.#waiting.length > 0 && this.#lookOnce());
    } catch (error) {
      if (!(error instanceof MalformedMessage)) throw error;
      this.refuse(error instanceof OtherVersion ? versionNotSupported() : notValid());
    } finally {
      this.#looking = false;
    }
    if (this.#waiting.length === 0) this.#joined.forget();
    this.#regulate();
    if (this.#halfClosed && !this.#closing) this.#lookAtEnd();
  }

  /** No byte will come any more. Those that wait may be the rest of a body that nobody takes yet, so that nothing is wrong. */
  #lookAtEnd(): void {
    const waits = this.#waiting.length > 0;
    if (this.#body !== null) {
      if (!waits) this.refuse(notValid());
    } else if (this.#current === null) {
      if (waits) this.refuse(notValid());
      else this.socket.end();
    }
  }

  /** False: nothing more is to be found for now. */
  #lookOnce(): boolean {
    if (this.#body !== null) return this.#lookAtBody(this.#body);
    return this.#current === null && this.#lookAtHead();
  }

  #lookAtBody(body: RequestBody): boolean {
    if (!body.flows) return false;
    const bytes = this.#waiting;
    this.#waiting = NO_BYTES;
    const at = body.read(bytes);
    if (!body.done) return false;
    this.#body = null;
    this.#keep(bytes.subarray(at));
    if (this.#current === null) this.#stall.begin();
    return true;
  }

  #lookAtHead(): boolean {
    const { headBytes, clock } = this.#state;
    const bytes = withoutEmptyLines(this.#waiting);
    this.#waiting = bytes;
    if (bytes.length === 0 || !this.#partialHead.worthReading(bytes, headBytes)) return false;
    const start = readIncomingHead(bytes, Math.min(bytes.length, headBytes), this.#before);
    if (start === null) {
      this.#partialHead.incomplete(bytes.length);
      if (bytes.length >= headBytes) this.refuse(headTooLarge());
      else this.#headSince ??= clock.monotonicMs();
      return false;
    }
    this.#partialHead.complete();
    this.#before = start.section === null ? null : start;
    this.#keep(bytes.subarray(start.bytes));
    this.#serve(start);
    return true;
  }

  #keep(rest: Buffer): void {
    if (!this.#closing) this.#waiting = rest.length === 0 ? NO_BYTES : rest;
  }

  /** Reads on, or stops to. Where no exchange is under way, what waits is a head, which may grow to its own cap. */
  #regulate(): void {
    const taken = this.#current === null || this.#body?.flows === true || this.#closing;
    const wanted = taken || this.#waiting.length < MAX_WAITING_BYTES;
    if (wanted === this.socket.isPaused()) {
      if (wanted) this.socket.resume();
      else this.socket.pause();
    }
  }

  #serve(start: IncomingHead): void {
    const { gateway } = this.#state;
    const downstream = new Http1Downstream(this, start);
    const exchange = gateway.accept(downstream);
    this.#headSince = null;
    this.#stall.begin();
    this.#current = { exchange, downstream };
    this.#body = downstream.requestBody;
    gateway.run(exchange);
  }

  #over(delivered: boolean): void {
    const current = this.#current;
    if (current === null) return;
    this.#current = null;
    this.#state.gateway.over(current.exchange, delivered);
    if (this.socket.destroyed) return;
    if (!current.downstream.keepsConnection) this.#end(current.downstream.lingers);
    else {
      this.#stall.begin();
      // Its fields will not come again as the same array.
      if (this.#before === null) this.memory.head = null;
      this.#body?.discard();
      this.#look();
    }
  }

  #end(lingers: boolean): void {
    this.#closing = true;
    // A close with bytes that nobody has read resets the connection.
    if (lingers || this.#waiting.length > 0) this.#linger();
    else this.socket.destroySoon();
    this.#waiting = NO_BYTES;
  }

  #linger(): void {
    this.#closing = true;
    this.#stall.begin();
    this.#lingersSince = this.#state.clock.monotonicMs();
    this.#regulate();
    this.socket.end();
  }

  /** Answers bytes that never became a request, and closes. */
  #sayLast(error: GatewayError): void {
    const { status, reason, fields, body } = this.#state.gateway.refuse(this.peer, error);
    const terms = { date: this.date, keepAliveHint: null, chunked: false };
    if (this.socket.writable) this.socket.write(answerHead(status, reason, fields, terms) + body, 'latin1');
    this.#linger();
  }
}

function overLater(connection: Connection): void {
  connection.answerGone();
}

function notValid(): GatewayError {
  return badRequest('it is not valid HTTP/1.1');
}

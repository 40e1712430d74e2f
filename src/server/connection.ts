import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { GatewayError } from '../core/index.ts';
import { bodyTooLarge, clientTooSlow, type Exchange } from '../gateway/index.ts';
import type { ListenerState } from './listener-state.ts';
import { type ConnectionSide, NodeDownstream } from './node-downstream.ts';
import { rawAnswer } from './raw-answer.ts';

/**
 * While as many pipelined requests wait for their turn, nothing more is read. With fewer it is, for only so does the
 * gateway see that a client has gone.
 */
const ENOUGH_WAITING = 16;
/**
 * One read can bring many more than that. Those past this number are dropped, and the connection is closed after the last
 * that waited: the client may send the rest again on another (RFC 9112, 9.3.2).
 */
const MAX_WAITING = 128;
/** Node keeps what is dropped until the connection closes, so that so many cost it the connection at once. */
const MAX_DROPPED = 256;
/** After an answer that closes the connection, what the client still sends is thrown away until it pauses for this long. */
const LINGER_MS = 2_000;
/** And for no longer than this in all. */
const LINGER_MOST_MS = 5_000;
/** After a client has closed its side, an exchange may stand still for this long: it may have half-closed only. */
const HALF_CLOSED_MS = 1_000;

/** While draining, an idle connection is kept for this long: its client may just have sent a request. */
const DRAIN_IDLE_MS = 1_000;

interface Turn {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/**
 * A client's connection: serves one exchange at a time, in the order of the requests, and knows how long it has been
 * waiting for what.
 */
export class Connection implements ConnectionSide {
  readonly socket: Socket;
  readonly peer: string;
  readonly #state: ListenerState;
  #current: { readonly exchange: Exchange; readonly downstream: NodeDownstream } | null = null;
  #waiting: Turn[] = [];
  #dropped = 0;
  /** What answers the bytes after the current request, which are no request. */
  #lastWords: GatewayError | null = null;
  /** Nothing that comes is served any more. */
  #closing = false;
  /** When the lingering began. */
  #lingersSince: number | null = null;
  #halfClosed = false;
  /** When the present wait began, and the byte counts at that moment: a change means that it is over. */
  #since: number;
  #bytesRead = 0;
  #bytesWritten = 0;
  /** Bytes that had been read when the connection last came to rest: more mean that a request has begun. */
  #bytesReadAtRest = 0;

  constructor(socket: Socket, peer: string, state: ListenerState) {
    this.socket = socket;
    this.peer = peer;
    this.#state = state;
    this.#since = state.clock.monotonicMs();
    // A client that sends its last request and closes its side may still want the answer: `sweep` gives it a moment.
    socket.on('end', () => {
      this.#halfClosed = true;
      this.#rest();
    });
    // Node resumes whenever its parser has come to the end of a message, or a body is thrown away.
    socket.on('resume', () => {
      if (this.#enoughWaiting && this.#lingersSince === null) socket.pause();
    });
  }

  get draining(): boolean {
    return this.#state.draining;
  }

  get keepAliveHint(): string {
    return this.#state.keepAliveHint;
  }

  /** A request whose head has been read. */
  request(request: IncomingMessage, response: ServerResponse): void {
    // Nothing is served behind what is none.
    const free = this.#current === null && this.#waiting.length === 0 && this.#lastWords === null;
    if (free && !this.#closing) this.#serve({ request, response });
    else this.#queue({ request, response });
  }

  /** Bytes that are no request, or a request that is not finished in time. */
  refuse(error: GatewayError): void {
    if (this.#closing) return;
    const current = this.#current;
    if (current === null) {
      this.#sayLast(error);
    } else if (current.downstream.requestComplete) {
      // The fault lies in what follows the current request, which is served to its end.
      this.#lastWords ??= error;
    } else {
      this.#closing = true;
      this.#state.gateway.clientFault(current.exchange, error);
    }
  }

  /** From here on no answer keeps the connection. Its idle time counts anew. */
  drain(): void {
    if (this.#current === null && this.#lingersSince === null) this.#since = this.#state.clock.monotonicMs();
  }

  drained(): void {
    this.#current?.exchange.terminal?.drained();
  }

  bodyTooLarge(downstream: NodeDownstream): void {
    if (this.#current?.downstream !== downstream) return;
    this.#closing = true;
    this.#state.gateway.clientFault(this.#current.exchange, bodyTooLarge());
  }

  lingerAfter(): void {
    this.#closing = true;
    // What Node calls after a last answer.
    this.socket.destroySoon = () => this.#linger();
  }

  /** Looks whether something has taken too long. Called every second or so. */
  sweep(nowMs: number): void {
    this.#noteProgress(nowMs);
    const waitedMs = nowMs - this.#since;
    const { timeouts, gateway } = this.#state;
    if (this.#current !== null) gateway.review(this.#current.exchange);
    if (this.#lingersSince !== null) {
      if (waitedMs >= LINGER_MS || nowMs - this.#lingersSince >= LINGER_MOST_MS) this.socket.destroy();
    } else if (this.#current === null) {
      if (waitedMs > this.#idleLimitMs()) this.socket.destroy();
    } else if (this.#halfClosed) {
      if (waitedMs >= HALF_CLOSED_MS) this.socket.destroy();
    } else if (this.#current.downstream.awaitsReader) {
      if (waitedMs > timeouts.clientReadMs) this.socket.destroy();
    } else if (this.#current.downstream.awaitsClient) {
      if (waitedMs > timeouts.clientBodyIdleMs) this.#bodyTooSlow(this.#current.exchange);
    } else {
      this.#since = nowMs;
    }
  }

  #idleLimitMs(): number {
    const { timeouts, draining } = this.#state;
    // Bytes of a next request have come: Node's own timer watches over its head. What does not become one is refused
    // by the parser, and a body that was to be discarded is waited for as long as any other.
    if (this.socket.bytesRead !== this.#bytesReadAtRest)
      return Math.max(timeouts.clientHeaderMs, timeouts.clientBodyIdleMs) + 1_000;
    // A connection is kept for a second more than was announced, so that a request sent in the last moment is served.
    return draining ? DRAIN_IDLE_MS : timeouts.keepAliveMs + 1_000;
  }

  #noteProgress(nowMs: number): void {
    const { bytesRead, bytesWritten } = this.socket;
    const taken = bytesWritten - this.socket.writableLength;
    if (bytesRead === this.#bytesRead && taken === this.#bytesWritten) return;
    this.#bytesRead = bytesRead;
    this.#bytesWritten = taken;
    this.#since = nowMs;
  }

  /** A wait begins here. */
  #rest(): void {
    this.#since = this.#state.clock.monotonicMs();
    this.#bytesReadAtRest = this.socket.bytesRead;
  }

  #linger(): void {
    // The parser would make an object of every request that it found, and Node would keep them all.
    this.socket.removeAllListeners('data');
    this.socket.on('data', () => {});
    this.socket.resume();
    this.#rest();
    this.#lingersSince = this.#since;
    this.socket.end();
  }

  #bodyTooSlow(exchange: Exchange): void {
    this.#closing = true;
    this.#state.gateway.clientFault(exchange, clientTooSlow());
  }

  /** The rest stays in the kernel's buffers, and behind dropped requests for good. */
  get #enoughWaiting(): boolean {
    return this.#waiting.length >= ENOUGH_WAITING || this.#dropped > 0;
  }

  #queue(turn: Turn): void {
    const served = !this.#closing && this.#lastWords === null && this.#dropped === 0;
    if (served && this.#waiting.length < MAX_WAITING) {
      this.#waiting.push(turn);
    } else if (++this.#dropped > MAX_DROPPED) {
      this.socket.destroy();
    }
    if (this.#enoughWaiting) this.socket.pause();
  }

  #serve({ request, response }: Turn): void {
    const { gateway } = this.#state;
    const downstream = new NodeDownstream(this, request, response);
    const exchange = gateway.accept(downstream);
    this.#current = { exchange, downstream };
    response.on('close', () => this.#over(response));
    this.#since = this.#state.clock.monotonicMs();
    gateway.run(exchange);
  }

  #over(response: ServerResponse): void {
    const current = this.#current;
    if (current === null) return;
    this.#current = null;
    this.#rest();
    this.#state.gateway.over(current.exchange, response.writableFinished);
    current.downstream.discardBody();
    if (!current.downstream.keepsConnection) this.#closing = true;
    if (!this.socket.destroyed && !this.#closing) this.#next();
  }

  #next(): void {
    const turn = this.#waiting.shift();
    if (turn !== undefined) {
      // Those that were dropped cannot be answered, so the last of those that waited ends the connection.
      if (this.#waiting.length === 0 && this.#dropped > 0 && this.#lastWords === null) {
        turn.response.shouldKeepAlive = false;
        this.lingerAfter();
      }
      this.#serve(turn);
      if (!this.#enoughWaiting) this.socket.resume();
    } else if (this.#lastWords !== null) {
      this.#sayLast(this.#lastWords);
    } else if (this.#halfClosed) {
      this.socket.end();
    }
  }

  /** Answers bytes that never became a request, and closes. */
  #sayLast(error: GatewayError): void {
    this.#closing = true;
    if (this.socket.writable)
      this.socket.write(rawAnswer(this.#state.gateway.refuse(this.peer, error), this.#state.clock), 'latin1');
    this.lingerAfter();
    this.socket.destroySoon();
  }
}

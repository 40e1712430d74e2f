import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { GatewayError } from '../core/index.ts';
import { bodyTooLarge, clientTooSlow, type Exchange } from '../gateway/index.ts';
import type { ListenerState } from './listener-state.ts';
import { type ConnectionSide, NodeDownstream } from './node-downstream.ts';
import { rawAnswer } from './raw-answer.ts';

/**
 * Pipelined requests that may wait for their turn. Further ones are dropped, and the connection is closed after the
 * last that waited; at twice as many it is closed at once, since the parser makes objects of whatever one read brings.
 */
const MAX_WAITING = 64;
/** After an answer that closes the connection, what the client still sends is read for this long and thrown away. */
const LINGER_MS = 2_000;
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
  #lingering = false;
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
  }

  get draining(): boolean {
    return this.#state.draining;
  }

  get keepAliveHint(): string {
    return this.#state.keepAliveHint;
  }

  /** A request whose head has been read. */
  request(request: IncomingMessage, response: ServerResponse): void {
    if (this.#closing) return;
    if (this.#current === null && this.#waiting.length === 0) this.#serve({ request, response });
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
    this.socket.destroySoon = () => {
      this.#lingering = true;
      this.#rest();
      this.socket.end();
    };
  }

  /** Looks whether something has taken too long. Called every second or so. */
  sweep(nowMs: number): void {
    this.#noteProgress(nowMs);
    const waitedMs = nowMs - this.#since;
    const { timeouts, gateway } = this.#state;
    if (this.#current !== null) gateway.review(this.#current.exchange);
    if (this.#lingering) {
      if (waitedMs >= LINGER_MS) this.socket.destroy();
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

  #bodyTooSlow(exchange: Exchange): void {
    this.#closing = true;
    this.#state.gateway.clientFault(exchange, clientTooSlow());
  }

  #queue(turn: Turn): void {
    if (this.#waiting.length < MAX_WAITING && this.#dropped === 0) {
      this.#waiting.push(turn);
      // One request beyond the present one is enough to go on with; the rest stays in the kernel's buffers.
      this.socket.pause();
    } else if (++this.#dropped > MAX_WAITING) {
      this.socket.destroy();
    }
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
      if (this.#waiting.length === 0 && this.#dropped > 0) turn.response.shouldKeepAlive = false;
      this.#serve(turn);
      if (this.#waiting.length === 0 && this.#dropped === 0) this.socket.resume();
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

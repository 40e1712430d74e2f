import type { Socket } from 'node:net';
import { SocketStream } from '../core/index.ts';
import type { Successor } from '../gateway/index.ts';
import type { Accepted } from './accepted.ts';
import type { ClientConnection } from './client-connection.ts';
import type { ListenerState } from './listener-state.ts';

/** The last stage of a connection whose protocol was switched. */
export class SwitchedConnection implements ClientConnection {
  readonly socket: Socket;
  readonly #bytes: Socket;
  readonly #successor: Successor;
  readonly #state: ListenerState;
  /** Bytes that the system had taken at the last sweep. */
  #taken = 0;
  /** The first sweep that found the client taking none of the bytes written to it. */
  #stuckSinceMs: number | null = null;

  /** @param early what was already read of the other protocol */
  static begin(
    accepted: Accepted,
    bytes: Socket,
    early: Buffer,
    successor: Successor,
    state: ListenerState,
  ): void {
    // Started before it becomes the stage: while the gateway drains, that ends it at once.
    successor.start(new SocketStream(bytes, early, state.clock));
    accepted.become(new SwitchedConnection(accepted.socket, bytes, successor, state));
  }

  /** @param bytes carries its bytes: the accepted socket, or TLS over it */
  constructor(socket: Socket, bytes: Socket, successor: Successor, state: ListenerState) {
    this.socket = socket;
    this.#bytes = bytes;
    this.#successor = successor;
    this.#state = state;
  }

  refuse(): void {
    this.socket.destroy();
  }

  sweep(nowMs: number): void {
    if (this.#isStuck(nowMs)) this.socket.destroy();
    this.#successor.sweep(nowMs);
  }

  drain(): void {
    this.#successor.drain();
  }

  #isStuck(nowMs: number): boolean {
    const { bytesWritten, writableLength } = this.#bytes;
    const taken = bytesWritten - writableLength;
    if (writableLength === 0 || taken !== this.#taken) this.#stuckSinceMs = null;
    else this.#stuckSinceMs ??= nowMs;
    this.#taken = taken;
    return this.#stuckSinceMs !== null && nowMs - this.#stuckSinceMs > this.#state.timeouts.clientReadMs;
  }
}

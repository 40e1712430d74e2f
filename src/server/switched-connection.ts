import type { Socket } from 'node:net';
import { SocketStream } from '../core/index.ts';
import type { Successor } from '../gateway/index.ts';
import type { Accepted, ClientConnection, ListenerState } from './client-connection.ts';

/** The last stage of a connection that switched to another protocol. */
export class SwitchedConnection implements ClientConnection {
  readonly socket: Socket;
  readonly #bytes: Socket;
  readonly #successor: Successor;
  readonly #state: ListenerState;
  /** How many bytes the system had taken at the last sweep. */
  #taken = 0;
  /** When a sweep first found that the client takes none of what is written to it; `null` if it does. */
  #stuckSinceMs: number | null = null;

  /** @param early what was already read of the other protocol */
  static begin(
    accepted: Accepted,
    bytes: Socket,
    early: Buffer,
    successor: Successor,
    state: ListenerState,
  ): void {
    // Start it before it becomes the stage, which ends it at once while the gateway drains.
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

import type { Socket } from 'node:net';
import type { GatewayError } from '../../core/index.ts';
import { clientTooSlow } from '../../gateway/index.ts';
import type { ClientConnection } from '../client-connection.ts';
import type { ListenerState } from '../listener-state.ts';
import { protocolOf } from './http2-connection.ts';

/** Opens the stage that serves the connection from here on, and returns it. The bytes read so far are back on the socket. */
export type ProtocolOpener = (protocol: 'http1' | 'h2') => ClientConnection;

/** The stage of a cleartext connection that may speak either version: its first bytes decide (RFC 9113, 3.3). */
export class FirstBytes implements ClientConnection {
  readonly socket: Socket;
  readonly #state: ListenerState;
  readonly #open: ProtocolOpener;
  readonly #sinceMs: number;
  /** The beginning of a preface. */
  #bytes: Buffer = Buffer.alloc(0);
  readonly #onData = (bytes: Buffer) => this.#take(bytes);
  /** Closes: the client has closed its side, and its bytes are neither protocol. */
  readonly #onEnd = () => this.socket.destroySoon();
  readonly #onError = () => {};

  constructor(socket: Socket, state: ListenerState, open: ProtocolOpener) {
    this.socket = socket;
    this.#state = state;
    this.#open = open;
    this.#sinceMs = state.clock.monotonicMs();
    socket.on('data', this.#onData);
    socket.on('end', this.#onEnd);
    socket.on('error', this.#onError);
  }

  /** Answers in HTTP/1.1, which more clients understand: this one has not shown its protocol. */
  refuse(error: GatewayError): void {
    this.#become('http1').refuse(error);
  }

  sweep(nowMs: number): void {
    if (nowMs - this.#sinceMs > this.#state.timeouts.clientHeaderMs) this.refuse(clientTooSlow());
  }

  /** Treats the silent connection as one of HTTP/1.1: draining closes it soon, because it is idle. */
  drain(): void {
    this.#become('http1');
  }

  #take(bytes: Buffer): void {
    this.#bytes = this.#bytes.length === 0 ? bytes : Buffer.concat([this.#bytes, bytes]);
    const protocol = protocolOf(this.#bytes);
    if (protocol !== null) this.#become(protocol);
  }

  #become(protocol: 'http1' | 'h2'): ClientConnection {
    const { socket } = this;
    socket.off('data', this.#onData);
    socket.off('end', this.#onEnd);
    // Pause, or the bytes would be lost before the next stage listens.
    socket.pause();
    if (this.#bytes.length > 0) socket.unshift(this.#bytes);
    const next = this.#open(protocol);
    socket.off('error', this.#onError);
    if (protocol === 'http1') socket.resume();
    return next;
  }
}

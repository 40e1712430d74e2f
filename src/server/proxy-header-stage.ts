import type { Socket } from 'node:net';
import { GrowingBytes, type ProxyHeaderFault } from '../core/index.ts';
import { type ProxyHeader, readProxyHeader } from '../proxy-protocol/index.ts';
import type { Accepted } from './accepted.ts';
import type { Client, ClientConnection } from './client-connection.ts';
import type { ListenerState } from './listener-state.ts';

/** How long a connection without a byte is kept while draining. */
const DRAIN_IDLE_MS = 1_000;

const NO_BYTES = Buffer.alloc(0);

/** Reads the header of the PROXY protocol, and closes the connection unless a trusted proxy sent a valid one in time. */
export class ProxyHeaderStage implements ClientConnection {
  readonly socket: Socket;
  readonly #peer: Client;
  readonly #state: ListenerState;
  readonly #pass: (client: Client) => void;
  readonly #joined = new GrowingBytes();
  /** What has come so far. */
  #bytes: Buffer = NO_BYTES;
  #deadlineMs: number;

  /** @param pass lets the next stage serve the socket of this client */
  constructor({ socket }: Accepted, peer: Client, state: ListenerState, pass: (client: Client) => void) {
    this.socket = socket;
    this.#peer = peer;
    this.#state = state;
    this.#pass = pass;
    this.#deadlineMs = state.clock.monotonicMs() + state.timeouts.clientHeaderMs;
    // Not `data`: once nothing listens to `readable`, the socket is as it was, and the next stage may begin in its own way.
    socket.on('readable', this.#onReadable);
    socket.on('end', this.#onEnd);
    socket.on('error', onError);
    if (!state.trustedProxies.has(peer.peer)) this.#close('untrusted_peer');
  }

  /** Nothing can be answered: it is not known yet what is spoken here. */
  refuse(): void {
    this.socket.destroy();
  }

  sweep(nowMs: number): void {
    if (nowMs > this.#deadlineMs) this.#close('late');
  }

  drain(): void {
    this.#deadlineMs = Math.min(this.#deadlineMs, this.#state.clock.monotonicMs() + DRAIN_IDLE_MS);
  }

  readonly #onReadable = (): void => {
    const piece = this.socket.read() as Buffer | null;
    if (piece === null || this.socket.destroyed) return;
    this.#bytes = this.#bytes.length === 0 ? piece : this.#joined.join(this.#bytes, piece);
    const header = readProxyHeader(this.#bytes);
    if (header === 'incomplete') return;
    if (typeof header === 'string') this.#close(header);
    else this.#handOn(header);
  };

  /** Health checks open connections and close them without a byte, which is no fault. */
  readonly #onEnd = (): void => {
    if (this.#bytes.length > 0) this.#close('broken');
    else this.socket.destroy();
  };

  #handOn(header: ProxyHeader): void {
    this.socket.off('readable', this.#onReadable).off('end', this.#onEnd).off('error', onError);
    const rest = this.#bytes.subarray(header.bytes);
    if (rest.length > 0) this.socket.unshift(rest);
    this.#pass(clientOf(header, this.#peer));
  }

  #close(fault: ProxyHeaderFault): void {
    if (this.socket.destroyed) return;
    this.#state.connectionListener.proxyHeaderRefused(fault, this.#peer.peer);
    this.socket.destroy();
  }
}

function clientOf(header: ProxyHeader, peer: Client): Client {
  switch (header.from) {
    case 'client':
      return { ...peer, peer: header.address };
    case 'proxy':
      return peer;
    case 'unknown':
      return { ...peer, mayForward: false };
  }
}

/** 'close' follows and is handled. */
function onError(): void {}

import type { Socket } from 'node:net';
import type { ListenerModel } from '../../config/index.ts';
import { type GatewayError, GrowingBytes, NO_BYTES, type ProxyHeaderFault } from '../../core/index.ts';
import { errors } from '../../gateway/index.ts';
import { PREFACE } from '../../wire/http2/index.ts';
import { type ProxyHeader, readProxyHeader } from '../proxy-protocol/index.ts';
import type { Accepted, ClientConnection, ConnectedClient, ListenerState } from './client-connection.ts';
import { Http1Connection } from './http1-connection.ts';
import { Http2Connection } from './http2/index.ts';
import type { TlsTermination } from './tls-termination.ts';

export interface StageTerms {
  readonly listener: ListenerModel;
  readonly state: ListenerState;
  /** The listener's TLS; `null` for cleartext. */
  readonly tls: TlsTermination | null;
  /** Counts the connection under this address from here on, and refuses it if the address has too many. */
  recount(accepted: Accepted, address: string): void;
}

// The stages of a connection, in order. Each function opens its stage if the listener needs it, or else whatever the next
// function opens. A stage gets a function that opens the next one, and calls `accepted.become` with that.

/** Opens the stage that reads the first byte. `client`: the peer as known before the PROXY header and TLS are read. */
export function openFirstStage(
  accepted: Accepted,
  client: ConnectedClient,
  terms: StageTerms,
): ClientConnection {
  if (!terms.listener.proxyProtocol) return openSecurity(accepted, client, terms);
  return new ProxyHeaderStage(accepted, client, terms.state, told => {
    accepted.become(openSecurity(accepted, told, terms));
    terms.recount(accepted, told.peer);
  });
}

/** Opens the stage after the PROXY header: the TLS handshake, or the protocol. */
function openSecurity(accepted: Accepted, client: ConnectedClient, terms: StageTerms): ClientConnection {
  const { tls, state } = terms;
  if (tls === null) return openCleartext(accepted, client, terms);
  const time = { nowMs: state.clock.monotonicMs(), maxMs: state.timeouts.tlsHandshakeMs };
  return tls.open(accepted, client, time, (socket, secured, protocol) =>
    openProtocol(protocol === 'h2' ? 'h2' : 'http1', socket, secured, accepted, terms),
  );
}

/** Opens the stage for cleartext: where a listener speaks both versions, the first bytes decide. */
function openCleartext(accepted: Accepted, client: ConnectedClient, terms: StageTerms): ClientConnection {
  const { socket } = accepted;
  const { h2c, serves } = terms.listener;
  if (!h2c || serves === 'grpc') return openProtocol('http1', socket, client, accepted, terms);
  return new FirstBytes(socket, terms.state, protocol => {
    const next = openProtocol(protocol, socket, client, accepted, terms);
    accepted.become(next);
    return next;
  });
}

/**
 * Opens the last stage, which speaks the protocol. `socket` carries its bytes: the raw socket, or TLS over it.
 *
 * @param protocol the protocol that the client is known to speak; a listener for gRPC only assumes HTTP/2 in any case
 */
function openProtocol(
  protocol: 'http1' | 'h2',
  socket: Socket,
  client: ConnectedClient,
  accepted: Accepted,
  { listener: { serves }, state }: StageTerms,
): ClientConnection {
  if (protocol === 'h2' || serves === 'grpc')
    return new Http2Connection(accepted, socket, client, state, serves);
  return new Http1Connection(accepted, socket, client, state);
}

/** How long a connection that sent nothing is kept while draining. */
const DRAIN_IDLE_MS = 1_000;

/** Reads the header of the PROXY protocol, and closes the connection unless a trusted proxy sent a valid one in time. */
class ProxyHeaderStage implements ClientConnection {
  readonly socket: Socket;
  readonly #peer: ConnectedClient;
  readonly #state: ListenerState;
  readonly #pass: (client: ConnectedClient) => void;
  readonly #joined = new GrowingBytes();
  #bytes: Buffer = NO_BYTES;
  #deadlineMs: number;
  #draining = false;

  /** @param pass hands the socket of this client over to the next stage */
  constructor(
    { socket }: Accepted,
    peer: ConnectedClient,
    state: ListenerState,
    pass: (client: ConnectedClient) => void,
  ) {
    this.socket = socket;
    this.#peer = peer;
    this.#state = state;
    this.#pass = pass;
    this.#deadlineMs = state.clock.monotonicMs() + state.timeouts.clientHeaderMs;
    // Do not listen to `data`: once nothing listens to `readable`, the socket is in its original state, and the next stage may
    // read in its own way.
    socket.on('readable', this.#onReadable);
    socket.on('end', this.#onEnd);
    socket.on('error', onError);
    if (!state.trustedProxies.has(peer.peer)) this.#close('untrusted_peer');
  }

  /** Closes without an answer: the protocol is not known yet. */
  refuse(): void {
    this.socket.destroy();
  }

  sweep(nowMs: number): void {
    if (nowMs <= this.#deadlineMs) return;
    // The gateway shuts down, so a client that sent nothing is not at fault.
    if (this.#draining && this.#bytes.length === 0) this.socket.destroy();
    else this.#close('late');
  }

  drain(): void {
    this.#draining = true;
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

  /** Ends the connection. Without a byte this is not an error: health checks do it. */
  readonly #onEnd = (): void => {
    if (this.#bytes.length > 0) this.#close('broken');
    else this.socket.destroy();
  };

  #handOn(header: ProxyHeader): void {
    this.socket.off('readable', this.#onReadable).off('end', this.#onEnd).off('error', onError);
    const early = this.#bytes.subarray(header.bytes);
    if (early.length > 0) this.socket.unshift(early);
    this.#pass(clientOf(header, this.#peer));
  }

  #close(fault: ProxyHeaderFault): void {
    if (this.socket.destroyed) return;
    this.#state.connectionListener.proxyHeaderRefused(fault, this.#peer.peer);
    this.socket.destroy();
  }
}

function clientOf(header: ProxyHeader, peer: ConnectedClient): ConnectedClient {
  switch (header.from) {
    case 'client':
      return { ...peer, peer: header.address };
    case 'proxy':
      return peer;
    case 'unknown':
      return { ...peer, mayForward: false };
  }
}

/** Ignores an error: 'close' follows and is handled. */
function onError(): void {}

/** Opens the stage that serves the connection from now on, and returns it. The bytes read so far are back on the socket. */
type ProtocolOpener = (protocol: 'http1' | 'h2') => ClientConnection;

/** The stage of a cleartext connection that may speak either version: its first bytes decide (RFC 9113, 3.3). */
class FirstBytes implements ClientConnection {
  readonly socket: Socket;
  readonly #state: ListenerState;
  readonly #open: ProtocolOpener;
  readonly #sinceMs: number;
  #bytes: Buffer = Buffer.alloc(0);
  readonly #onData = (bytes: Buffer) => this.#take(bytes);
  /** Closes: the client has closed its side, and its bytes match neither protocol. */
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
    if (nowMs - this.#sinceMs > this.#state.timeouts.clientHeaderMs) this.refuse(errors.clientTooSlow());
  }

  /** Treats the silent connection as HTTP/1.1: draining closes it soon, because it is idle. */
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
    // Pause, or bytes would be lost before the next stage listens.
    socket.pause();
    if (this.#bytes.length > 0) socket.unshift(this.#bytes);
    const next = this.#open(protocol);
    socket.off('error', this.#onError);
    socket.resume();
    return next;
  }
}

/** Detects the protocol of a connection by its first bytes; returns `null` if more are needed. */
export function protocolOf(bytes: Buffer): 'http1' | 'h2' | null {
  const length = Math.min(bytes.length, PREFACE.length);
  if (bytes.compare(PREFACE, 0, length, 0, length) !== 0) return 'http1';
  return length === PREFACE.length ? 'h2' : null;
}

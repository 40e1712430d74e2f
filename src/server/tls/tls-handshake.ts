import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { HandshakeOutcome } from '../../core/index.ts';
import type { ClientConnection } from '../client-connection.ts';
import type { Handshakes } from './handshakes.ts';

/** RFC 8446, 5.1: the content type of every handshake record. */
const HANDSHAKE_RECORD = 0x16;
/** How long a connection without a byte is kept while draining. */
const DRAIN_IDLE_MS = 1_000;

/** What a handshake needs of its listener. */
export interface HandshakeOwner {
  readonly handshakes: Handshakes;
  /** Maximum time from `sinceMs`. */
  readonly maxMs: number;
  /** Lays TLS over the socket. `succeed` or `fail` is called then, or the socket closes. */
  wrap(handshake: TlsHandshake): void;
  /** Hears once how the handshake ended. */
  ended(handshake: TlsHandshake, outcome: HandshakeOutcome): void;
  /** Lets the next stage serve. Follows `ended`. */
  secured(socket: TLSSocket): void;
}

/** What a handshake is doing. */
type Phase =
  /** Nothing has come yet, and nothing of TLS is held. */
  'waiting for bytes' | 'under way' | 'over';

/** The stage in which client and gateway agree on keys. */
export class TlsHandshake implements ClientConnection {
  readonly socket: Socket;
  readonly #owner: HandshakeOwner;
  readonly #sinceMs: number;
  #phase: Phase = 'waiting for bytes';
  #draining = false;
  /** The first sweep since the gateway drains. */
  #drainingSinceMs: number | null = null;
  readonly #onReadable = () => this.#readFirst();
  readonly #onEnd = () => this.fail('closed');
  // Node closes a socket for a reason that it tells in the same turn of the event loop.
  readonly #onClose = () => void setImmediate(() => this.fail('closed'));

  constructor(socket: Socket, nowMs: number, owner: HandshakeOwner) {
    this.socket = socket;
    this.#owner = owner;
    this.#sinceMs = nowMs;
    socket.on('readable', this.#onReadable);
    socket.on('end', this.#onEnd);
    socket.on('close', this.#onClose);
    // 'close' follows and is handled.
    socket.on('error', () => {});
  }

  /** TLS has no way to answer before its handshake, and to finish that would cost more than there is room for. */
  refuse(): void {
    this.fail('capacity');
  }

  sweep(nowMs: number): void {
    if (this.#draining) this.#drainingSinceMs ??= nowMs;
    const drainingMs = nowMs - (this.#drainingSinceMs ?? nowMs);
    const isLeft = this.#phase === 'waiting for bytes' && drainingMs >= DRAIN_IDLE_MS;
    if (isLeft || nowMs - this.#sinceMs > this.#owner.maxMs) this.fail('timeout');
  }

  /** Lets a handshake that has begun go on: the next stage drains. */
  drain(): void {
    this.#draining = true;
  }

  begin(): void {
    if (this.#phase !== 'over') this.#owner.wrap(this);
  }

  giveWay(): void {
    this.fail('capacity');
  }

  succeed(socket: TLSSocket): void {
    if (this.#phase === 'over') return;
    this.#over(socket.isSessionReused() ? 'resumed' : 'full');
    this.socket.off('end', this.#onEnd);
    this.socket.off('close', this.#onClose);
    this.#owner.secured(socket);
  }

  fail(reason: HandshakeOutcome): void {
    if (this.#phase === 'over') return;
    this.#over(reason);
    this.socket.destroy();
  }

  #over(outcome: HandshakeOutcome): void {
    this.#phase = 'over';
    this.#owner.handshakes.leave(this);
    this.#owner.ended(this, outcome);
  }

  /**
   * Waits for the first bytes before TLS is laid over the socket: a connection that sends nothing costs no more than one in
   * cleartext. The bytes go back, and TLS reads them.
   */
  #readFirst(): void {
    const bytes: Buffer | null = this.socket.read();
    if (bytes === null || this.#phase !== 'waiting for bytes') return;
    this.socket.off('readable', this.#onReadable);
    if (bytes[0] !== HANDSHAKE_RECORD) {
      this.fail('cleartext');
      return;
    }
    this.socket.unshift(bytes);
    this.#phase = 'under way';
    this.#owner.handshakes.enter(this);
  }
}

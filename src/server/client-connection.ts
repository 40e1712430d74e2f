import type { Socket } from 'node:net';
import type { Http2Model, TimeoutsModel } from '../config/index.ts';
import type { ConnectionListener, GatewayError, Random, RandomBytes, TimerClock } from '../core/index.ts';
import type { Gateway } from '../gateway/index.ts';
import type { AddressSet } from '../http/index.ts';
import type { DateField } from '../http1/index.ts';
import type { Buffered } from './buffered.ts';

/** The other end of a connection, and how it connected. */
export interface ConnectedClient {
  /** The address of the connection's other end, or of the client that a PROXY header names. IPv4-mapped IPv6 is written as IPv4. */
  readonly peer: string;
  /** False if the peer relays an unknown client: its forwarding headers are not believed then, even if it is trusted. */
  readonly mayForward: boolean;
  readonly scheme: 'http' | 'https';
  /** True if its listener only redirects clients to https. */
  readonly redirects: boolean;
  /** The client's verified certificate, as the value of `Client-Cert` (RFC 9440); `null` if absent. */
  readonly certificate: string | null;
}

/** A client's connection, whatever its protocol. */
export interface ClientConnection {
  /** The socket that was accepted. */
  readonly socket: Socket;
  /** Answers with an error where the protocol has a way to, and closes. */
  refuse(error: GatewayError): void;
  /** Checks whether something has taken too long. Called twice a second. */
  sweep(nowMs: number): void;
  /** Ends the connection once what is under way on it is done. */
  drain(): void;
  /** Asks the client, with its next response, to reconnect. A stage that serves no requests cannot. */
  retire?(): void;
}

/** How far ages are spread: connections that began together would otherwise all reconnect together. */
const SPREAD = 0.1;

/**
 * Returns the moment at which a connection is old: the given age after its start, a tenth earlier or later, as gRPC does it
 * (https://github.com/grpc/proposal/blob/master/A9-server-side-conn-mgt.md).
 *
 * @param maxAgeMs `null` if it never gets old
 * @param part from 0 up to 1, says how far to move it within the spread
 */
export function oldAtMs(nowMs: number, maxAgeMs: number | null, part: number): number {
  if (maxAgeMs === null) return Number.POSITIVE_INFINITY;
  return nowMs + maxAgeMs * (1 - SPREAD + 2 * SPREAD * part);
}

/**
 * A socket that a listener accepted, from its first byte to its close. What serves it changes: it passes the **stages** of
 * `stages.ts` (PROXY header, TLS handshake, protocol), of which a listener may need only the last. A listener keeps,
 * sweeps, refuses and drains one `Accepted` for each of its sockets and knows no stage.
 *
 * A stage is a `ClientConnection`. When it is done, it calls `accepted.become(next)` with the stage that it opened, and gets no
 * more. While it is not done:
 * - `sweep` is called twice a second, so that the stage bounds its own time and needs no timer;
 * - `refuse` says that there is no room for the connection: a stage that cannot answer destroys the socket;
 * - `retire` says that the connection is old: its next response is the last. It is repeated to each stage that follows;
 * - `drain` says that the gateway is going down. It is repeated as well.
 *
 * A stage handles the `error` event of its sockets, and takes its own handlers off the raw socket before it calls `become`. Bytes that it
 * has read and that belong to the next stage go back by `socket.unshift`.
 */
export class Accepted implements ClientConnection {
  readonly socket: Socket;
  /** The address under which the connection caps count it. */
  countedAs: string;
  #stage: ClientConnection | null = null;
  #draining = false;
  /** When it is to be retired, on the monotonic clock. */
  #retiresAtMs: number;
  #retired = false;

  /** Makes it without a stage: call `become` with the first one at once. */
  constructor(socket: Socket, peer: string, retiresAtMs = Number.POSITIVE_INFINITY) {
    this.socket = socket;
    this.countedAs = peer;
    this.#retiresAtMs = retiresAtMs;
  }

  /**
   * Ends the connection by a reset. A close would leave to the kernel what it keeps for a client that does not read: up to 4 MiB, which
   * it tries to send for minutes.
   */
  reset(): void {
    this.socket.resetAndDestroy();
  }

  /** Lets another stage serve the socket from here on. */
  become(stage: ClientConnection): void {
    this.#stage = stage;
    if (this.#retired) stage.retire?.();
    if (this.#draining) stage.drain();
  }

  refuse(error: GatewayError): void {
    this.#stage?.refuse(error);
  }

  sweep(nowMs: number): void {
    this.#stage?.sweep(nowMs);
    if (nowMs >= this.#retiresAtMs) this.retire();
  }

  /** Retires it at this moment, unless it is retired earlier. */
  retireBy(atMs: number): void {
    this.#retiresAtMs = Math.min(this.#retiresAtMs, atMs);
  }

  retire(): void {
    this.#retiresAtMs = Number.POSITIVE_INFINITY;
    this.#retired = true;
    this.#stage?.retire?.();
  }

  drain(): void {
    this.#draining = true;
    this.#stage?.drain();
  }
}

/** What the connections of a listener share. */
export interface ListenerState {
  readonly gateway: Gateway;
  readonly clock: TimerClock;
  /** Spreads what would otherwise happen to all connections at once. */
  readonly random: Random;
  readonly randomBytes: RandomBytes;
  readonly date: DateField;
  readonly connectionListener: ConnectionListener;
  /** What all connections hold for their clients. */
  readonly buffered: Buffered;
  /** The timeouts. A reload may change them, and all members below. */
  timeouts: TimeoutsModel;
  trustedProxies: AddressSet;
  /** Most bytes of a request's head, its request line included. */
  headBytes: number;
  /** Most fields of a request. */
  fields: number;
  http2: Http2Model;
  /** The value of `Keep-Alive` on responses that keep their connection. */
  keepAliveHint: string;
  /** True while draining: each response is the last of its connection. */
  draining: boolean;
}

import type { Socket } from 'node:net';
import type { Http2Model, TimeoutsModel } from '../../config/index.ts';
import {
  type ConnectionListener,
  type GatewayError,
  type MethodNames,
  type Random,
  type RandomBytes,
  resetSocket,
  type TimerClock,
} from '../../core/index.ts';
import type { Gateway } from '../../gateway/index.ts';
import type { AddressSet } from '../../wire/http/index.ts';
import type { DateField } from '../../wire/http1/index.ts';
import type { Buffered } from './buffered.ts';
import type { Tunnels } from './tunnels.ts';

export interface ConnectedClient {
  /** The peer's address, or that of the client named by a PROXY header. IPv4-mapped IPv6 is written as IPv4. */
  readonly peer: string;
  /** False if the peer relays for an unknown client: its forwarding headers are then ignored, even if it is trusted. */
  readonly mayForward: boolean;
  readonly scheme: 'http' | 'https';
  /** True if its listener only redirects clients to https. */
  readonly redirects: boolean;
  /** The client's verified certificate, as the value of `Client-Cert` (RFC 9440); `null` if absent. */
  readonly certificate: string | null;
}

export interface ClientConnection {
  readonly socket: Socket;
  /** Answers with an error if the protocol allows that, and closes. */
  refuse(error: GatewayError): void;
  /** Checks for timeouts. Called twice a second. */
  sweep(nowMs: number): void;
  /** Closes the connection once its handshake or the requests in progress on it are done. */
  drain(): void;
  /** Asks the client, with its next response, to reconnect. Absent in a stage that serves no requests. */
  retire?(): void;
}

/** How far ages are spread: connections opened at the same time would otherwise all reconnect at the same time. */
const SPREAD = 0.1;

/**
 * Returns the time at which a connection is old: the given age after its start, a tenth earlier or later, as gRPC does it
 * (https://github.com/grpc/proposal/blob/master/A9-server-side-conn-mgt.md).
 *
 * @param maxAgeMs `null` for never
 * @param part from 0 to 1: the position within the spread
 */
export function oldAtMs(nowMs: number, maxAgeMs: number | null, part: number): number {
  if (maxAgeMs === null) return Number.POSITIVE_INFINITY;
  return nowMs + maxAgeMs * (1 - SPREAD + 2 * SPREAD * part);
}

/**
 * A socket that a listener accepted, from its first byte to its close. Different **stages** of `stages.ts` serve it in turn
 * (PROXY header, TLS handshake, protocol); a listener may need only the last. A listener keeps, sweeps, refuses and drains one
 * `Accepted` per socket and knows nothing about stages.
 *
 * A stage is a `ClientConnection`. When done, it calls `accepted.become(next)` with the next stage, and is not called any more.
 * Until then:
 * - `sweep` is called twice a second, so that a stage can time out without a timer;
 * - `refuse` says that there is no room for the connection: a stage that cannot answer destroys the socket;
 * - `retire` means that the connection is old: its next response is the last. Repeated to each later stage;
 * - `drain` means that the gateway shuts down. Repeated likewise.
 *
 * A stage handles the `error` event of its sockets, and removes its own handlers from the raw socket before it calls `become`. It
 * returns bytes that belong to the next stage with `socket.unshift`.
 */
export class Accepted implements ClientConnection {
  readonly socket: Socket;
  /** The address under which the connection caps count it. */
  countedAs: string;
  #stage: ClientConnection | null = null;
  #draining = false;
  /** When to retire it, on the monotonic clock. */
  #retiresAtMs: number;
  #retired = false;

  /** Created without a stage: call `become` with the first one at once. */
  constructor(socket: Socket, peer: string, retiresAtMs = Number.POSITIVE_INFINITY) {
    this.socket = socket;
    this.countedAs = peer;
    this.#retiresAtMs = retiresAtMs;
  }

  /**
   * Ends the connection by a reset. After a close, the kernel would keep what a client does not read, up to 4 MiB, and try to
   * send it for minutes.
   */
  reset(): void {
    resetSocket(this.socket);
  }

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

export interface ListenerState {
  readonly gateway: Gateway;
  readonly clock: TimerClock;
  /** Spreads out actions that would otherwise happen to all connections at once. */
  readonly random: Random;
  readonly randomBytes: RandomBytes;
  readonly date: DateField;
  readonly connectionListener: ConnectionListener;
  /** Counts what all connections hold for their clients. */
  readonly buffered: Buffered;
  readonly tunnels: Tunnels;
  /** The timeouts. A reload may change them, and all members below. */
  timeouts: TimeoutsModel;
  trustedProxies: AddressSet;
  /** Maximum bytes of a request's head, including the request line. */
  headBytes: number;
  /** Maximum fields of a request. */
  fields: number;
  /** The methods that routes name besides those that Node knows. */
  namedMethods: MethodNames;
  http2: Http2Model;
  /** The value of `Keep-Alive` on responses that keep the connection open. */
  keepAliveHint: string;
  /** True while draining: each response is the last of its connection. */
  draining: boolean;
}

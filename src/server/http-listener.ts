import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { CapsModel, HostPort, TimeoutsModel } from '../config/index.ts';
import type { Clock } from '../core/index.ts';
import { type Gateway, overloaded } from '../gateway/index.ts';
import { type AddressSet, normalizeAddress } from '../http/index.ts';
import { Connection } from './connection.ts';
import { ConnectionCaps } from './connection-caps.ts';
import { DateField } from './date-field.ts';
import type { ListenerState } from './listener-state.ts';

const SWEEP_MS = 500;

export interface HttpListenerOptions extends HttpListenerLimits {
  readonly gateway: Gateway;
  readonly clock: Clock;
}

/** What a reload may change. */
export interface HttpListenerLimits {
  readonly timeouts: TimeoutsModel;
  readonly caps: CapsModel;
  readonly trustedProxies: AddressSet;
}

/** Listens for HTTP/1.1 and hands requests to the gateway. */
export class HttpListener {
  readonly #server: Server;
  readonly #state: ListenerState;
  readonly #connections = new Set<Connection>();
  readonly #caps: ConnectionCaps;
  readonly #maxConnections: number;
  #sweeper: NodeJS.Timeout | null = null;

  constructor({ gateway, clock, timeouts, caps, trustedProxies }: HttpListenerOptions) {
    this.#state = {
      gateway,
      clock,
      date: new DateField(),
      timeouts,
      headBytes: caps.headBytes,
      keepAliveHint: hintOf(timeouts),
      draining: false,
    };
    this.#caps = new ConnectionCaps(caps, trustedProxies);
    this.#maxConnections = caps.connections;
    // Half-open: otherwise Node closes our side as soon as the client closes its own, and the response is lost.
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, socket => this.#onConnection(socket));
  }

  /** Applies a reload: timeouts and the cap of heads at once, caps of connections to further ones. */
  use({ timeouts, caps, trustedProxies }: HttpListenerLimits): void {
    this.#state.timeouts = timeouts;
    this.#state.keepAliveHint = hintOf(timeouts);
    this.#caps.use(caps, trustedProxies);
    this.#state.headBytes = caps.headBytes;
  }

  get connections(): number {
    return this.#connections.size;
  }

  /** Resolves with the address that was bound; rejects with Node's error, for example EADDRINUSE. */
  async listen({ host, port }: HostPort): Promise<HostPort> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ host, port, backlog: 4096 }, () => resolve());
    });
    // From here on, an error means that one connection could not be accepted, and must not end the process.
    this.#server.on('error', () => {});
    this.#sweeper = setInterval(() => this.#sweep(), SWEEP_MS);
    const bound = this.#server.address() as AddressInfo;
    return { host: bound.address, port: bound.port };
  }

  /**
   * Accepts no further connection, and closes each open one after its next response or when it has been idle for a moment.
   * Resolves when none is left.
   */
  async drain(): Promise<void> {
    this.#state.draining = true;
    for (const connection of this.#connections) connection.drain();
    // Idle connections stay for a moment, since a client may just have sent a request on one. The sweep closes them.
    await new Promise<void>(resolve => this.#server.close(() => resolve()));
    if (this.#sweeper !== null) clearInterval(this.#sweeper);
  }

  /** Breaks off the connections that are left. */
  destroy(): void {
    if (this.#sweeper !== null) clearInterval(this.#sweeper);
    this.#server.close();
    for (const connection of this.#connections) connection.socket.destroy();
  }

  #onConnection(socket: Socket): void {
    const peer = normalizeAddress(socket.remoteAddress ?? '') ?? '';
    const connection = new Connection(socket, peer, this.#state);
    this.#connections.add(connection);
    const cap = this.#caps.take(peer);
    socket.on('close', () => {
      this.#connections.delete(connection);
      if (cap === null) this.#caps.giveBack(peer);
    });
    if (cap === null) return;
    // A refused connection lingers for a moment, unless a flood brings too many.
    if (this.#connections.size > 2 * this.#maxConnections) socket.destroy();
    else connection.refuse(overloaded(cap));
  }

  #sweep(): void {
    const now = this.#state.clock.monotonicMs();
    for (const connection of this.#connections) connection.sweep(now);
  }
}

function hintOf({ keepAliveMs }: TimeoutsModel): string {
  return `timeout=${Math.floor(keepAliveMs / 1_000)}`;
}

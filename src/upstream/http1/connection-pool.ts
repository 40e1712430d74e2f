import type { Random, Timer, TimerClock } from '../../core/index.ts';
import type { OutgoingRequest } from '../../http1/index.ts';
import { type Connect, connectorFor } from '../connect.ts';
import type { CallSink, Transport, TransportCall, UpstreamOptions } from '../transport.ts';
import { RestingConnections } from './resting-connections.ts';
import { SlabStore } from './slab.ts';
import { type ConnectionShare, UpstreamConnection } from './upstream-connection.ts';

/** How often connections are swept, and so the precision of timeouts. */
const SWEEP_MS = 250;

/**
 * A transport over HTTP/1.1. Each connection carries one request at a time, so no request waits behind another's response. Reuses
 * the most recently used connection first, so that surplus ones grow idle and close.
 *
 * Opens a connection whenever none is idle, since the number of requests in flight is limited before they come here. If that
 * would be one too many, closes a resting connection.
 */
export class ConnectionPool implements Transport, ConnectionShare<UpstreamConnection> {
  readonly options: UpstreamOptions;
  readonly clock: TimerClock;
  readonly slabs = new SlabStore();
  readonly connect: Connect;
  readonly #random: Random;
  readonly #connections = new Set<UpstreamConnection>();
  /** The most recently used connection comes last. */
  #idle: UpstreamConnection[] = [];
  readonly #resting: RestingConnections;
  #sweeper: Timer | null = null;
  readonly #closed = Promise.withResolvers<void>();
  #closing = false;

  /** `random` gives the jitter of connection ages; `connect` makes connections, as the options say by default. */
  constructor(
    options: UpstreamOptions,
    clock: TimerClock,
    random: Random,
    connect: Connect = connectorFor(options, 'http/1.1'),
  ) {
    this.options = options;
    this.clock = clock;
    this.#random = random;
    this.connect = connect;
    this.#resting = new RestingConnections(clock, connection => this.idle(connection));
  }

  get connections(): number {
    let open = 0;
    for (const connection of this.#connections) if (connection.open) open++;
    return open;
  }

  send(request: OutgoingRequest, sink: CallSink): TransportCall {
    // A connection that is switched to another protocol never comes back: those in use stay for others.
    const connection = request.upgrade === 'none' ? (this.#idle.pop() ?? this.#open()) : this.#open();
    return connection.carry(request, sink);
  }

  close(): Promise<void> {
    this.#closing = true;
    for (const connection of [...this.#connections]) connection.closeWhenIdle();
    if (this.#connections.size === 0) this.#closed.resolve();
    return this.#closed.promise;
  }

  idle(connection: UpstreamConnection): void {
    this.#idle.push(connection);
  }

  rest(connection: UpstreamConnection): void {
    this.#resting.add(connection);
  }

  gone(connection: UpstreamConnection): void {
    this.#connections.delete(connection);
    const at = this.#idle.lastIndexOf(connection);
    if (at >= 0) this.#idle.splice(at, 1);
    if (this.#closing && this.#connections.size === 0) this.#closed.resolve();
  }

  /** Closes all idle connections: what closed one, such as a restart, has probably closed all of them. */
  stale(): void {
    const idle = this.#idle;
    this.#idle = [];
    for (const connection of idle) connection.close();
    for (const connection of this.#resting.takeAll()) connection.close();
  }

  #open(): UpstreamConnection {
    // Resting connections count towards the upstream's limit: some servers have a process for each.
    if (this.#connections.size >= this.options.maxConnections) this.#resting.takeYoungest()?.reset();
    const connection = new UpstreamConnection(this, this.#random());
    this.#connections.add(connection);
    if (this.#closing) connection.closeWhenIdle();
    this.#sweeper ??= this.clock.every(SWEEP_MS, () => this.#sweep());
    return connection;
  }

  #sweep(): void {
    const now = this.clock.monotonicMs();
    for (const connection of this.#connections) connection.sweep(now);
    this.slabs.trim();
    if (this.#connections.size > 0 || this.slabs.size > 0 || this.#sweeper === null) return;
    this.clock.cancel(this.#sweeper);
    this.#sweeper = null;
  }
}

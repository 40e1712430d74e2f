import type { OutgoingRequest } from '../../http1/index.ts';
import { type Connect, connectorFor } from '../connect.ts';
import { Pool, type PoolSystem } from '../pool.ts';
import type { CallSink, TransportCall, UpstreamOptions } from '../transport.ts';
import { RestingConnections } from './resting-connections.ts';
import { SlabStore } from './slab.ts';
import { type ConnectionShare, UpstreamConnection } from './upstream-connection.ts';

/**
 * The pool of an address over HTTP/1.1. Each connection carries one request at a time, so no request waits behind another's
 * response. Reuses the most recently used connection first, so that surplus ones grow idle and close.
 *
 * Opens a connection whenever none is idle, since the number of requests in flight is limited before they come here. If that
 * would be one too many, closes a resting connection.
 */
export class ConnectionPool extends Pool<UpstreamConnection> implements ConnectionShare {
  readonly slabs = new SlabStore();
  /** The most recently used connection comes last. */
  #idle: UpstreamConnection[] = [];
  readonly #resting: RestingConnections;

  constructor(options: UpstreamOptions, system: PoolSystem, connect?: Connect) {
    super(options, system, connect ?? connectorFor(options, 'http/1.1', system.network));
    this.#resting = new RestingConnections(system.clock, connection => this.idle(connection));
  }

  override send(request: OutgoingRequest, sink: CallSink): TransportCall {
    // A connection that is switched to another protocol never comes back: those in use stay for others.
    const connection = request.upgrade === 'none' ? (this.#idle.pop() ?? this.#open()) : this.#open();
    return connection.carry(request, sink);
  }

  protected override retire(connection: UpstreamConnection): void {
    connection.closeWhenIdle();
  }

  idle(connection: UpstreamConnection): void {
    this.#idle.push(connection);
  }

  rest(connection: UpstreamConnection): void {
    this.#resting.add(connection);
  }

  gone(connection: UpstreamConnection): void {
    this.members.delete(connection);
    const at = this.#idle.lastIndexOf(connection);
    if (at >= 0) this.#idle.splice(at, 1);
    this.closeIfEmpty();
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
    if (this.members.size >= this.options.maxConnections) this.#resting.takeYoungest()?.reset();
    const connection = new UpstreamConnection(this, this.random());
    this.add(connection);
    if (this.closing) connection.closeWhenIdle();
    return connection;
  }

  protected override sweep(nowMs: number): boolean {
    for (const connection of this.members) connection.sweep(nowMs);
    this.slabs.trim();
    return this.slabs.size > 0;
  }
}

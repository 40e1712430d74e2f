import type { OutgoingRequest } from '../wire/http1/index.ts';
import { type Connect, connectorFor } from './connect.ts';
import { Pool, type PoolSystem, SWEEP_MS } from './pool.ts';
import { type SessionShare, UpstreamSession } from './session.ts';
import { type CallHolder, StreamCall } from './stream-call.ts';
import type { CallSink, TransportCall, UpstreamOptions } from './transport.ts';

/**
 * The pool of an address over HTTP/2: few connections, many streams. A call goes to the connection with the fewest streams. If
 * all have the configured number, another connection is opened; if all have the maximum that the upstream allows, the call waits.
 */
export class SessionPool extends Pool<UpstreamSession> implements SessionShare, CallHolder {
  /** Calls that wait for a stream, in order. */
  readonly #queue = new Set<StreamCall>();
  /** How many streams a connection is known to accept. */
  #usualStreams: number;

  constructor(options: UpstreamOptions, system: PoolSystem, connect?: Connect) {
    super(options, system, connect ?? connectorFor(options, 'h2', system.network));
    this.#usualStreams = options.http2.maxStreams;
  }

  override get inFlight(): number {
    let calls = this.#queue.size;
    for (const session of this.members) calls += session.calls;
    return calls;
  }

  protected override carry(request: OutgoingRequest, sink: CallSink): TransportCall {
    const call = new StreamCall(request, sink, this, this.options);
    const session = this.#leastBusy();
    if (session === null) this.#queue.add(call);
    else session.carry(call);
    if (session === null || session.calls > this.#usualStreams) this.#grow();
    return call;
  }

  /** HTTP/2 authenticates no connections. */
  override holdsFor(): boolean {
    return false;
  }

  protected override retire(session: UpstreamSession): void {
    if (session.open && session.calls === 0) session.retire();
  }

  released(call: StreamCall): void {
    this.#queue.delete(call);
  }

  vacant(session: UpstreamSession): void {
    this.#usualStreams = Math.max(1, Math.min(this.options.http2.maxStreams, session.maxStreams));
    // A session that allows no streams at all is useless.
    if (session.maxStreams > 0) this.#serveQueue();
    if (this.closing && session.calls === 0) session.retire();
  }

  retired(): void {
    this.#serveQueue();
  }

  gone(session: UpstreamSession, cause: Error | null): void {
    this.members.delete(session);
    // The sweep replaces a useless session. Replacing it at once could open thousands of connections per second.
    if (cause === null) this.#serveQueue();
    else if (!this.#anyAccepts()) this.#failQueue(cause);
    this.closeIfEmpty();
  }

  #leastBusy(): UpstreamSession | null {
    let best: UpstreamSession | null = null;
    for (const session of this.members)
      if (session.hasRoom && (best === null || session.calls < best.calls)) best = session;
    return best;
  }

  #anyAccepts(): boolean {
    for (const session of this.members) if (session.accepts) return true;
    return false;
  }

  #serveQueue(): void {
    for (const call of this.#queue) {
      const session = this.#leastBusy();
      if (session === null) {
        this.#grow();
        return;
      }
      this.#queue.delete(call);
      session.carry(call);
    }
  }

  #failQueue(cause: Error): void {
    const waiting = [...this.#queue];
    for (const call of waiting) call.fail('connect', cause);
  }

  /** Opens as many connections as the waiting calls need, or one if none are waiting. */
  #grow(): void {
    const needed = Math.max(1, Math.ceil(this.#queue.size / this.#usualStreams));
    let [accepting, connecting] = [0, 0];
    for (const session of this.members) {
      if (session.accepts) accepting++;
      if (session.connecting) connecting++;
    }
    for (; connecting < needed && accepting < this.options.http2.maxConnections; connecting++, accepting++)
      this.add(new UpstreamSession(this, this.random()));
  }

  protected override sweep(nowMs: number): boolean {
    if (this.#queue.size > 0) this.#grow();
    for (const session of this.members) session.sweep(nowMs);
    // Report slow connects first: if the process was suspended, the calls that wait for them are late in the same sweep.
    if (this.#anyAccepts())
      for (const call of this.#queue) call.sweep(nowMs, this.options.connectTimeoutMs + SWEEP_MS, null);
    return this.#queue.size > 0;
  }
}

import type { Random, Timer, TimerClock } from '../../core/index.ts';
import type { OutgoingRequest } from '../../http1/index.ts';
import { type Connect, connectorFor } from '../connect.ts';
import type { CallSink, Transport, TransportCall, UpstreamOptions } from '../transport.ts';
import { Session, type SessionShare } from './session.ts';
import { type CallHolder, StreamCall } from './stream-call.ts';

/** How often sessions are swept, and so the precision of timeouts. */
const SWEEP_MS = 250;

/**
 * A transport over HTTP/2: few connections, many streams. A call goes to the connection with the fewest streams. If all have as
 * many as configured, another connection is opened; if all have as many as the upstream allows, the call waits.
 */
export class SessionPool implements Transport, SessionShare, CallHolder {
  readonly options: UpstreamOptions;
  readonly clock: TimerClock;
  readonly connect: Connect;
  readonly #random: Random;
  readonly #sessions = new Set<Session>();
  /** Calls that wait for a stream, in their order. */
  readonly #queue = new Set<StreamCall>();
  /** Streams that a connection is known to accept. */
  #usualStreams: number;
  #sweeper: Timer | null = null;
  readonly #closed = Promise.withResolvers<void>();
  #closing = false;

  /** `random` gives the jitter of connection ages; `connect` makes connections, as the options say by default. */
  constructor(
    options: UpstreamOptions,
    clock: TimerClock,
    random: Random,
    connect: Connect = connectorFor(options, 'h2'),
  ) {
    this.options = options;
    this.clock = clock;
    this.#random = random;
    this.connect = connect;
    this.#usualStreams = options.http2.maxStreams;
  }

  get connections(): number {
    let open = 0;
    for (const session of this.#sessions) if (session.open) open++;
    return open;
  }

  send(request: OutgoingRequest, sink: CallSink): TransportCall {
    const call = new StreamCall(request, sink, this, this.options);
    const session = this.#leastBusy();
    if (session === null) this.#queue.add(call);
    else session.carry(call);
    if (session === null || session.calls > this.#usualStreams) this.#grow();
    return call;
  }

  close(): Promise<void> {
    this.#closing = true;
    for (const session of [...this.#sessions]) if (session.open && session.calls === 0) session.retire();
    this.#closeIfEmpty();
    return this.#closed.promise;
  }

  released(call: StreamCall): void {
    this.#queue.delete(call);
  }

  vacant(session: Session): void {
    this.#usualStreams = Math.max(1, Math.min(this.options.http2.maxStreams, session.maxStreams));
    // One that allows no streams at all is of no use either.
    if (session.maxStreams > 0) this.#serveQueue();
    if (this.#closing && session.calls === 0) session.retire();
  }

  retired(): void {
    this.#serveQueue();
  }

  gone(session: Session, cause: Error | null): void {
    this.#sessions.delete(session);
    // Another in the place of one that was of no use comes with the sweep. At once, it would be thousands a second.
    if (cause === null) this.#serveQueue();
    else if (!this.#anyAccepts()) this.#failQueue(cause);
    this.#closeIfEmpty();
  }

  #leastBusy(): Session | null {
    let best: Session | null = null;
    for (const session of this.#sessions)
      if (session.hasRoom && (best === null || session.calls < best.calls)) best = session;
    return best;
  }

  #anyAccepts(): boolean {
    for (const session of this.#sessions) if (session.accepts) return true;
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

  /** Opens as many connections as the waiting calls need, and one where none waits. */
  #grow(): void {
    const needed = Math.max(1, Math.ceil(this.#queue.size / this.#usualStreams));
    let [accepting, connecting] = [0, 0];
    for (const session of this.#sessions) {
      if (session.accepts) accepting++;
      if (session.connecting) connecting++;
    }
    for (; connecting < needed && accepting < this.options.http2.maxConnections; connecting++, accepting++)
      this.#open();
  }

  #open(): void {
    this.#sessions.add(new Session(this, this.#random()));
    this.#sweeper ??= this.clock.every(SWEEP_MS, () => this.#sweep());
  }

  #sweep(): void {
    const now = this.clock.monotonicMs();
    if (this.#queue.size > 0) this.#grow();
    for (const session of this.#sessions) session.sweep(now);
    // A connect that takes too long is found first, and says so.
    for (const call of this.#queue) call.sweep(now, this.options.connectTimeoutMs + SWEEP_MS, null);
    if (this.#sessions.size > 0 || this.#queue.size > 0 || this.#sweeper === null) return;
    this.clock.cancel(this.#sweeper);
    this.#sweeper = null;
  }

  #closeIfEmpty(): void {
    if (this.#closing && this.#sessions.size === 0) this.#closed.resolve();
  }
}

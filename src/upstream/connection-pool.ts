import { type ByteStream, inNextTurn, type TimerClock } from '../core/index.ts';
import type { OutgoingRequest } from '../wire/http1/index.ts';
import { type Connect, connectorFor } from './connect.ts';
import { Pool, type PoolSystem } from './pool.ts';
import type { CallSink, ConnectionOwner, TransportCall, UpstreamOptions } from './transport.ts';
import { type ConnectionShare, UpstreamConnection } from './upstream-connection.ts';

/**
 * The pool of an address over HTTP/1.1. Each connection carries one request at a time, so no request waits behind another's
 * response. Reuses the most recently used connection first, so that surplus ones grow idle and close.
 *
 * Opens a connection whenever none is idle, since the number of requests in flight is limited before they come here. If that would
 * exceed the maximum, closes a resting connection.
 */
export class ConnectionPool extends Pool<UpstreamConnection> implements ConnectionShare {
  /** The most recently used connection comes last. */
  #idle: UpstreamConnection[] = [];
  readonly #resting: RestingConnections;
  /** Idle connections, each of which belongs to a client's connection. */
  readonly #owned = new Map<ConnectionOwner, UpstreamConnection>();
  /** True while the upstream closes each connection behind its response, without saying so. */
  closesEach = false;
  /** True once the upstream has answered on one connection while another one was open. */
  #isParallel = false;
  /** True while the upstream seems to serve only one connection at a time: the others are closed before one is opened. */
  #isSerial = false;
  /** Connections that have switched to another protocol, and left the pool. */
  #switched = 0;

  constructor(options: UpstreamOptions, system: PoolSystem, connect?: Connect) {
    super(options, system, connect ?? connectorFor(options, 'http/1.1', system.network));
    this.#resting = new RestingConnections(system.clock, connection => this.#rested(connection));
  }

  override get inFlight(): number {
    let busy = this.#switched;
    for (const connection of this.members) if (connection.busy) busy++;
    return busy;
  }

  protected override carry(request: OutgoingRequest, sink: CallSink): TransportCall {
    const owned = this.#owned.size === 0 ? undefined : this.#takeOwned(sink);
    if (owned !== undefined) return owned.carry(request, sink);
    // A connection for another protocol never returns to the pool, so open a new one and keep the idle ones for other requests.
    const connection = request.upgrade === 'none' ? (this.#idle.pop() ?? this.#open()) : this.#open();
    return connection.carry(request, sink);
  }

  override holdsFor(owner: ConnectionOwner): boolean {
    return this.#owned.has(owner);
  }

  #takeOwned({ owner }: CallSink): UpstreamConnection | undefined {
    if (owner === null || owner === undefined) return undefined;
    const connection = this.#owned.get(owner);
    this.#owned.delete(owner);
    return connection;
  }

  protected override retire(connection: UpstreamConnection): void {
    connection.closeWhenIdle();
  }

  idle(connection: UpstreamConnection): void {
    this.#answered(connection);
    if (this.#isSerial) this.#free(connection);
    else this.#idle.push(connection);
  }

  idleFor(owner: ConnectionOwner, connection: UpstreamConnection): void {
    // An owner has one request in flight at a time, so it can only have a second connection if the first one broke.
    this.#owned.get(owner)?.close();
    this.#owned.set(owner, connection);
  }

  rest(connection: UpstreamConnection): void {
    this.#answered(connection);
    this.#resting.add(connection);
  }

  /** Called when the upstream has not closed a connection during its rest. */
  #rested(connection: UpstreamConnection): void {
    this.closesEach = false;
    this.#free(connection);
  }

  /** Makes a connection available for another request, or closes it if all others seem to wait for that. */
  #free(connection: UpstreamConnection): void {
    this.#idle.push(connection);
    if (!this.#isParallel) this.#makeWay();
  }

  /** Notes whether the upstream answers while other connections are open. */
  #answered(connection: UpstreamConnection): void {
    if (this.#isParallel) return;
    for (const other of this.members) if (other !== connection && other.isFree) this.#isParallel = true;
    if (this.#isParallel) this.#isSerial = false;
  }

  /**
   * Closes connections that carry nothing while all others wait for a first byte: a single-threaded server reads from one
   * connection until that closes. If the server is not single-threaded, an answer on another connection will soon show it.
   */
  #makeWay(): void {
    let waiting = 0;
    for (const member of this.members) {
      if (member.isUnanswered) waiting++;
      else if (!member.isFree) return;
    }
    if (waiting === 0) return;
    this.#isSerial = true;
    this.#closeFree();
  }

  #closeFree(): void {
    for (const connection of [...this.members])
      if (connection.isFree && connection.owner === null) connection.reset();
  }

  closedBehind(responses: number): void {
    if (responses === 1) this.closesEach = true;
  }

  switched(stream: ByteStream): void {
    this.#switched++;
    stream.whenGone(() => this.#switched--);
  }

  gone(connection: UpstreamConnection): void {
    this.members.delete(connection);
    const at = this.#idle.lastIndexOf(connection);
    if (at >= 0) this.#idle.splice(at, 1);
    const { owner } = connection;
    if (owner !== null && this.#owned.get(owner) === connection) this.#owned.delete(owner);
    this.closeIfEmpty();
  }

  /** Closes all idle connections: whatever closed one, such as a restart, has probably closed all of them. */
  stale(): void {
    const idle = this.#idle;
    this.#idle = [];
    for (const connection of idle) connection.close();
    for (const connection of this.#resting.takeAll()) connection.close();
  }

  #open(): UpstreamConnection {
    if (this.#isSerial) this.#closeFree();
    // Resting connections count towards the upstream's limit: some servers have a process per connection.
    if (this.members.size >= this.options.maxConnections) this.#resting.takeYoungest()?.reset();
    const connection = new UpstreamConnection(this, this.random());
    this.add(connection);
    if (this.closing) connection.closeWhenIdle();
    return connection;
  }

  protected override sweep(nowMs: number): boolean {
    for (const connection of this.members) connection.sweep(nowMs);
    if (!this.#isParallel && this.members.size > 1) this.#makeWay();
    return false;
  }
}

/** Late bytes are expected up to 100 ms after their response; the margin is for late timers and networks. */
const REST_MS = 125;
/** Connections whose rest ends within this time are released together. */
const STEP_MS = 25;

interface Rest {
  readonly connection: UpstreamConnection;
  /** When it began to rest, on the monotonic clock. */
  readonly sinceMs: number;
}

/**
 * Keeps connections unused for a while after a response that late bytes may follow (see `lateBytesAreLikely`). An upstream that
 * treats a HEAD as a GET, or sends a page after its 304, does so in a later write, and the next request on the connection would
 * take those bytes for its response: one client would choose what another reads. While a connection rests it carries no request,
 * and any byte that arrives destroys it.
 *
 * Costs 0.13 to 0.15 connections per such response per second, and colder sockets. For figures, and the alternative of closing
 * the connection, see docs/decisions/004-connections-rest.md.
 */
class RestingConnections {
  readonly #clock: TimerClock;
  readonly #release: (connection: UpstreamConnection) => void;
  /** The resting connections, the longest resting first. Some may have been closed since. */
  #resting: Rest[] = [];
  #waking = false;

  /** @param release takes each connection that has rested and is still open */
  constructor(clock: TimerClock, release: (connection: UpstreamConnection) => void) {
    this.#clock = clock;
    this.#release = release;
  }

  add(connection: UpstreamConnection): void {
    this.#resting.push({ connection, sinceMs: this.#clock.monotonicMs() });
    if (!this.#waking) this.#wakeIn(REST_MS);
  }

  /**
   * Removes and returns the connection that has rested the shortest, since the others are available sooner; `null` if none is
   * open.
   */
  takeYoungest(): UpstreamConnection | null {
    for (;;) {
      const last = this.#resting.pop();
      if (last === undefined) return null;
      if (last.connection.open) return last.connection;
    }
  }

  takeAll(): UpstreamConnection[] {
    return this.#resting.splice(0).map(({ connection }) => connection);
  }

  #wakeIn(ms: number): void {
    this.#waking = true;
    this.#clock.after(ms, () => {
      const dueMs = this.#clock.monotonicMs() - REST_MS;
      // After a busy period, late bytes may still be in the system's buffer. Between a timer and its immediate the event loop
      // reads every socket, and with it everything that was due by now.
      inNextTurn(() => this.#wake(dueMs));
    });
  }

  #wake(dueMs: number): void {
    this.#waking = false;
    const at = this.#resting.findIndex(({ sinceMs }) => sinceMs > dueMs);
    const rested = this.#resting.splice(0, at < 0 ? this.#resting.length : at);
    for (const { connection } of rested) if (connection.open) this.#release(connection);
    // A pool that has closed its connections needs no timer.
    this.#resting = this.#resting.filter(({ connection }) => connection.open);
    const [next] = this.#resting;
    if (next !== undefined) this.#wakeIn(Math.max(STEP_MS, next.sinceMs - dueMs));
  }
}

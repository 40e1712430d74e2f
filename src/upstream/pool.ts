import type { Clock, Random, System, Timer, TimerClock } from '../core/index.ts';
import type { OutgoingRequest } from '../http1/index.ts';
import type { Connect } from './connect.ts';
import type { CallSink, EndpointPool, TransportCall, UpstreamOptions } from './transport.ts';

/** How often the connections of a pool are swept, and so the precision of timeouts. */
export const SWEEP_MS = 250;
/** Subtracted from a server's keep-alive time: its close and our next request could cross. */
const KEEP_ALIVE_MARGIN_MS = 1_000;

/** What connects a pool to its upstream. */
export type PoolSystem = Pick<System, 'clock' | 'random' | 'randomBytes' | 'network'>;

/** What the connections of a pool share. */
export interface PoolTerms {
  readonly options: UpstreamOptions;
  readonly clock: Clock;
  readonly connect: Connect;
}

interface PooledConnection {
  /** Whether it is established. */
  readonly open: boolean;
}

/** The connections to one address of an upstream. The protocol's own pool decides which of them carries a request. */
export abstract class Pool<Connection extends PooledConnection> implements EndpointPool, PoolTerms {
  readonly options: UpstreamOptions;
  readonly clock: TimerClock;
  readonly connect: Connect;
  protected readonly random: Random;
  protected readonly members = new Set<Connection>();
  protected closing = false;
  readonly #closed = Promise.withResolvers<void>();
  #sweeper: Timer | null = null;

  /**
   * @param system `random` gives the jitter of connection ages
   * @param connect makes connections
   */
  protected constructor(options: UpstreamOptions, { clock, random }: PoolSystem, connect: Connect) {
    this.options = options;
    this.clock = clock;
    this.random = random;
    this.connect = connect;
  }

  get connections(): number {
    let open = 0;
    for (const connection of this.members) if (connection.open) open++;
    return open;
  }

  abstract readonly inFlight: number;

  abstract send(request: OutgoingRequest, sink: CallSink): TransportCall;

  close(): Promise<void> {
    this.closing = true;
    for (const connection of [...this.members]) this.retire(connection);
    this.closeIfEmpty();
    return this.#closed.promise;
  }

  /** Closes the connection once nothing is in flight on it. */
  protected abstract retire(connection: Connection): void;

  /** Checks whether something has taken too long. Returns whether more than connections has to be swept again. */
  protected abstract sweep(nowMs: number): boolean;

  protected add(connection: Connection): void {
    this.members.add(connection);
    this.#sweeper ??= this.clock.every(SWEEP_MS, () => this.#onSweep());
  }

  /** Call it after a connection has left `members`. */
  protected closeIfEmpty(): void {
    if (this.closing && this.members.size === 0) this.#closed.resolve();
  }

  #onSweep(): void {
    const goesOn = this.sweep(this.clock.monotonicMs());
    if (goesOn || this.members.size > 0 || this.#sweeper === null) return;
    this.clock.cancel(this.#sweeper);
    this.#sweeper = null;
  }
}

/** How long a connection may live, and how long it may be idle. */
export class Lifetime {
  readonly #options: UpstreamOptions;
  readonly #maxAgeMs: number;
  #idleMs: number;
  #bornAtMs: number;
  #isTooOld = false;

  /** @param chance from 0 up to 1, takes up to a fifth off the maximum age: connections of one burst must not all close at once */
  constructor(options: UpstreamOptions, chance: number, nowMs: number) {
    this.#options = options;
    this.#maxAgeMs = options.maxAgeMs * (1 - chance / 5);
    this.#idleMs = options.keepAliveMs;
    this.#bornAtMs = nowMs;
  }

  /** Whether the connection may carry another request. */
  get hasTimeLeft(): boolean {
    return this.#idleMs > 0 && !this.#isTooOld;
  }

  /** Whether the connection had reached its maximum age at the last sweep. */
  get isTooOld(): boolean {
    return this.#isTooOld;
  }

  /** Starts the age when the connection is established. */
  begin(nowMs: number): void {
    this.#bornAtMs = nowMs;
  }

  /** Notes how long the server keeps an idle connection, in milliseconds; `null` if it did not say. */
  serverKeeps(keepAliveMs: number | null): void {
    if (keepAliveMs !== null)
      this.#idleMs = Math.min(keepAliveMs - KEEP_ALIVE_MARGIN_MS, this.#options.maxAgeMs);
  }

  /** Notes the connection's age. Call at each sweep. */
  age(nowMs: number): void {
    this.#isTooOld = nowMs - this.#bornAtMs > this.#maxAgeMs;
  }

  /** Whether to close a connection that has been idle for `idleMs`. */
  isOverAfter(idleMs: number): boolean {
    return idleMs >= this.#idleMs || this.#isTooOld;
  }
}

import type { Clock, LendingBytes, Random, Release, System, Timer, TimerClock } from '../core/index.ts';
import { authorityAt } from '../core/index.ts';
import type { OutgoingRequest } from '../wire/http1/index.ts';
import type { Connect } from './connect.ts';
import type { CallSink, ConnectionOwner, EndpointPool, TransportCall, UpstreamOptions } from './transport.ts';

/** How often the connections of a pool are swept, and so the precision of timeouts. */
export const SWEEP_MS = 250;
/** Subtracted from a server's keep-alive time, since its close and our next request could cross. */
const KEEP_ALIVE_MARGIN_MS = 1_000;

/** The parts of the system that a pool needs. */
export type PoolSystem = Pick<System, 'clock' | 'random' | 'network'>;

/** The state shared by the connections of a pool. */
export interface PoolTerms {
  readonly options: UpstreamOptions;
  readonly clock: Clock;
  readonly connect: Connect;
  readonly slabs: SlabStore;
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
  readonly slabs = new SlabStore();
  protected readonly random: Random;
  protected readonly members = new Set<Connection>();
  protected closing = false;
  /** The `Host` of all requests to this address; `null` if they keep their own. */
  readonly #ownHost: string | null;
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
    const { name, port, tls } = options;
    this.#ownHost = options.ownHosts ? authorityAt({ host: name, port }, tls !== null) : null;
  }

  get connections(): number {
    let open = 0;
    for (const connection of this.members) if (connection.open) open++;
    return open;
  }

  abstract readonly inFlight: number;

  abstract holdsFor(owner: ConnectionOwner): boolean;

  send(request: OutgoingRequest, sink: CallSink): TransportCall {
    if (this.#ownHost === null) return this.carry(request, sink);
    // Replace the `Host` that was written before the address was chosen.
    const fields = request.fields.slice();
    for (let i = 0; i + 1 < fields.length; i += 2) if (fields[i] === 'Host') fields[i + 1] = this.#ownHost;
    return this.carry({ ...request, fields }, sink);
  }

  protected abstract carry(request: OutgoingRequest, sink: CallSink): TransportCall;

  close(): Promise<void> {
    this.closing = true;
    for (const connection of [...this.members]) this.retire(connection);
    this.closeIfEmpty();
    return this.#closed.promise;
  }

  /** Closes the connection once nothing is in flight on it. */
  protected abstract retire(connection: Connection): void;

  /** Checks for timeouts. Returns whether further sweeps are needed for reasons other than connections and slabs. */
  protected abstract sweep(nowMs: number): boolean;

  protected add(connection: Connection): void {
    this.members.add(connection);
    this.#sweeper ??= this.clock.every(SWEEP_MS, () => this.#onSweep());
  }

  /** Call it after a connection was removed from `members`. */
  protected closeIfEmpty(): void {
    if (this.closing && this.members.size === 0) this.#closed.resolve();
  }

  #onSweep(): void {
    const goesOn = this.sweep(this.clock.monotonicMs());
    this.slabs.trim();
    if (goesOn || this.slabs.size > 0 || this.members.size > 0 || this.#sweeper === null) return;
    this.clock.cancel(this.#sweeper);
    this.#sweeper = null;
  }
}

/** How long a connection may live, and how long it may be idle. */
export class Lifetime {
  readonly #options: UpstreamOptions;
  #maxAgeMs: number;
  #idleMs: number;
  #bornAtMs: number;
  #isTooOld = false;

  /**
   * @param chance from 0 to 1: subtracts up to a fifth from the maximum age, so that connections of one burst do not all close at
   *   once
   */
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

  /** Starts counting the age when the connection is established. */
  begin(nowMs: number): void {
    this.#bornAtMs = nowMs;
  }

  /** Records how long the server keeps an idle connection, in milliseconds; `null` if it did not say. */
  serverKeeps(keepAliveMs: number | null): void {
    if (keepAliveMs !== null && this.#options.keepAliveMs > 0)
      this.#idleMs = Math.min(keepAliveMs - KEEP_ALIVE_MARGIN_MS, this.#options.maxAgeMs);
  }

  /** Lets the connection become as old as its client's, which would have to authenticate again on a new one. */
  lastWithOwner(): void {
    this.#maxAgeMs = Number.POSITIVE_INFINITY;
    this.#isTooOld = false;
  }

  /** Updates the connection's age. Call it at every sweep. */
  age(nowMs: number): void {
    this.#isTooOld = nowMs - this.#bornAtMs > this.#maxAgeMs;
  }

  /** Whether to close a connection that has been idle for `idleMs`. */
  mustCloseAfter(idleMs: number): boolean {
    return idleMs >= this.#idleMs || this.#isTooOld;
  }
}

/**
 * The size of a slab, which is the maximum that one read returns. A 64 KiB response with its head takes one read and one write,
 * and memory of this size is returned to the system when freed.
 */
export const SLAB_BYTES = 131_072;

/**
 * Memory that a connection reads into. Pieces of a body are lent as views, without a copy; the slab is only filled again once all
 * of them are returned.
 */
export class Slab implements LendingBytes {
  readonly bytes: Buffer = Buffer.allocUnsafeSlow(SLAB_BYTES);
  readonly #store: SlabStore;
  /** How many views have not been returned yet. */
  #lent = 0;
  /** True while a connection reads into it. */
  #held = true;

  constructor(store: SlabStore) {
    this.#store = store;
  }

  get lent(): boolean {
    return this.#lent > 0;
  }

  keep(): void {
    this.#lent++;
  }

  /** Lends a view. The borrower returns it with `release`. */
  lend(from: number, to: number): Buffer {
    this.#lent++;
    return this.bytes.subarray(from, to);
  }

  /**
   * Takes a view back. After a failed write it stays lent: the slab is left to the garbage collector, since the socket may still
   * be reading it.
   */
  readonly release: Release = error => {
    if (error) return;
    this.#lent--;
    this.#giveBack();
  };

  hold(): this {
    this.#held = true;
    return this;
  }

  /** Gives up the slab: its connection reads into another one from now on. */
  detach(): void {
    this.#held = false;
    this.#giveBack();
  }

  #giveBack(): void {
    if (this.#lent === 0 && !this.#held) this.#store.giveBack(this);
  }
}

/** Keeps unused slabs, no more than were needed since the last `trim`. */
export class SlabStore {
  readonly #free: Slab[] = [];
  /** The smallest number of free slabs since the last trim: this many were not needed. */
  #minFree = 0;

  get size(): number {
    return this.#free.length;
  }

  take(): Slab {
    const slab = this.#free.pop();
    if (this.#free.length < this.#minFree) this.#minFree = this.#free.length;
    return slab === undefined ? new Slab(this) : slab.hold();
  }

  /** Returns another slab to replace this one, parts of which are lent. */
  replace(slab: Slab): Slab {
    const next = this.take();
    slab.detach();
    return next;
  }

  giveBack(slab: Slab): void {
    this.#free.push(slab);
  }

  /** Frees the slabs that were not needed since the last trim. */
  trim(): void {
    this.#free.splice(0, this.#minFree);
    this.#minFree = this.#free.length;
  }
}

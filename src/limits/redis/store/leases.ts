import type { Clock } from '../../../core/index.ts';
import type { Place } from '../../index.ts';
import { type Health, type RedisConnection, RedisError, readReply } from '../connection/index.ts';
import { HOLD, LEASE_MS } from './counter-scripts.ts';
import { MODE } from './script-words.ts';

/** A third of a lease's validity, so that one renewal may be lost. */
const RENEW_MS = 10_000;
/** How many ended leases are remembered until Redis can be notified: further ones just expire. */
const MAX_UNTOLD = 10_000;

export interface LeasesDependencies {
  readonly connection: Pick<RedisConnection, 'run'>;
  readonly health: Pick<Health, 'isShared' | 'mention'>;
  readonly clock: Clock;
}

/** A request in flight that holds a lease, or would if Redis had been available when it began. */
interface Lease {
  readonly key: string;
  readonly id: string;
  renewedAtMs: number;
}

/** A lease whose request has ended without Redis knowing it yet. */
interface Untold {
  readonly key: string;
  readonly id: string;
  readonly endedAtMs: number;
}

/**
 * The leases of this gateway's requests in flight. Includes those that began while Redis was unavailable: as they are renewed,
 * other gateways learn of them.
 */
export class Leases {
  readonly #dependencies: LeasesDependencies;
  /** Ordered by when they are due. */
  readonly #held = new Set<Lease>();
  readonly #untold = new Set<Untold>();

  constructor(dependencies: LeasesDependencies) {
    this.#dependencies = dependencies;
  }

  /** Keeps a lease until its request ends. `local`: its place in this process, which ends with it. */
  hold(key: string, id: string, local: Place): Place {
    const lease = { key, id, renewedAtMs: this.#dependencies.clock.monotonicMs() };
    this.#held.add(lease);
    return {
      leave: () => {
        if (!this.#held.delete(lease)) return;
        local.leave();
        this.end(key, id);
      },
    };
  }

  /** Ends a lease in Redis, now or when Redis is back. Nothing waits for this: a lease that is never ended expires. */
  end(key: string, id: string): void {
    const untold = { key, id, endedAtMs: this.#dependencies.clock.monotonicMs() };
    if (this.#dependencies.health.isShared) this.#notifyEnds(key, [untold]);
    else this.#remember(untold);
  }

  /** Renews the leases that are due, and ends those that Redis could not be notified of. Call it once a second. */
  renew(): void {
    const { connection, health, clock } = this.#dependencies;
    if (!health.isShared) return;
    const nowMs = clock.monotonicMs();
    this.#endUntold(nowMs);
    const due = this.#dueAt(nowMs);
    for (const lease of due) {
      lease.renewedAtMs = nowMs;
      this.#held.delete(lease);
      this.#held.add(lease);
    }
    for (const [key, leases] of Map.groupBy(due, ({ key }) => key)) {
      const ids = leases.map(({ id }) => id);
      connection.run(HOLD, [key], [MODE.renew, ...ids], (error, reply) => {
        const done = error ?? readReply(reply, 'limit');
        if (done instanceof RedisError) health.mention(done, 'renew leases');
      });
    }
  }

  #endUntold(nowMs: number): void {
    if (this.#untold.size === 0) return;
    // The others have expired meanwhile.
    const known = [...this.#untold].filter(({ endedAtMs }) => nowMs - endedAtMs < LEASE_MS);
    this.#untold.clear();
    for (const [key, ends] of Map.groupBy(known, ({ key }) => key)) this.#notifyEnds(key, ends);
  }

  #notifyEnds(key: string, ends: readonly Untold[]): void {
    const { connection, health } = this.#dependencies;
    const ids = ends.map(({ id }) => id);
    connection.run(HOLD, [key], [MODE.end, ...ids], (error, reply) => {
      const done = error ?? readReply(reply, 'limit');
      if (!(done instanceof RedisError)) return;
      for (const each of ends) this.#remember(each);
      health.mention(done, 'end leases');
    });
  }

  #remember(untold: Untold): void {
    if (this.#untold.size < MAX_UNTOLD) this.#untold.add(untold);
  }

  #dueAt(nowMs: number): Lease[] {
    const due: Lease[] = [];
    for (const lease of this.#held) {
      if (nowMs - lease.renewedAtMs < RENEW_MS) break;
      due.push(lease);
    }
    return due;
  }
}

import type { Limit, LimitRole } from './limit-definition.ts';

/**
 * A partition of the table: the counters of one bucket's callers, of its groups, of its resources, or of the global limit. They compete for room
 * with each other and with no others.
 */
export interface Partition {
  /** Empty for the global limit. */
  readonly bucket: string;
  readonly role: LimitRole;
  /** Whether the configuration in force has such limits. */
  isInForce: boolean;
  /** Counters that always find room here, whatever other partitions hold. */
  reserved: number;
  /** Counters held now. */
  size: number;
  /** The counter looked at next when one has to give way; -1 while it holds none. */
  hand: number;
  /** Counters evicted before their Reset, since the start. */
  evictions: number;
  /** Decisions by the overflow counter since the start: the table had no room for a counter of their own. */
  overflows: number;
}

/** One part in four of the room is reserved for the global limit, and one for all other partitions together. */
const RESERVED_PART = 4;

/**
 * Divides the room of a counter table, so that a full partition takes nothing from another. A quarter is reserved for the global
 * limit, and a quarter is divided evenly among the partitions of buckets. The rest is lent to the partitions that need it. A
 * partition that the configuration in force no longer has keeps the counters that it was lent, until they expire.
 */
export class Partitions {
  readonly #capacity: number;
  readonly #byName = new Map<string, Partition>();
  #lendable: number;
  #lent = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
    this.#lendable = capacity;
  }

  get all(): Iterable<Partition> {
    return this.#byName.values();
  }

  /** Returns the partition of a limit. A limit that tries other numbers has its own, so that it takes no room from the limit in force. */
  of({ role, bucket, isTrial }: Limit): Partition {
    const name = `${role} ${isTrial ? 'trial' : ''} ${bucket}`;
    let partition = this.#byName.get(name);
    if (partition === undefined) {
      partition = newPartition(bucket, role);
      this.#byName.set(name, partition);
    }
    return partition;
  }

  /** Divides the room among these limits, those of the configuration in force. No counter is lost. */
  share(limits: Iterable<Limit>): void {
    const named = new Set<Partition>();
    const global = new Set<Partition>();
    for (const limit of limits) (limit.role === 'global' ? global : named).add(this.of(limit));
    const part = Math.floor(this.#capacity / RESERVED_PART);
    this.#lendable = this.#capacity;
    this.#lent = 0;
    for (const partition of this.all) {
      partition.reserved = 0;
      partition.isInForce = named.has(partition) || global.has(partition);
      if (named.has(partition)) partition.reserved = Math.floor(part / named.size);
      if (global.has(partition)) partition.reserved = Math.floor(part / global.size);
      this.#lendable -= partition.reserved;
      this.#lent += Math.max(0, partition.size - partition.reserved);
    }
  }

  /** Whether the partition may hold one more counter than now. */
  mayGrow(partition: Partition): boolean {
    return partition.size < partition.reserved || this.#lent < this.#lendable;
  }

  grew(partition: Partition): void {
    if (++partition.size > partition.reserved) this.#lent++;
  }

  shrank(partition: Partition): void {
    if (partition.size-- > partition.reserved) this.#lent--;
  }

  /** The partition that exceeds its reserved room the most: after a reload, others may need that room. */
  get mostLent(): Partition | null {
    let most: Partition | null = null;
    let lent = 0;
    for (const partition of this.all) {
      if (partition.size - partition.reserved <= lent) continue;
      most = partition;
      lent = partition.size - partition.reserved;
    }
    return most;
  }
}

export function newPartition(bucket: string, role: LimitRole): Partition {
  return { bucket, role, isInForce: false, reserved: 0, size: 0, hand: -1, evictions: 0, overflows: 0 };
}

import { atOnce, type Steps, type TableMemory, type Words } from '../../core/index.ts';
import type { Limit, LimitRole } from './limit-definition.ts';
import { FIRST_NAMED_WORD, NamedTable } from './record-table.ts';

// Offsets of words in a partition's record.
/** Counters that always have room here, whatever other partitions hold. */
const RESERVED = FIRST_NAMED_WORD;
/** Counters held now, in each compartment. */
const SIZES = RESERVED + 1;
const COMPARTMENTS = 3;
/** The counter examined next for eviction, + 1; 0 while there are none. */
const HAND = SIZES + COMPARTMENTS;
/** Counters evicted before their Reset. */
const EVICTIONS = HAND + 1;
/** Decisions by the overflow counter because the table had no room for another. */
const OVERFLOWS = EVICTIONS + 2;
/** Requests decided by the counter of their caller's further main values. */
const OF_CALLERS = OVERFLOWS + 2;
/** Requests decided by a counter that stands in for their network. */
const OF_NETWORKS = OF_CALLERS + 2;
const WIDTH = OF_NETWORKS + 2;

// Words of all partitions together.
const ALL_RESERVED = 0;
/** How many counters all partitions together hold beyond their reserves. */
const LENT = 1;
const WORDS_OF_ALL = 6;
// Floats of all partitions together, since startup. Includes forgotten ones.
const ALL_EVICTIONS = 1;
const ALL_OVERFLOWS = 2;

/** One quarter of the room is reserved for the global limit, and one for all other partitions together. */
const RESERVED_PART = 4;

/** One sixteenth of what is reserved for a partition is for its stand-ins. */
const STAND_IN_PART = 16;

/**
 * A partition has compartments, so that what one network holds beyond its share takes nothing reserved for others:
 *
 * - `ORDINARY`: counters of callers and main values
 * - `STAND_IN`: counters that stand in for callers of a network that had no room left
 * - `BORROWED`: counters that a network holds beyond its share of the partition. Nothing is reserved for them
 */
export const ORDINARY = 0;
export const STAND_IN = 1;
export const BORROWED = 2;

/** What one partition holds, and how often it ran out of room since startup. */
export interface PartitionCounts {
  /** Empty for the global limit. */
  readonly bucket: string;
  readonly role: LimitRole;
  /** Keys held now. */
  readonly size: number;
  readonly evictions: number;
  readonly overflows: number;
  /** Requests decided by the counter that a caller's further main values share. */
  readonly ofCallers: number;
  /** Requests decided by a counter that stands in for a network. */
  readonly ofNetworks: number;
}

/**
 * Divides the room of a counter table, so that a full partition takes nothing from another. A partition holds the counters of one
 * bucket's callers, its groups, its resources, or the global limit; they compete for room only with each other.
 *
 * A quarter is reserved for the global limit, and a quarter is divided evenly among the partitions of buckets. The rest is lent
 * to partitions that need it. A partition that is no longer in the configuration keeps its lent counters until they expire.
 */
export class Partitions {
  readonly #capacity: number;
  readonly #hasStandIns: boolean;
  readonly #memory: TableMemory;
  readonly #table: NamedTable;
  readonly #all: Words;
  /** The partitions of the current configuration, by number. */
  #inForce = new Map<number, Pick<PartitionCounts, 'bucket' | 'role'>>();

  /**
   * @param most the maximum number of partitions
   * @param hasStandIns whether callers have networks with stand-in counters. Default: none
   */
  constructor(memory: TableMemory, name: string, capacity: number, most: number, hasStandIns = false) {
    this.#hasStandIns = hasStandIns;
    this.#capacity = capacity;
    this.#memory = memory;
    this.#table = new NamedTable(memory, `${name} partitions`, most, WIDTH);
    this.#all = memory.words(`${name} room`, WORDS_OF_ALL);
  }

  /**
   * Returns the partition of a limit, or -1 if there are too many. A trial limit has its own, so that it takes no room from the
   * limit in force.
   */
  of({ role, bucket, isTrial }: Limit): number {
    return this.named(`${role} ${isTrial ? 'trial' : ''} ${bucket}`);
  }

  /** Returns the partition of this name, or -1 if there are too many. */
  named(name: string): number {
    const found = this.#table.find(name);
    return found >= 0 ? found : this.#table.add(name);
  }

  /** Divides the room among these limits, those in force. No counter is lost. */
  share(limits: readonly Limit[]): void {
    atOnce(this.shareInSteps(limits));
  }

  /** Each step must be a change of its own (`TableMemory.whole`). */
  *shareInSteps(limits: readonly Limit[]): Steps<void> {
    const named = new Set<number>();
    const global = new Set<number>();
    const inForce = new Map<number, Pick<PartitionCounts, 'bucket' | 'role'>>();
    for (const limit of limits) {
      const partition = this.of(limit);
      (limit.role === 'global' ? global : named).add(partition);
      inForce.set(partition, { bucket: limit.bucket, role: limit.role });
      yield;
    }
    this.#inForce = inForce;
    const part = Math.floor(this.#capacity / RESERVED_PART);
    for (let partition = 0; partition < this.#table.used; partition++) {
      let reserved = 0;
      if (named.has(partition)) reserved = Math.floor(part / named.size);
      if (global.has(partition)) reserved = Math.floor(part / global.size);
      this.#reserve(partition, reserved);
      this.#memory.keep();
      yield;
    }
  }

  /** Forgets all empty partitions except these. */
  retain(kept: ReadonlySet<number>): void {
    for (let partition = 0; partition < this.#table.used; partition++) {
      if (kept.has(partition) || this.size(partition) > 0 || !this.#table.isHeld(partition)) continue;
      this.#reserve(partition, 0);
      this.#table.drop(partition);
      this.#memory.keep();
    }
  }

  size(partition: number): number {
    let size = 0;
    for (let compartment = 0; compartment < COMPARTMENTS; compartment++)
      size += this.#read(partition, SIZES + compartment);
    return size;
  }

  reserved(partition: number): number {
    return this.#read(partition, RESERVED);
  }

  /** How many counters all partitions together may hold beyond their reserves. */
  get lendable(): number {
    return this.#capacity - (this.#all.ints[ALL_RESERVED] ?? 0);
  }

  /** The counter examined next for eviction; -1 while there are none. */
  hand(partition: number): number {
    return this.#read(partition, HAND) - 1;
  }

  setHand(partition: number, counter: number): void {
    this.#table.records.set(partition * WIDTH + HAND, counter + 1);
  }

  mayGrow(partition: number, compartment: number): boolean {
    if (this.#read(partition, SIZES + compartment) < this.#roomOf(partition, compartment)) return true;
    return (this.#all.ints[LENT] ?? 0) < this.lendable;
  }

  /** Whether a compartment holds more than is reserved for it. */
  isLent(partition: number, compartment: number): boolean {
    return this.#read(partition, SIZES + compartment) > this.#roomOf(partition, compartment);
  }

  grew(partition: number, compartment: number): void {
    const size = this.#table.records.add(partition * WIDTH + SIZES + compartment, 1);
    if (size > this.#roomOf(partition, compartment)) this.#all.add(LENT, 1);
  }

  shrank(partition: number, compartment: number): void {
    const size = this.#table.records.add(partition * WIDTH + SIZES + compartment, -1);
    if (size >= this.#roomOf(partition, compartment)) this.#all.add(LENT, -1);
  }

  countEviction(partition: number): void {
    this.#table.records.addFloat((partition * WIDTH + EVICTIONS) >> 1, 1);
    this.#all.addFloat(ALL_EVICTIONS, 1);
  }

  countOverflow(partition: number): void {
    this.#table.records.addFloat((partition * WIDTH + OVERFLOWS) >> 1, 1);
    this.#all.addFloat(ALL_OVERFLOWS, 1);
  }

  /** Counts a request beyond the maximum of its caller or, if `ofNetwork`, of its network. */
  countOtherParts(partition: number, ofNetwork: boolean): void {
    const word = ofNetwork ? OF_NETWORKS : OF_CALLERS;
    this.#table.records.addFloat((partition * WIDTH + word) >> 1, 1);
  }

  /** The partition that exceeds its reserve the most, or -1: after a reload, others may need that room. */
  get mostLent(): number {
    let most = -1;
    let lent = 0;
    for (let partition = 0; partition < this.#table.used; partition++) {
      const own = this.#lentTo(partition);
      if (own <= lent) continue;
      most = partition;
      lent = own;
    }
    return most;
  }

  /** Keys evicted before their Reset, and decisions by overflow counters, in all partitions. */
  get totals(): Pick<PartitionCounts, 'evictions' | 'overflows'> {
    const { floats } = this.#all;
    return { evictions: floats[ALL_EVICTIONS] ?? 0, overflows: floats[ALL_OVERFLOWS] ?? 0 };
  }

  /** What the partitions of the current configuration hold. */
  get counts(): PartitionCounts[] {
    return [...this.#inForce].map(([partition, names]) => ({ ...names, ...this.countsOf(partition) }));
  }

  countsOf(partition: number): Omit<PartitionCounts, 'bucket' | 'role'> & { readonly reserved: number } {
    const { floats } = this.#table;
    return {
      size: this.size(partition),
      reserved: this.#read(partition, RESERVED),
      evictions: floats[(partition * WIDTH + EVICTIONS) >> 1] ?? 0,
      overflows: floats[(partition * WIDTH + OVERFLOWS) >> 1] ?? 0,
      ofCallers: floats[(partition * WIDTH + OF_CALLERS) >> 1] ?? 0,
      ofNetworks: floats[(partition * WIDTH + OF_NETWORKS) >> 1] ?? 0,
    };
  }

  #reserve(partition: number, reserved: number): void {
    const before = this.#read(partition, RESERVED);
    if (before === reserved) return;
    const lentBefore = this.#lentTo(partition);
    this.#table.records.set(partition * WIDTH + RESERVED, reserved);
    this.#all.add(LENT, this.#lentTo(partition) - lentBefore);
    this.#all.add(ALL_RESERVED, reserved - before);
  }

  /** How many counters are reserved for a compartment. */
  #roomOf(partition: number, compartment: number): number {
    if (compartment === BORROWED) return 0;
    const reserved = this.#read(partition, RESERVED);
    const ofStandIns = this.#hasStandIns ? Math.floor(reserved / STAND_IN_PART) : 0;
    return compartment === STAND_IN ? ofStandIns : reserved - ofStandIns;
  }

  /** How many counters a partition holds beyond what is reserved for its compartments. */
  #lentTo(partition: number): number {
    let lent = 0;
    for (let compartment = 0; compartment < COMPARTMENTS; compartment++)
      lent += Math.max(0, this.#read(partition, SIZES + compartment) - this.#roomOf(partition, compartment));
    return lent;
  }

  #read(partition: number, word: number): number {
    return this.#table.ints[partition * WIDTH + word] ?? 0;
  }
}

import type { TableMemory, Words } from '../../core/index.ts';
import { CallerTable, type NetworkOf } from './caller-table.ts';
import { type Counter, newCounter } from './counter.ts';
import { Partitions } from './partitions.ts';
import { RecordTable, StringHash } from './record-table.ts';

// The words of a record: 48 bytes, less than a cache line.
const WIDTH = 12;
/** The number of the keyspace: 0 in a free record, negative for a counter that all callers share. */
const KEYSPACE = 1;
/** The number of the caller that the counter belongs to, or, if all callers share it, of the caller that opened it. */
const CALLER = 2;
const PART_LOW = 3;
const PART_HIGH = 4;
/** Where the counter itself begins: an odd word, so that its floats begin at even ones. */
const COUNTER = 5;
// The neighbours in the ring of its partition.
const LEFT = 10;
const RIGHT = 11;

// The words of a counter, in whatever record.
/** The count, and the bit `EXHAUSTED`, which no count reaches: counts are units of a quota, 65,535 at most. */
const COUNT = 0;
const RESET = 1;
const MARK = 3;
export const COUNTER_WORDS = 5;

const EXHAUSTED = 2 ** 30;

/** `start`: the first word of the counter, an odd number. */
export function loadCounter({ ints, floats }: Words, start: number, counter: Counter): void {
  counter.resetMs = floats[(start + RESET) >> 1] ?? 0;
  counter.markMs = floats[(start + MARK) >> 1] ?? 0;
  const count = ints[start + COUNT] ?? 0;
  counter.count = count & ~EXHAUSTED;
  counter.exhausted = (count & EXHAUSTED) !== 0;
}

export function saveCounter(words: Words, start: number, counter: Counter): void {
  words.setFloat((start + RESET) >> 1, counter.resetMs);
  words.setFloat((start + MARK) >> 1, counter.markMs);
  words.set(start + COUNT, counter.exhausted ? counter.count | EXHAUSTED : counter.count);
}

/** A keyspace's number has 15 bits for the keyspace, from 1 on, below those for its partition. */
const KEYSPACE_BITS = 15;
const MAX_KEYSPACES = 2 ** KEYSPACE_BITS - 1;
const MIN_KEYSPACES = 8_192;
const COUNTERS_PER_KEYSPACE = 8;

/** How many keyspaces, and how many partitions, a table with room for so many counters has room for. */
export function mostKeyspaces(counters: number): number {
  return Math.min(MAX_KEYSPACES, Math.max(MIN_KEYSPACES, Math.ceil(counters / COUNTERS_PER_KEYSPACE)));
}

/**
 * The most limits that a configuration may have beside so many counters. While threads reload one after the other, those of two
 * configurations have room: else each thread would forget those of the other, with their counters, again and again.
 */
export function mostLimits(counters: number): number {
  return Math.floor(mostKeyspaces(counters) / 2);
}

export function keyspaceNumber(partition: number, place: number): number {
  return (partition << KEYSPACE_BITS) | (place + 1);
}

export function partitionOf(keyspace: number): number {
  return Math.abs(keyspace) >> KEYSPACE_BITS;
}

export function placeOfKeyspace(number: number): number {
  return (Math.abs(number) & MAX_KEYSPACES) - 1;
}

/** A counter with its key, as numbers. */
export interface CounterRow {
  /** The hash of the caller that has it or, if all callers share it, that opened it. */
  callerLow: number;
  callerHigh: number;
  /** The place of that caller's network; 0 if it has none. */
  network: number;
  partLow: number;
  partHigh: number;
  /** Whether all callers share it. */
  isShared: boolean;
  /** Whether some caller has it, or opened it. */
  isOpened: boolean;
  readonly counter: Counter;
}

export function newRow(): CounterRow {
  const caller = { callerLow: 0, callerHigh: 0, network: 0 };
  return { ...caller, partLow: 0, partHigh: 0, isShared: false, isOpened: false, counter: newCounter() };
}

/** How many records a decision checks for expired counters, so that each pays for its share of the cleaning and no more. */
const SWEPT_RECORDS = 4;
/** How many counters are checked to find one to evict. */
const EVICTION_RECORDS = 16;
/** How many records are checked for expired counters when a new one finds no room, and in one step of a sweep. */
const EXPIRED_RECORDS = 16;
/** A decision uses no more records than this. */
const MAX_IN_USE = 5;
const UNUSED = newCounter();
/** The caller of a counter that all callers share, or that nobody in particular has opened. */
const NOBODY = -1;

/**
 * The counters of a store. A counter's key has three parts: the keyspace (which limit), the caller (null if all share it) and the
 * part (the main value, or empty). They are looked up separately, so no key string is ever built; callers and parts are kept as
 * hashes.
 *
 * The table is bounded, and so is each of its partitions (`Partitions`). Where a partition may not grow, a new counter replaces an
 * expired one or, among the next few under the partition's rotating hand, the one nearest its Reset; never an exhausted one, and
 * never one of another partition. Another hand goes round all records to find expired counters, so no timers are needed.
 */
export class CounterTable {
  readonly partitions: Partitions;
  readonly capacity: number;
  readonly #memory: TableMemory;
  readonly #callers: CallerTable;
  readonly #table: RecordTable;
  readonly #partHash: StringHash;
  #hand = 0;
  #nowMs = 0;
  readonly #inUse = new Int32Array(MAX_IN_USE);
  #inUseCount = 0;

  /**
   * @param name tells the tables of shared memory apart
   * @param capacity most counters held. Reserves up to 90 bytes for each at once; the system commits pages as they are used
   */
  constructor(memory: TableMemory, name: string, capacity: number, networkOf: NetworkOf = () => null) {
    this.capacity = capacity;
    this.#memory = memory;
    this.partitions = new Partitions(memory, name, capacity, mostKeyspaces(capacity));
    this.#callers = new CallerTable(memory, `${name} callers`, capacity, networkOf);
    this.#table = new RecordTable(memory, name, capacity, WIDTH);
    this.#partHash = StringHash.withRandomKey(memory, name);
  }

  get size(): number {
    return this.#table.size;
  }

  get callers(): number {
    return this.#callers.size;
  }

  /** Starts a decision: cleans a little and releases the records that the last decision used. */
  begin(nowMs: number): void {
    this.#nowMs = nowMs;
    this.#inUseCount = 0;
    this.#freeExpired(SWEPT_RECORDS);
  }

  /** Checks this many records and frees the expired ones. For a timer, for when no requests come. */
  sweep(nowMs: number, records: number): void {
    this.#nowMs = nowMs;
    this.#inUseCount = 0;
    for (let left = Math.min(records, this.#table.used); left > 0; left -= EXPIRED_RECORDS) {
      this.#freeExpired(Math.min(left, EXPIRED_RECORDS));
      this.#memory.keep();
    }
  }

  #freeExpired(records: number): void {
    for (let left = Math.min(records, this.#table.used); left > 0; left--) {
      const at = this.#turn();
      if (this.#isHeld(at) && this.#isOver(at) && !this.#isInUse(at)) this.#giveBack(at);
    }
  }

  /** Returns the number of a counter, or -1. It is valid until the next `begin`. `keyspace`: from 1 on. */
  find(keyspace: number, caller: string | null, part: string): number {
    const callerAt = caller === null ? NOBODY : this.#callers.find(caller);
    if (caller !== null && callerAt < 0) return -1;
    this.#partHash.read(part);
    const { low, high } = this.#partHash;
    return this.#findRow(keyspace, caller === null, callerAt, low, high);
  }

  #findRow(keyspace: number, isShared: boolean, callerAt: number, low: number, high: number): number {
    const kept = isShared ? -keyspace : keyspace;
    const table = this.#table;
    const { ints } = table;
    for (
      let at = table.first(placeOf(keyspace, isShared ? NOBODY : callerAt, low));
      at >= 0;
      at = table.after(at)
    ) {
      const word = at * WIDTH;
      if (
        ints[word + PART_LOW] === low &&
        ints[word + PART_HIGH] === high &&
        ints[word + KEYSPACE] === kept &&
        (isShared || ints[word + CALLER] === callerAt)
      ) {
        return this.#use(at);
      }
    }
    return -1;
  }

  /**
   * Creates a counter, evicting another of its partition if need be; -1 if none can be evicted. Only for a key that `find` did not
   * find. `opener`: the caller that a counter of all callers is counted for; `null` if there is none.
   */
  open(keyspace: number, caller: string | null, part: string, opener = caller): number {
    if (!this.#makeRoom(partitionOf(keyspace))) return -1;
    const openerAt = opener === null ? NOBODY : this.#callers.findOrEnter(opener);
    this.#partHash.read(part);
    const { low, high } = this.#partHash;
    return this.#openRow(keyspace, caller === null, openerAt, low, high);
  }

  #openRow(keyspace: number, isShared: boolean, openerAt: number, low: number, high: number): number {
    if (openerAt >= 0) this.#callers.addCounter(openerAt, low !== 0 || high !== 0);
    const at = this.#table.take(placeOf(keyspace, isShared ? NOBODY : openerAt, low));
    const { records } = this.#table;
    const word = at * WIDTH;
    records.set(word + KEYSPACE, isShared ? -keyspace : keyspace);
    records.set(word + CALLER, openerAt);
    records.set(word + PART_LOW, low);
    records.set(word + PART_HIGH, high);
    saveCounter(records, word + COUNTER, UNUSED);
    this.#join(at);
    return this.#use(at);
  }

  /** The number of the keyspace of a record, negative if all callers share its counter; 0 if it is free. */
  keyspaceAt(record: number): number {
    return this.#table.ints[record * WIDTH + KEYSPACE] ?? 0;
  }

  /** How many records were ever held: those from this number on are free. */
  get used(): number {
    return this.#table.used;
  }

  /** Reads a held record. */
  readRow(record: number, row: CounterRow): void {
    const { ints } = this.#table;
    const word = record * WIDTH;
    const openerAt = ints[word + CALLER] ?? NOBODY;
    row.isShared = this.keyspaceAt(record) < 0;
    row.isOpened = openerAt >= 0;
    [row.callerLow, row.callerHigh] = row.isOpened ? this.#callers.hashOf(openerAt) : [0, 0];
    row.network = row.isOpened ? this.#callers.networkAt(openerAt) : 0;
    row.partLow = ints[word + PART_LOW] ?? 0;
    row.partHigh = ints[word + PART_HIGH] ?? 0;
    this.load(record, row.counter);
  }

  /** Puts a counter back that `readRow` has read, in this table or in one with the same hash keys. False if there is no room. */
  restore(keyspace: number, row: CounterRow, nowMs: number): boolean {
    this.begin(nowMs);
    const { partLow, partHigh, isShared } = row;
    if (!this.#makeRoom(partitionOf(keyspace))) return false;
    const { callerLow, callerHigh, network } = row;
    const openerAt = row.isOpened ? this.#callers.findOrEnterHash(callerLow, callerHigh, network) : NOBODY;
    const found = this.#findRow(keyspace, isShared, openerAt, partLow, partHigh);
    const at = found >= 0 ? found : this.#openRow(keyspace, isShared, openerAt, partLow, partHigh);
    this.save(at, row.counter);
    return true;
  }

  /** Undoes `open`. */
  close(at: number): void {
    this.#giveBack(at);
  }

  /** Frees all counters that a caller has in these keyspaces. Looks at every record: not for requests. */
  release(keyspaces: ReadonlySet<number>, caller: string): void {
    const callerAt = this.#callers.find(caller);
    if (callerAt < 0) return;
    const { ints } = this.#table;
    this.#releaseIf(word => ints[word + CALLER] === callerAt && keyspaces.has(ints[word + KEYSPACE] ?? 0));
  }

  /** Frees all counters of the keyspaces at these places. */
  releaseAll(places: ReadonlySet<number>): void {
    const { ints } = this.#table;
    this.#releaseIf(word => places.has(placeOfKeyspace(ints[word + KEYSPACE] ?? 0)));
  }

  #releaseIf(isMeant: (word: number) => boolean): void {
    for (let at = 0; at < this.#table.used; at++) {
      if (!this.#isHeld(at) || !isMeant(at * WIDTH)) continue;
      this.#giveBack(at);
      this.#memory.keep();
    }
  }

  /** How many counters for main values this caller holds, including those that it opened for all callers. */
  partsOf(caller: string): number {
    const at = this.#callers.find(caller);
    return at < 0 ? 0 : this.#callers.parts(at);
  }

  /** Returns the caller, or the name of its network, if that holds all the counters for main values that it may; else `null`. */
  sharerFor(caller: string, maxParts: number): string | null {
    return this.#callers.sharerFor(caller, maxParts);
  }

  load(at: number, counter: Counter): void {
    loadCounter(this.#table.records, at * WIDTH + COUNTER, counter);
  }

  save(at: number, counter: Counter): void {
    saveCounter(this.#table.records, at * WIDTH + COUNTER, counter);
  }

  #use(at: number): number {
    this.#inUse[this.#inUseCount++ % MAX_IN_USE] = at;
    return at;
  }

  /** The record under the hand, which moves on. */
  #turn(): number {
    if (this.#hand >= this.#table.used) this.#hand = 0;
    return this.#hand++;
  }

  /** Whether this partition may take one more record, if need be in place of another. */
  #makeRoom(partition: number): boolean {
    if (!this.#hasRoom(partition)) this.#freeExpired(EXPIRED_RECORDS);
    if (this.#hasRoom(partition)) return true;
    if (!this.partitions.mayGrow(partition)) return this.#evictFrom(partition);
    // After a reload, another partition may still hold the room that is reserved for this one: in a full table, some partition holds
    // more than its part, since all parts together are half of it.
    return this.#evictFrom(this.partitions.mostLent);
  }

  #hasRoom(partition: number): boolean {
    return this.#table.size < this.#table.capacity && this.partitions.mayGrow(partition);
  }

  #evictFrom(partition: number): boolean {
    const { ints } = this.#table;
    let nearest = -1;
    let hand = this.partitions.hand(partition);
    for (let left = Math.min(EVICTION_RECORDS, this.partitions.size(partition)); left > 0; left--) {
      const at = hand;
      hand = ints[at * WIDTH + RIGHT] ?? -1;
      if (!this.#canGiveWay(at)) continue;
      if (nearest < 0 || this.#resetOf(at) < this.#resetOf(nearest)) nearest = at;
      if (this.#isOver(at)) break;
    }
    this.partitions.setHand(partition, hand);
    if (nearest < 0) return false;
    if (!this.#isOver(nearest)) this.partitions.countEviction(partition);
    this.#giveBack(nearest);
    return true;
  }

  #canGiveWay(at: number): boolean {
    if (this.#isInUse(at)) return false;
    return ((this.#table.ints[at * WIDTH + COUNTER + COUNT] ?? 0) & EXHAUSTED) === 0 || this.#isOver(at);
  }

  #isInUse(at: number): boolean {
    for (let i = 0; i < this.#inUseCount; i++) if (this.#inUse[i] === at) return true;
    return false;
  }

  #isHeld(at: number): boolean {
    return this.#table.ints[at * WIDTH + KEYSPACE] !== 0;
  }

  #isOver(at: number): boolean {
    return this.#nowMs >= this.#resetOf(at);
  }

  #resetOf(at: number): number {
    return this.#table.floats[(at * WIDTH + COUNTER + RESET) >> 1] ?? 0;
  }

  #giveBack(at: number): void {
    const { ints, records } = this.#table;
    const word = at * WIDTH;
    const keyspace = ints[word + KEYSPACE] ?? 0;
    const openerAt = ints[word + CALLER] ?? NOBODY;
    const low = ints[word + PART_LOW] ?? 0;
    const ofPart = low !== 0 || ints[word + PART_HIGH] !== 0;
    if (openerAt >= 0) this.#callers.removeCounter(openerAt, ofPart);
    this.#leave(at);
    records.set(word + KEYSPACE, 0);
    this.#table.giveBack(at, placeOf(Math.abs(keyspace), keyspace < 0 ? NOBODY : openerAt, low));
  }

  /** Puts a record where the hand of its partition comes last. */
  #join(at: number): void {
    const { ints, records } = this.#table;
    const word = at * WIDTH;
    const partition = partitionOf(ints[word + KEYSPACE] ?? 0);
    const hand = this.partitions.hand(partition);
    const right = hand < 0 ? at : hand;
    const left = hand < 0 ? at : (ints[right * WIDTH + LEFT] ?? at);
    if (hand < 0) this.partitions.setHand(partition, at);
    records.set(word + LEFT, left);
    records.set(word + RIGHT, right);
    records.set(left * WIDTH + RIGHT, at);
    records.set(right * WIDTH + LEFT, at);
    this.partitions.grew(partition);
  }

  #leave(at: number): void {
    const { ints, records } = this.#table;
    const word = at * WIDTH;
    const partition = partitionOf(ints[word + KEYSPACE] ?? 0);
    const left = ints[word + LEFT] ?? at;
    const right = ints[word + RIGHT] ?? at;
    records.set(left * WIDTH + RIGHT, right);
    records.set(right * WIDTH + LEFT, left);
    if (this.partitions.hand(partition) === at) this.partitions.setHand(partition, right === at ? -1 : right);
    this.partitions.shrank(partition);
  }
}

function placeOf(keyspace: number, callerAt: number, partLow: number): number {
  let place = Math.imul(partLow ^ Math.imul(callerAt, 0x9e3779b1), 0x85ebca6b);
  place ^= Math.imul(keyspace, 0xc2b2ae35);
  return Math.imul(place ^ (place >>> 15), 0x27d4eb2f) ^ (place >>> 13);
}

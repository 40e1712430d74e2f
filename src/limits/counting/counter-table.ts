import { CallerTable } from './caller-table.ts';
import type { Counter } from './counter.ts';
import { RecordTable } from './record-table.ts';
import { StringHash } from './string-hash.ts';

// Words of a record: 48 bytes, less than a cache line.
const WIDTH = 12;
/** 0 marks a free record. */
const SPACE = 2;
const CALLER = 3;
const PART_LOW = 4;
const PART_HIGH = 5;
const RESET = 6;
const MARK = 8;
const COUNT = 10;
const EXHAUSTED = 11;

/** Records checked for expired counters at each decision, so that each key pays for its share of the cleaning and no more. */
const SWEPT_RECORDS = 4;
/** Records checked to find one to evict. */
const EVICTION_RECORDS = 16;
/** A decision uses no more records than this. */
const MAX_IN_USE = 4;
/** Stands for the caller in a counter that all callers share. */
const NOBODY = -1;

/**
 * The counters of a store. A counter's key has three parts: the space (which limit), the caller (null if all share it) and the
 * part (the main value, or empty). They are looked up separately, so no key string is ever built; callers and parts are kept as
 * hashes.
 *
 * Bounded: when the table is full, a new counter replaces an expired one or, among the next few under a rotating hand, the one
 * nearest its Reset; never an exhausted one. The same hand finds expired counters, so no timers are needed.
 */
export class CounterTable {
  readonly #callers: CallerTable;
  readonly #table: RecordTable;
  readonly #partHash: StringHash;
  #hand = 0;
  #nowMs = 0;
  #evictions = 0;
  readonly #inUse = new Int32Array(MAX_IN_USE);
  #inUseCount = 0;

  /** `capacity`: most counters held. Reserves up to 90 bytes for each at once; the system commits pages as they are used. */
  constructor(capacity: number) {
    this.#callers = new CallerTable(capacity, StringHash.withRandomKey());
    this.#table = new RecordTable(capacity, WIDTH);
    this.#partHash = StringHash.withRandomKey();
  }

  get size(): number {
    return this.#table.size;
  }

  get callers(): number {
    return this.#callers.size;
  }

  /** Counters evicted before their Reset, since the start: what was drawn on them is forgotten. */
  get evictions(): number {
    return this.#evictions;
  }

  /** Starts a decision: cleans a little and releases the records that the last decision used. */
  begin(nowMs: number): void {
    this.#inUseCount = 0;
    this.sweep(nowMs, SWEPT_RECORDS);
  }

  /** Checks this many records and frees the expired ones. Also called from a timer, for when no requests come. */
  sweep(nowMs: number, records: number): void {
    this.#nowMs = nowMs;
    for (let left = Math.min(records, this.#table.used); left > 0; left--) {
      const at = this.#turn();
      if (this.#isHeld(at) && this.#isOver(at)) this.#giveBack(at);
    }
  }

  /** The number of a counter, or -1. Valid until the next `begin`. `space`: from 1 on. */
  find(space: number, caller: string | null, part: string): number {
    const callerAt = caller === null ? NOBODY : this.#callers.find(caller);
    if (caller !== null && callerAt < 0) return -1;
    this.#partHash.read(part);
    const { low, high } = this.#partHash;
    const hash = placeOf(space, callerAt, low);
    const table = this.#table;
    const { ints } = table;
    for (let at = table.first(hash); at >= 0; at = table.after(at)) {
      const word = at * WIDTH;
      if (
        table.hasHash(at, hash) &&
        ints[word + SPACE] === space &&
        ints[word + CALLER] === callerAt &&
        ints[word + PART_LOW] === low &&
        ints[word + PART_HIGH] === high
      ) {
        return this.#use(at);
      }
    }
    return -1;
  }

  /** Creates a counter, evicting another if need be; -1 if none can be evicted. Only for a key that `find` did not find. */
  open(space: number, caller: string | null, part: string): number {
    if (this.#table.size === this.#table.capacity && !this.#makeRoom()) return -1;
    const callerAt = caller === null ? NOBODY : this.#callers.findOrEnter(caller);
    if (callerAt >= 0) this.#callers.addCounter(callerAt, part !== '');
    this.#partHash.read(part);
    const { low, high } = this.#partHash;
    const at = this.#table.take(placeOf(space, callerAt, low));
    const { ints, floats } = this.#table;
    const word = at * WIDTH;
    ints[word + SPACE] = space;
    ints[word + CALLER] = callerAt;
    ints[word + PART_LOW] = low;
    ints[word + PART_HIGH] = high;
    floats[(word + RESET) >> 1] = 0;
    floats[(word + MARK) >> 1] = 0;
    ints[word + COUNT] = 0;
    ints[word + EXHAUSTED] = 0;
    return this.#use(at);
  }

  /** Undoes `open`. */
  close(at: number): void {
    this.#giveBack(at);
  }

  /** Frees all counters that a caller has in these spaces. Looks at every record: not for requests. */
  release(spaces: ReadonlySet<number>, caller: string): void {
    const callerAt = this.#callers.find(caller);
    if (callerAt < 0) return;
    const { ints } = this.#table;
    for (let at = 0; at < this.#table.used; at++) {
      const word = at * WIDTH;
      if (ints[word + CALLER] === callerAt && spaces.has(ints[word + SPACE] ?? 0)) this.#giveBack(at);
    }
  }

  /** How many counters for main values this caller holds. */
  partsOf(caller: string): number {
    const at = this.#callers.find(caller);
    return at < 0 ? 0 : this.#callers.parts(at);
  }

  load(at: number, counter: Counter): void {
    const { ints, floats } = this.#table;
    const word = at * WIDTH;
    counter.resetMs = floats[(word + RESET) >> 1] ?? 0;
    counter.markMs = floats[(word + MARK) >> 1] ?? 0;
    counter.count = ints[word + COUNT] ?? 0;
    counter.exhausted = ints[word + EXHAUSTED] === 1;
  }

  save(at: number, counter: Counter): void {
    const { ints, floats } = this.#table;
    const word = at * WIDTH;
    floats[(word + RESET) >> 1] = counter.resetMs;
    floats[(word + MARK) >> 1] = counter.markMs;
    ints[word + COUNT] = counter.count;
    ints[word + EXHAUSTED] = counter.exhausted ? 1 : 0;
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

  #makeRoom(): boolean {
    let nearest = -1;
    for (let left = Math.min(EVICTION_RECORDS, this.#table.used); left > 0; left--) {
      const at = this.#turn();
      if (!this.#canGiveWay(at)) continue;
      if (nearest < 0 || this.#resetOf(at) < this.#resetOf(nearest)) nearest = at;
      if (this.#isOver(at)) break;
    }
    if (nearest < 0) return false;
    if (!this.#isOver(nearest)) this.#evictions++;
    this.#giveBack(nearest);
    return true;
  }

  #canGiveWay(at: number): boolean {
    if (!this.#isHeld(at)) return false;
    for (let i = 0; i < this.#inUseCount; i++) if (this.#inUse[i] === at) return false;
    return this.#table.ints[at * WIDTH + EXHAUSTED] === 0 || this.#isOver(at);
  }

  #isHeld(at: number): boolean {
    return this.#table.ints[at * WIDTH + SPACE] !== 0;
  }

  #isOver(at: number): boolean {
    return this.#nowMs >= this.#resetOf(at);
  }

  #resetOf(at: number): number {
    return this.#table.floats[(at * WIDTH + RESET) >> 1] ?? 0;
  }

  #giveBack(at: number): void {
    const { ints } = this.#table;
    const word = at * WIDTH;
    const callerAt = ints[word + CALLER] ?? NOBODY;
    const ofPart = ints[word + PART_LOW] !== 0 || ints[word + PART_HIGH] !== 0;
    if (callerAt >= 0) this.#callers.removeCounter(callerAt, ofPart);
    ints[word + SPACE] = 0;
    this.#table.giveBack(at);
  }
}

function placeOf(space: number, callerAt: number, partLow: number): number {
  let place = Math.imul(partLow ^ Math.imul(callerAt, 0x9e3779b1), 0x85ebca6b);
  place ^= Math.imul(space, 0xc2b2ae35);
  return Math.imul(place ^ (place >>> 15), 0x27d4eb2f) ^ (place >>> 13);
}

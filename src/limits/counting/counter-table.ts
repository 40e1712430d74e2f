import type { Counter } from './counter.ts';
import { CallerTable, type NetworkOf, RecordTable, type Space } from './record-table.ts';
import { type Section, Sections } from './sections.ts';
import { StringHash } from './string-hash.ts';

// Words of a record: 48 bytes, less than a cache line.
const WIDTH = 12;
/** 0 marks a free record; negative: the counter is one that all callers share. */
const SPACE = 1;
/** The caller that the counter belongs to; of one that all callers share, the caller that opened it. */
const CALLER = 2;
const PART_LOW = 3;
const PART_HIGH = 4;
/** Together with `EXHAUSTED`, a bit that no count reaches: counts are units of a quota, 65,535 at most. */
const COUNT = 5;
const RESET = 6;
const MARK = 8;
// The neighbours in the ring of its section.
const LEFT = 10;
const RIGHT = 11;

const EXHAUSTED = 2 ** 30;

/** Records checked for expired counters at each decision, so that each key pays for its share of the cleaning and no more. */
const SWEPT_RECORDS = 4;
/** Counters checked to find one to evict. */
const EVICTION_RECORDS = 16;
/** Records checked for expired counters while a new one finds no room. */
const EXPIRED_RECORDS = 16;
/** A decision uses no more records than this. */
const MAX_IN_USE = 4;
/** Stands for the caller in the place of a counter that all callers share, or that nobody in particular has opened. */
const NOBODY = -1;

/**
 * The counters of a store. A counter's key has three parts: the space (which limit), the caller (null if all share it) and the
 * part (the main value, or empty). They are looked up separately, so no key string is ever built; callers and parts are kept as
 * hashes.
 *
 * Bounded, and each section for itself (`Sections`): where one may not grow, a new counter replaces an expired one or, among the
 * next few under the section's rotating hand, the one nearest its Reset; never an exhausted one, and never one of another
 * section. Another hand goes round all records to find expired counters, so no timers are needed.
 */
export class CounterTable {
  readonly sections: Sections;
  readonly #callers: CallerTable;
  readonly #table: RecordTable;
  readonly #partHash: StringHash;
  /** By number of the space. */
  readonly #sectionOf: Section[] = [];
  #hand = 0;
  #nowMs = 0;
  readonly #inUse = new Int32Array(MAX_IN_USE);
  #inUseCount = 0;

  /** `capacity`: most counters held. Reserves up to 90 bytes for each at once; the system commits pages as they are used. */
  constructor(capacity: number, networkOf: NetworkOf = () => null) {
    this.sections = new Sections(capacity);
    this.#callers = new CallerTable(capacity, networkOf);
    this.#table = new RecordTable(capacity, WIDTH);
    this.#partHash = StringHash.withRandomKey();
  }

  get size(): number {
    return this.#table.size;
  }

  get callers(): number {
    return this.#callers.size;
  }

  /** Starts a decision: cleans a little and releases the records that the last decision used. */
  begin(nowMs: number): void {
    this.sweep(nowMs, SWEPT_RECORDS);
  }

  /** Checks this many records and frees the expired ones. Also called from a timer, for when no requests come. */
  sweep(nowMs: number, records: number): void {
    this.#nowMs = nowMs;
    this.#inUseCount = 0;
    this.#freeExpired(records);
  }

  #freeExpired(records: number): void {
    for (let left = Math.min(records, this.#table.used); left > 0; left--) {
      const at = this.#turn();
      if (this.#isHeld(at) && this.#isOver(at) && !this.#isInUse(at)) this.#giveBack(at);
    }
  }

  /** The number of a counter, or -1. Valid until the next `begin`. `space`: from 1 on. */
  find(space: number, caller: string | null, part: string): number {
    const callerAt = caller === null ? NOBODY : this.#callers.find(caller);
    if (caller !== null && callerAt < 0) return -1;
    this.#partHash.read(part);
    const { low, high } = this.#partHash;
    const isShared = caller === null;
    const kept = isShared ? -space : space;
    const table = this.#table;
    const { ints } = table;
    for (let at = table.first(placeOf(space, callerAt, low)); at >= 0; at = table.after(at)) {
      const word = at * WIDTH;
      if (
        ints[word + PART_LOW] === low &&
        ints[word + PART_HIGH] === high &&
        ints[word + SPACE] === kept &&
        (isShared || ints[word + CALLER] === callerAt)
      ) {
        return this.#use(at);
      }
    }
    return -1;
  }

  /**
   * Creates a counter, evicting another of its section if need be; -1 if none can be evicted. Only for a key that `find` did not
   * find. `opener`: on whose account a counter goes that all callers share; null: on nobody's.
   */
  open(space: Space, caller: string | null, part: string, opener = caller): number {
    const { section, number } = space;
    if (!this.#makeRoom(section)) return -1;
    const openerAt = opener === null ? NOBODY : this.#callers.findOrEnter(opener);
    if (openerAt >= 0) this.#callers.addCounter(openerAt, part !== '');
    this.#partHash.read(part);
    const { low, high } = this.#partHash;
    const isShared = caller === null;
    const at = this.#table.take(placeOf(number, isShared ? NOBODY : openerAt, low));
    const { ints, floats } = this.#table;
    const word = at * WIDTH;
    ints[word + SPACE] = isShared ? -number : number;
    ints[word + CALLER] = openerAt;
    ints[word + PART_LOW] = low;
    ints[word + PART_HIGH] = high;
    floats[(word + RESET) >> 1] = 0;
    floats[(word + MARK) >> 1] = 0;
    ints[word + COUNT] = 0;
    this.#sectionOf[number] = section;
    this.#join(at, section);
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

  /** How many counters for main values this caller holds, those included that it opened for all callers. */
  partsOf(caller: string): number {
    const at = this.#callers.find(caller);
    return at < 0 ? 0 : this.#callers.parts(at);
  }

  /** The caller, or the name of its network, if that holds all the counters for main values that it may; else null. */
  sharerFor(caller: string, maxParts: number): string | null {
    return this.#callers.sharerFor(caller, maxParts);
  }

  load(at: number, counter: Counter): void {
    const { ints, floats } = this.#table;
    const word = at * WIDTH;
    counter.resetMs = floats[(word + RESET) >> 1] ?? 0;
    counter.markMs = floats[(word + MARK) >> 1] ?? 0;
    const count = ints[word + COUNT] ?? 0;
    counter.count = count & ~EXHAUSTED;
    counter.exhausted = (count & EXHAUSTED) !== 0;
  }

  save(at: number, counter: Counter): void {
    const { ints, floats } = this.#table;
    const word = at * WIDTH;
    floats[(word + RESET) >> 1] = counter.resetMs;
    floats[(word + MARK) >> 1] = counter.markMs;
    ints[word + COUNT] = counter.exhausted ? counter.count | EXHAUSTED : counter.count;
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

  /** Whether this section may take one more record, if need be in place of another. */
  #makeRoom(section: Section): boolean {
    if (!this.#hasRoom(section)) this.#freeExpired(EXPIRED_RECORDS);
    if (this.#hasRoom(section)) return true;
    if (!this.sections.mayGrow(section)) return this.#evictFrom(section);
    // Since a reload, another holds what is reserved for this one.
    const other = this.sections.mostLent;
    return other !== null && this.#evictFrom(other);
  }

  #hasRoom(section: Section): boolean {
    return this.#table.size < this.#table.capacity && this.sections.mayGrow(section);
  }

  #evictFrom(section: Section): boolean {
    const { ints } = this.#table;
    let nearest = -1;
    for (let left = Math.min(EVICTION_RECORDS, section.size); left > 0; left--) {
      const at = section.hand;
      section.hand = ints[at * WIDTH + RIGHT] ?? -1;
      if (!this.#canGiveWay(at)) continue;
      if (nearest < 0 || this.#resetOf(at) < this.#resetOf(nearest)) nearest = at;
      if (this.#isOver(at)) break;
    }
    if (nearest < 0) return false;
    if (!this.#isOver(nearest)) section.evictions++;
    this.#giveBack(nearest);
    return true;
  }

  #canGiveWay(at: number): boolean {
    if (this.#isInUse(at)) return false;
    return ((this.#table.ints[at * WIDTH + COUNT] ?? 0) & EXHAUSTED) === 0 || this.#isOver(at);
  }

  #isInUse(at: number): boolean {
    for (let i = 0; i < this.#inUseCount; i++) if (this.#inUse[i] === at) return true;
    return false;
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
    const space = ints[word + SPACE] ?? 0;
    const openerAt = ints[word + CALLER] ?? NOBODY;
    const low = ints[word + PART_LOW] ?? 0;
    const ofPart = low !== 0 || ints[word + PART_HIGH] !== 0;
    if (openerAt >= 0) this.#callers.removeCounter(openerAt, ofPart);
    const section = this.#sectionOf[Math.abs(space)];
    if (section !== undefined) this.#leave(at, section);
    ints[word + SPACE] = 0;
    this.#table.giveBack(at, placeOf(Math.abs(space), space < 0 ? NOBODY : openerAt, low));
  }

  /** Puts a record where the hand of its section comes last. */
  #join(at: number, section: Section): void {
    const { ints } = this.#table;
    const word = at * WIDTH;
    const right = section.hand < 0 ? at : section.hand;
    const left = section.hand < 0 ? at : (ints[right * WIDTH + LEFT] ?? at);
    if (section.hand < 0) section.hand = at;
    ints[word + LEFT] = left;
    ints[word + RIGHT] = right;
    ints[left * WIDTH + RIGHT] = at;
    ints[right * WIDTH + LEFT] = at;
    this.sections.grew(section);
  }

  #leave(at: number, section: Section): void {
    const { ints } = this.#table;
    const left = ints[at * WIDTH + LEFT] ?? at;
    const right = ints[at * WIDTH + RIGHT] ?? at;
    ints[left * WIDTH + RIGHT] = right;
    ints[right * WIDTH + LEFT] = left;
    if (section.hand === at) section.hand = right === at ? -1 : right;
    this.sections.shrank(section);
  }
}

function placeOf(space: number, callerAt: number, partLow: number): number {
  let place = Math.imul(partLow ^ Math.imul(callerAt, 0x9e3779b1), 0x85ebca6b);
  place ^= Math.imul(space, 0xc2b2ae35);
  return Math.imul(place ^ (place >>> 15), 0x27d4eb2f) ^ (place >>> 13);
}

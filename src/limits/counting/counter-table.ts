import { NO_OWNERS, type TableMemory, type Words } from '../../core/index.ts';
import { CallerTable, type OwnersOf } from './caller-table.ts';
import { type Counter, newCounter } from './counter.ts';
import { LIMIT_ROLES, type Limit } from './limit-definition.ts';
import { NetworkShares } from './network-shares.ts';
import { BORROWED, ORDINARY, Partitions, STAND_IN } from './partitions.ts';
import { MAX_LIST } from './quota.ts';
import { RecordTable, StringHash } from './record-table.ts';

// Offsets of words in a record: 48 bytes, less than a cache line.
const WIDTH = 12;
/** The number of the keyspace: 0 in a free record, negative for a counter that all callers share. */
const KEYSPACE = 1;
/**
 * The number of the counter's caller, or, if all callers share the counter, of the one that opened it; in the bits above, the
 * compartment of the partition that it is in. Negative if nobody in particular opened it; then the compartment is the ordinary
 * one.
 */
const CALLER = 2;
const CALLER_BITS = 28;
const CALLER_MASK = 2 ** CALLER_BITS - 1;
const PART_LOW = 3;
const PART_HIGH = 4;
/** Where the counter itself begins: an odd word, so that its floats begin at even ones. */
const COUNTER = 5;
// The neighbours in the partition's ring.
const LEFT = 10;
const RIGHT = 11;

// Offsets of words in a counter, in any record.
/** The count, and the bit `EXHAUSTED`, which no count reaches (`MAX_COUNT`). */
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

/** A keyspace's number has 15 bits for the keyspace, from 1 on, and those above for its partition. */
const KEYSPACE_BITS = 15;
const MAX_KEYSPACES = 2 ** KEYSPACE_BITS - 1;
const MIN_KEYSPACES = 8_192;
const COUNTERS_PER_KEYSPACE = 8;

/** How many keyspaces and partitions a table for this many counters has room for. */
export function defaultMaxKeyspaces(counters: number): number {
  return Math.min(MAX_KEYSPACES, Math.max(MIN_KEYSPACES, Math.ceil(counters / COUNTERS_PER_KEYSPACE)));
}

/**
 * Maximum limits of a configuration with this many counters. Twice as many have room: while threads reload one after the other,
 * each would otherwise forget the other configuration's limits with their counters, again and again.
 */
export function mostLimits(counters: number): number {
  return limitCountOf(defaultMaxKeyspaces(counters));
}

/** Maximum limits of a configuration with this many keyspaces. */
export function limitCountOf(keyspaces: number): number {
  return Math.floor(keyspaces / 2);
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
  /** The hash of the caller that holds the counter or, if all callers share it, that opened it. */
  callerLow: number;
  callerHigh: number;
  /** The network of that caller (`CallerTable.networkAt`); 0 if it has none. */
  network: number;
  /** Whether it stands in for the callers of a network. */
  isStandIn: boolean;
  partLow: number;
  partHigh: number;
  isShared: boolean;
  /** Whether a caller holds or opened it. */
  isOpened: boolean;
  readonly counter: Counter;
}

export function newRow(): CounterRow {
  const caller = { callerLow: 0, callerHigh: 0, network: 0 };
  const flags = { isShared: false, isOpened: false, isStandIn: false };
  return { ...caller, partLow: 0, partHigh: 0, ...flags, counter: newCounter() };
}

/** How many records a decision checks for expired counters, so that each does its share of the cleaning and no more. */
const SWEPT_RECORDS = 4;
/** How many counters are checked to find one to evict. */
const EVICTION_RECORDS = 16;
/** How many records are checked for expired counters when there is no room for a new one, and in one step of a sweep. */
const EXPIRED_RECORDS = 16;
/** Maximum records that a decision uses: per role and window one for the key and one for its stand-in. */
const MAX_IN_USE = 2 * LIMIT_ROLES.length * MAX_LIST;
/** Returned if no compartment has room. */
const NO_ROOM = -1;
/** Lets counters of any network be evicted. */
const ANY_NETWORK = 0;
/** Only lent room may be freed. */
const LENT = -1;
const UNUSED = newCounter();
/** The caller of a counter that all callers share, or that nobody in particular opened. */
const NOBODY = -1;
const NO_OWNER: OwnersOf = () => NO_OWNERS;

/**
 * The counters of a store. A counter's key has three parts: the keyspace (which limit), the caller (null if all share it) and the
 * part (the main value, or empty). They are looked up separately, so no key string is ever built; callers and parts are kept as
 * hashes.
 *
 * The table is bounded, and so is each of its partitions (`Partitions`). Where a partition may not grow, a new counter replaces
 * an expired one or, among the next few under the partition's rotating hand, the one nearest its Reset; never an exhausted one,
 * and never one of another partition. Another hand circles through all records to find expired counters, so no timers are needed.
 *
 * A network of callers may hold a sixteenth of what is reserved for a partition, and its owner a quarter; beyond that it borrows,
 * up to the same fractions of what is lent to all partitions. After that, a new counter only replaces one of the same network.
 */
export class CounterTable {
  readonly partitions: Partitions;
  readonly capacity: number;
  /** Maximum keyspaces, and partitions. */
  readonly maxKeyspaces: number;
  /** Maximum counters for main values that one caller holds. A reload may change it; callers keep the counters they hold. */
  keysPerCaller = 4_096;
  /** Added to the monotonic clock, gives the wall clock (`Moment`): for windows that end by the calendar. */
  steadyOffsetMs = 0;
  readonly #memory: TableMemory;
  readonly #callers: CallerTable;
  readonly #shares: NetworkShares;
  readonly #table: RecordTable;
  readonly #partHash: StringHash;
  #hand = 0;
  #nowMs = 0;
  /** How long periods of the calendar are, by the places of keyspaces that this thread knows to have such. */
  readonly #periodsOfCalendars = new Map<number, number>();
  readonly #inUse = new Int32Array(MAX_IN_USE);
  #inUseCount = 0;

  /**
   * @param name identifies the table in shared memory
   * @param maxKeyspaces default: as many as the limits of a large configuration need
   * @param capacity maximum counters held. Reserves up to 100 bytes for each at once; the system commits pages as they are used
   */
  constructor(
    memory: TableMemory,
    name: string,
    capacity: number,
    ownersOf = NO_OWNER,
    maxKeyspaces = defaultMaxKeyspaces(capacity),
  ) {
    this.capacity = capacity;
    this.maxKeyspaces = maxKeyspaces;
    this.#memory = memory;
    this.partitions = new Partitions(memory, name, capacity, maxKeyspaces, ownersOf !== NO_OWNER);
    this.#callers = new CallerTable(memory, `${name} callers`, capacity, ownersOf);
    this.#shares = new NetworkShares(memory, name, capacity);
    this.#table = new RecordTable(memory, name, capacity, WIDTH);
    this.#partHash = StringHash.withRandomKey(memory, name);
  }

  get size(): number {
    return this.#table.size;
  }

  /** Tells whether the windows of the keyspace at this place end by the clock of the world. */
  noteKeyspace(place: number, { calendar, periodMs }: Pick<Limit, 'calendar' | 'periodMs'>): void {
    if (calendar !== null) this.#periodsOfCalendars.set(place, periodMs);
    else this.#periodsOfCalendars.delete(place);
  }

  get callers(): number {
    return this.#callers.size;
  }

  /** When the decision or sweep in progress began. */
  get nowMs(): number {
    return this.#nowMs;
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

  /** Returns the number of a counter, or -1. Valid until the next `begin`. `keyspace`: from 1 on. */
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
        (isShared || this.#openerAt(at) === callerAt)
      ) {
        return this.#use(at);
      }
    }
    return -1;
  }

  /**
   * Creates a counter, if necessary in place of another of its partition; -1 if none can be evicted. Only for a key that `find`
   * did not find. `opener`: the caller to whom a counter of all callers is attributed; `null` for none.
   */
  open(keyspace: number, caller: string | null, part: string, opener = caller): number {
    const network = opener === null ? ANY_NETWORK : this.#callers.networkOf(opener);
    const compartment = this.#makeRoom(partitionOf(keyspace), network, ORDINARY);
    if (compartment === NO_ROOM) return -1;
    const openerAt = opener === null ? NOBODY : this.#callers.findOrEnter(opener, network);
    this.#partHash.read(part);
    const { low, high } = this.#partHash;
    return this.#openRow(keyspace, caller === null, openerAt, low, high, compartment);
  }

  /** Creates the counter that stands in for all callers of a network, as `open` does. */
  openStandIn(keyspace: number, standIn: string, part: string): number {
    const compartment = this.#makeRoom(partitionOf(keyspace), ANY_NETWORK, STAND_IN);
    if (compartment === NO_ROOM) return -1;
    const at = this.#callers.findOrEnter(standIn, ANY_NETWORK);
    this.#partHash.read(part);
    return this.#openRow(keyspace, false, at, this.#partHash.low, this.#partHash.high, compartment);
  }

  /** The name of the counter that stands in for all callers of a caller's network; `null` if it has none. */
  standInOf(caller: string): string | null {
    return this.#callers.standInOf(caller);
  }

  #openRow(
    keyspace: number,
    isShared: boolean,
    openerAt: number,
    low: number,
    high: number,
    compartment: number,
  ): number {
    if (openerAt >= 0) this.#callers.addCounter(openerAt, low !== 0 || high !== 0);
    const at = this.#table.take(placeOf(keyspace, isShared ? NOBODY : openerAt, low));
    const { records } = this.#table;
    const word = at * WIDTH;
    records.set(word + KEYSPACE, isShared ? -keyspace : keyspace);
    records.set(word + CALLER, openerAt < 0 ? NOBODY : openerAt | (compartment << CALLER_BITS));
    records.set(word + PART_LOW, low);
    records.set(word + PART_HIGH, high);
    saveCounter(records, word + COUNTER, UNUSED);
    this.#join(at);
    return this.#use(at);
  }

  /** The number of the caller that holds or opened a counter; negative if nobody in particular did. */
  #openerAt(at: number): number {
    const caller = this.#table.ints[at * WIDTH + CALLER] ?? NOBODY;
    return caller < 0 ? NOBODY : caller & CALLER_MASK;
  }

  #compartmentAt(at: number): number {
    const caller = this.#table.ints[at * WIDTH + CALLER] ?? NOBODY;
    return caller < 0 ? ORDINARY : caller >>> CALLER_BITS;
  }

  #networkAt(at: number): number {
    const openerAt = this.#openerAt(at);
    return openerAt < 0 ? ANY_NETWORK : this.#callers.networkAt(openerAt);
  }

  /** The number of the keyspace of a record, negative if all callers share its counter; 0 if it is free. */
  keyspaceAt(record: number): number {
    return this.#table.ints[record * WIDTH + KEYSPACE] ?? 0;
  }

  /** How many records were ever in use: those from this number on are free. */
  get used(): number {
    return this.#table.used;
  }

  readRow(record: number, row: CounterRow): void {
    const { ints } = this.#table;
    const word = record * WIDTH;
    const openerAt = this.#openerAt(record);
    row.isShared = this.keyspaceAt(record) < 0;
    row.isStandIn = this.#compartmentAt(record) === STAND_IN;
    row.isOpened = openerAt >= 0;
    [row.callerLow, row.callerHigh] = row.isOpened ? this.#callers.hashOf(openerAt) : [0, 0];
    row.network = row.isOpened ? this.#callers.networkAt(openerAt) : 0;
    row.partLow = ints[word + PART_LOW] ?? 0;
    row.partHigh = ints[word + PART_HIGH] ?? 0;
    this.load(record, row.counter);
  }

  /** Restores a counter that `readRow` read, in this table or one with the same hash keys. False if there is no room. */
  restore(keyspace: number, row: CounterRow, nowMs: number): boolean {
    this.begin(nowMs);
    const { partLow, partHigh, isShared, callerLow, callerHigh, network } = row;
    const compartment = this.#makeRoom(partitionOf(keyspace), network, row.isStandIn ? STAND_IN : ORDINARY);
    if (compartment === NO_ROOM) return false;
    const openerAt = row.isOpened ? this.#callers.findOrEnterHash(callerLow, callerHigh, network) : NOBODY;
    const found = this.#findRow(keyspace, isShared, openerAt, partLow, partHigh);
    const at =
      found >= 0 ? found : this.#openRow(keyspace, isShared, openerAt, partLow, partHigh, compartment);
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
    this.#releaseIf(at => this.#openerAt(at) === callerAt && keyspaces.has(this.keyspaceAt(at)));
  }

  /** Frees all counters of the keyspaces at these places. */
  releaseAll(places: ReadonlySet<number>): void {
    this.#releaseIf(at => places.has(placeOfKeyspace(this.keyspaceAt(at))));
  }

  #releaseIf(isMeant: (at: number) => boolean): void {
    for (let at = 0; at < this.#table.used; at++) {
      if (!this.#isHeld(at) || !isMeant(at)) continue;
      this.#giveBack(at);
      this.#memory.keep();
    }
  }

  /** How many counters for main values this caller holds, including shared ones that it opened. */
  partsOf(caller: string): number {
    const at = this.#callers.find(caller);
    return at < 0 ? 0 : this.#callers.parts(at);
  }

  /** Whether the caller holds the maximum of counters for main values. */
  hasAllParts(caller: string): boolean {
    return this.#callers.hasAllParts(caller, this.keysPerCaller);
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

  /** The record under the hand, which then moves on. */
  #turn(): number {
    if (this.#hand >= this.#table.used) this.#hand = 0;
    return this.#hand++;
  }

  /**
   * Makes room in a partition for one more record, if necessary by evicting one, and returns the compartment that has it; -1 if
   * there is none. Beyond its share, a network borrows, or one of its own records is evicted.
   */
  #makeRoom(partition: number, network: number, compartment: number): number {
    if (!this.#hasRoom(partition, compartment)) this.#freeExpired(EXPIRED_RECORDS);
    if (network === ANY_NETWORK || !this.#isSpent(partition, network))
      return this.#makeRoomIn(partition, compartment) ? compartment : NO_ROOM;
    if (this.#mayBorrow(partition, network)) return BORROWED;
    if (!this.#evictFrom(partition, BORROWED, network)) return NO_ROOM;
    if (!this.#isSpent(partition, network)) return compartment;
    return this.#mayBorrow(partition, network) ? BORROWED : NO_ROOM;
  }

  #isSpent(partition: number, network: number): boolean {
    return this.#shares.isSpent(partition, network, this.partitions.reserved(partition));
  }

  #mayBorrow(partition: number, network: number): boolean {
    return !this.#shares.hasBorrowed(network, this.partitions.lendable) && this.#hasRoom(partition, BORROWED);
  }

  #makeRoomIn(partition: number, compartment: number): boolean {
    if (this.#hasRoom(partition, compartment)) return true;
    if (!this.partitions.mayGrow(partition, compartment))
      return this.#evictFrom(partition, compartment, ANY_NETWORK);
    // After a reload, another partition may still hold the room reserved for this one: in a full table, some partition holds more
    // than its reserve, since all reserves together are half of the table.
    return this.#evictFrom(this.partitions.mostLent, LENT, ANY_NETWORK);
  }

  #hasRoom(partition: number, compartment: number): boolean {
    return this.#table.size < this.#table.capacity && this.partitions.mayGrow(partition, compartment);
  }

  /** Evicts a record of a partition, so that the compartment may grow. `network`: the network it must belong to. */
  #evictFrom(partition: number, compartment: number, network: number): boolean {
    const { ints } = this.#table;
    let nearest = -1;
    let hand = this.partitions.hand(partition);
    for (let left = Math.min(EVICTION_RECORDS, this.partitions.size(partition)); left > 0; left--) {
      const at = hand;
      hand = ints[at * WIDTH + RIGHT] ?? -1;
      if (!this.#canGiveWay(at) || !this.#givesRoom(at, partition, compartment, network)) continue;
      if (nearest < 0 || this.#resetOf(at) < this.#resetOf(nearest)) nearest = at;
      if (this.#isOver(at)) break;
    }
    this.partitions.setHand(partition, hand);
    if (nearest < 0) return false;
    if (!this.#isOver(nearest)) this.partitions.countEviction(partition);
    this.#giveBack(nearest);
    return true;
  }

  #givesRoom(at: number, partition: number, compartment: number, network: number): boolean {
    if (network !== ANY_NETWORK) return this.#networkAt(at) === network;
    const own = this.#compartmentAt(at);
    return own === compartment || this.partitions.isLent(partition, own);
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
    return this.#nowMs >= this.#resetOf(at) && !this.#isOpenByCalendar(at);
  }

  /**
   * Whether a window of the calendar is still open, since the clock of the world was set back. One of the far future is not: that
   * clock was wrong.
   */
  #isOpenByCalendar(at: number): boolean {
    const periodMs = this.#periodsOfCalendars.get(placeOfKeyspace(this.keyspaceAt(at)));
    if (periodMs === undefined) return false;
    const markMs = this.#table.floats[(at * WIDTH + COUNTER + MARK) >> 1] ?? 0;
    const leftMs = markMs - this.steadyOffsetMs - this.#nowMs;
    return leftMs > 0 && leftMs <= 2 * periodMs;
  }

  #resetOf(at: number): number {
    return this.#table.floats[(at * WIDTH + COUNTER + RESET) >> 1] ?? 0;
  }

  #giveBack(at: number): void {
    const { ints, records } = this.#table;
    const word = at * WIDTH;
    const keyspace = ints[word + KEYSPACE] ?? 0;
    const openerAt = this.#openerAt(at);
    const low = ints[word + PART_LOW] ?? 0;
    const ofPart = low !== 0 || ints[word + PART_HIGH] !== 0;
    this.#leave(at);
    if (openerAt >= 0) this.#callers.removeCounter(openerAt, ofPart);
    records.set(word + KEYSPACE, 0);
    this.#table.giveBack(at, placeOf(Math.abs(keyspace), keyspace < 0 ? NOBODY : openerAt, low));
  }

  /** Inserts a record where the hand of its partition arrives last. */
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
    this.#count(at, partition, 1);
    this.partitions.grew(partition, this.#compartmentAt(at));
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
    this.#count(at, partition, -1);
    this.partitions.shrank(partition, this.#compartmentAt(at));
  }

  /** Counts a record for the network that holds it. */
  #count(at: number, partition: number, by: number): void {
    const network = this.#networkAt(at);
    if (network !== ANY_NETWORK)
      this.#shares.add(partition, network, this.#compartmentAt(at) === BORROWED, by);
  }
}

function placeOf(keyspace: number, callerAt: number, partLow: number): number {
  let place = Math.imul(partLow ^ Math.imul(callerAt, 0x9e3779b1), 0x85ebca6b);
  place ^= Math.imul(keyspace, 0xc2b2ae35);
  return Math.imul(place ^ (place >>> 15), 0x27d4eb2f) ^ (place >>> 13);
}

import {
  type NewPermits,
  NO_OWNERS,
  type NoPermit,
  type Owner,
  type Permits,
  ProcessPermits,
  type TableMemory,
} from '../../core/index.ts';
import { RecordTable, StringHash } from './record-table.ts';

// Offsets of words in a record. The permits taken by each thread follow, one word per thread.
const NAME_LOW = 1;
const NAME_HIGH = 2;
const KEY_LOW = 3;
const KEY_HIGH = 4;
/** How many permits all threads have taken together; `FREED` once the record is given back. */
const TAKEN = 5;
const THREADS = 6;

const FREED = -(2 ** 31);
const NO_RECORD = -1;
/** Maximum words of a table: 256 MiB, whatever the caps and the number of threads. The system only provides what is used. */
const MAX_WORDS = 2 ** 26;
/**
 * How many records are checked when one is opened, so that records without permits do not fill the table: fewer while it has
 * room, more once it is full.
 */
const EXAMINED = 2;
const EXAMINED_IF_FULL = 64;
/** A reader without the lock gives up after this many records: another thread may be changing the chain. */
const MAX_STEPS = 1_000;
/** How many keys per name a thread remembers the hashes of. */
const REMEMBERED_KEYS = 2_048;

/** A key, its hash, and where its record was last seen: it may have another key by now, or none. */
interface Place {
  readonly key: string;
  readonly low: number;
  readonly high: number;
  at: number;
}

/**
 * Permits that the threads of a process share, by name and key, in one table. A record counts those of one key, or all of a name,
 * and how many each thread has taken, so that those of a dead thread can be returned. Records without permits stay until the room
 * is needed: most keys recur.
 */
export class SharedPermits {
  /** How many records, of names and of keys, may hold permits at once. */
  readonly capacity: number;
  readonly #memory: TableMemory;
  readonly #table: RecordTable;
  readonly #width: number;
  readonly #hash: StringHash;
  /** The next record to be checked for having no permits. */
  #hand = 0;

  /** @param capacity beyond it, each thread counts further keys on its own */
  constructor(memory: TableMemory, capacity: number) {
    this.#memory = memory;
    this.#width = 2 * Math.ceil((THREADS + memory.threads) / 2);
    this.capacity = Math.min(capacity, Math.floor(MAX_WORDS / this.#width));
    this.#table = new RecordTable(memory, 'permits', this.capacity, this.#width);
    this.#hash = StringHash.withRandomKey(memory, 'permits');
  }

  /** Makes the permits of this name, for this thread. */
  readonly named: NewPermits = name => new NamedPermits(this, this.#memory, this.placeOf(name));

  /**
   * Returns the permits of a dead worker. Called by the main thread once the memory is recovered, before another worker gets the
   * number.
   */
  async giveBackAll(worker: number): Promise<void> {
    const { records, ints } = this.#table;
    await this.#memory.soon(() => {
      for (let at = 0; at < this.#table.used; at++) {
        const column = at * this.#width + THREADS + worker;
        const count = ints[column] ?? 0;
        if (count === 0) continue;
        records.add(at * this.#width + TAKEN, -count);
        records.set(column, 0);
        this.#memory.keep();
      }
    });
  }

  placeOf(key: string): Place {
    this.#hash.read(key);
    const { low, high } = this.#hash;
    return { key, low, high, at: NO_RECORD };
  }

  /** Finds the record of a key under this name, or returns -1. */
  find(name: Place, place: Place): number {
    if (this.#isOf(place.at, name, place)) return place.at;
    let at = this.#table.first(name.low ^ place.low);
    for (let steps = 0; at >= 0 && steps < MAX_STEPS; at = this.#table.after(at), steps++)
      if (this.#isOf(at, name, place)) {
        place.at = at;
        return at;
      }
    return NO_RECORD;
  }

  #isOf(at: number, name: Place, { low, high }: Place): boolean {
    const { ints } = this.#table;
    const word = at * this.#width;
    return (
      at >= 0 &&
      ints[word + KEY_LOW] === low &&
      ints[word + KEY_HIGH] === high &&
      ints[word + NAME_LOW] === name.low &&
      ints[word + NAME_HIGH] === name.high &&
      ints[word + TAKEN] !== FREED
    );
  }

  /** Opens a record that `find` did not find, without freeing those in use. Returns -1 if the table is full. */
  open(name: Place, { low, high }: Place, inUse: readonly number[]): number {
    this.#clean(inUse);
    const at = this.#table.take(name.low ^ low);
    if (at < 0) return NO_RECORD;
    const { records } = this.#table;
    const word = at * this.#width;
    records.set(word + NAME_LOW, name.low);
    records.set(word + NAME_HIGH, name.high);
    records.set(word + KEY_LOW, low);
    records.set(word + KEY_HIGH, high);
    records.set(word + TAKEN, 0);
    return at;
  }

  /** How many permits of this record all threads have taken. */
  taken(at: number): number {
    return at < 0 ? 0 : Math.max(0, this.#table.ints[at * this.#width + TAKEN] ?? 0);
  }

  /** Counts permits that this thread took, or returned. */
  add(at: number, by: number): void {
    const { records } = this.#table;
    records.add(at * this.#width + TAKEN, by);
    records.add(at * this.#width + THREADS + this.#memory.worker, by);
  }

  /** Gives some records without permits back to the table. */
  #clean(inUse: readonly number[]): void {
    const { ints, records, used, size, capacity } = this.#table;
    for (let left = size < capacity ? EXAMINED : EXAMINED_IF_FULL; left > 0 && used > 0; left--) {
      if (this.#hand >= used) this.#hand = 0;
      const at = this.#hand++;
      const word = at * this.#width;
      if (ints[word + TAKEN] !== 0 || inUse.includes(at)) continue;
      records.set(word + TAKEN, FREED);
      this.#table.giveBack(at, (ints[word + NAME_LOW] ?? 0) ^ (ints[word + KEY_LOW] ?? 0));
    }
  }
}

/** Represents all keys of a name. No string has this hash except by a chance of 2^-64; that of '' is 0 and 0. */
const ALL = { key: '', low: 0, high: 1 };

/**
 * The permits of one name, as seen by one thread. Takes and returns those of a key, of its owners and of the total in one step.
 */
class NamedPermits implements Permits {
  readonly #table: SharedPermits;
  readonly #memory: TableMemory;
  readonly #name: Place;
  readonly #all: Place = { ...ALL, at: NO_RECORD };
  /** Recently used keys, since hashing one takes as long as everything else. */
  readonly #places = new Map<string, Place>();
  /** Counts keys for which the table has no room, in this thread only: a full table must refuse nobody. */
  readonly #own = new ProcessPermits();
  // The arguments of `take` and `giveBack`: a closure per call would be garbage. Hashed before the lock is taken.
  #key = '';
  #owners: readonly Owner[] = NO_OWNERS;
  #max = 0;
  #share = 0;
  /** What is counted: the total, the key, and its owners. */
  readonly #asked: Place[] = [this.#all];
  /** The records of what is counted, in the same order. */
  readonly #rows: number[] = [];
  readonly #taking = () => this.#take();
  readonly #givingBack = () => this.#giveBack();

  constructor(table: SharedPermits, memory: TableMemory, name: Place) {
    this.#table = table;
    this.#memory = memory;
    this.#name = name;
    this.#asked.push(this.#placeOf(''));
  }

  get taken(): number {
    return this.#table.taken(this.#find(this.#all)) + this.#own.taken;
  }

  takenBy(key: string): number {
    return this.#table.taken(this.#find(this.#placeOf(key))) + this.#own.takenBy(key);
  }

  take(key: string, max: number, share: number, owners = NO_OWNERS): NoPermit | null {
    this.#ask(key, owners);
    this.#max = max;
    this.#share = share;
    return this.#memory.whole(this.#taking);
  }

  giveBack(key: string, owners = NO_OWNERS): void {
    if (this.#own.taken > 0 && this.#own.takenBy(key) > 0) {
      this.#own.giveBack(key, owners);
      return;
    }
    this.#ask(key, owners);
    this.#memory.whole(this.#givingBack);
  }

  #take(): NoPermit | null {
    const areOpen = this.#findRows();
    const isFull = this.#takenAt(0) + this.#own.taken >= this.#max;
    const isShareTaken = this.#isShareTaken();
    if (isFull) return isShareTaken ? 'both' : 'full';
    if (isShareTaken) return 'share taken';
    if (!areOpen && !this.#openRows()) return this.#own.take(this.#key, this.#max, this.#share, this.#owners);
    this.#add(1);
    return null;
  }

  #giveBack(): void {
    if (this.#findRows()) this.#add(-1);
  }

  #isShareTaken(): boolean {
    if (this.#countOf(1, this.#key) >= this.#share) return true;
    const owners = this.#owners;
    for (let at = 0; at < owners.length; at++) {
      const owner = owners[at];
      if (owner !== undefined && this.#countOf(at + 2, owner.key) >= this.#share * owner.shares) return true;
    }
    return false;
  }

  /** How many permits are counted at this place for this key, in the table and in this thread. */
  #countOf(at: number, key: string): number {
    return this.#takenAt(at) + (this.#own.taken === 0 ? 0 : this.#own.takenBy(key));
  }

  #add(by: number): void {
    for (let at = 0; at < this.#asked.length; at++) this.#table.add(this.#rows[at] ?? NO_RECORD, by);
  }

  /** Opens missing records. False if the table is full: then those that it opened hold nothing. */
  #openRows(): boolean {
    const rows = this.#rows;
    for (const [at, place] of this.#asked.entries()) {
      if (rows[at] !== NO_RECORD) continue;
      const opened = this.#table.open(this.#name, place, rows);
      if (opened === NO_RECORD) return false;
      rows[at] = opened;
    }
    return true;
  }

  #ask(key: string, owners: readonly Owner[]): void {
    // A permit is often returned right after it was taken.
    if (this.#key === key && this.#owners === owners) return;
    this.#key = key;
    this.#owners = owners;
    const asked = this.#asked;
    asked.length = this.#rows.length = 2 + owners.length;
    asked[1] = this.#placeOf(key);
    for (let at = 0; at < owners.length; at++) asked[at + 2] = this.#placeOf(owners[at]?.key ?? '');
  }

  #placeOf(key: string): Place {
    let place = this.#places.get(key);
    if (place === undefined) {
      place = this.#table.placeOf(key);
      if (this.#places.size >= REMEMBERED_KEYS) this.#places.clear();
      this.#places.set(key, place);
    }
    return place;
  }

  /** Finds the records of what is counted. Returns whether there is one for each. */
  #findRows(): boolean {
    let areOpen = true;
    for (let at = 0; at < this.#asked.length; at++) {
      const row = this.#find(this.#asked[at] ?? this.#all);
      this.#rows[at] = row;
      areOpen &&= row !== NO_RECORD;
    }
    return areOpen;
  }

  #takenAt(at: number): number {
    return this.#table.taken(this.#rows[at] ?? NO_RECORD);
  }

  #find(place: Place): number {
    return this.#table.find(this.#name, place);
  }
}

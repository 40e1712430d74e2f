import {
  type NewPermits,
  type NoPermit,
  type Permits,
  ProcessPermits,
  type TableMemory,
} from '../../core/index.ts';
import { RecordTable, StringHash } from './record-table.ts';

// Words of a record. The permits that each thread has taken follow, one word a thread.
const NAME_LOW = 1;
const NAME_HIGH = 2;
const KEY_LOW = 3;
const KEY_HIGH = 4;
/** How many permits all threads have taken together; `FREED` once the record is given back. */
const TAKEN = 5;
const THREADS = 6;

const FREED = -(2 ** 31);
const NO_RECORD = -1;
/** The most words of a table: 256 MiB, whatever the caps and the number of threads. The system provides what is used. */
const MAX_WORDS = 2 ** 26;
/** How many records are looked at for one that is opened, so that those without a permit do not fill the table; and once it is full. */
const LOOKED_AT = 2;
const LOOKED_AT_IF_FULL = 64;
/** A reader without the lock gives up after so many records: others may link them anew under its eyes. */
const MAX_STEPS = 1_000;

/**
 * Permits that the threads of a process share, found by name and key in one table. A record counts those of one key, or all of a name,
 * and how many of them each thread has taken, so that what a dead thread held can be given back. Records without permits stay until
 * later ones need room: most keys come back.
 */
export class SharedPermits {
  /** The most names and keys with permits. */
  readonly capacity: number;
  readonly #memory: TableMemory;
  readonly #table: RecordTable;
  readonly #width: number;
  readonly #hash: StringHash;
  /** The next record that is looked at for being without a permit. */
  #hand = 0;

  /** @param capacity beyond it each thread counts further keys by itself */
  constructor(memory: TableMemory, capacity: number) {
    this.#memory = memory;
    this.#width = 2 * Math.ceil((THREADS + memory.threads) / 2);
    this.capacity = Math.min(capacity, Math.floor(MAX_WORDS / this.#width));
    this.#table = new RecordTable(memory, 'permits', this.capacity, this.#width);
    this.#hash = StringHash.withRandomKey(memory, 'permits');
  }

  /** Makes the permits of this name, for this thread. */
  readonly named: NewPermits = name => {
    this.#hash.read(name);
    return new NamedPermits(this, this.#memory, this.#hash.low, this.#hash.high);
  };

  /** Gives back what a dead worker held. For the main thread, once the memory is recovered, and before another has its number. */
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

  /** Reads the hash of a key. It stays until the next call. */
  keyOf(key: string): StringHash {
    this.#hash.read(key);
    return this.#hash;
  }

  /** Finds a record, or returns -1. */
  find(nameLow: number, nameHigh: number, keyLow: number, keyHigh: number): number {
    const { ints } = this.#table;
    let at = this.#table.first(nameLow ^ keyLow);
    for (let steps = 0; at >= 0 && steps < MAX_STEPS; at = this.#table.after(at), steps++) {
      const word = at * this.#width;
      if (
        ints[word + KEY_LOW] === keyLow &&
        ints[word + KEY_HIGH] === keyHigh &&
        ints[word + NAME_LOW] === nameLow &&
        ints[word + NAME_HIGH] === nameHigh
      )
        return at;
    }
    return NO_RECORD;
  }

  /** Opens a record that `find` did not find, and keeps another that is in use. Returns -1 if the table is full. */
  open(nameLow: number, nameHigh: number, keyLow: number, keyHigh: number, inUse: number): number {
    this.#clean(inUse);
    const at = this.#table.take(nameLow ^ keyLow);
    if (at < 0) return NO_RECORD;
    const { records } = this.#table;
    const word = at * this.#width;
    records.set(word + NAME_LOW, nameLow);
    records.set(word + NAME_HIGH, nameHigh);
    records.set(word + KEY_LOW, keyLow);
    records.set(word + KEY_HIGH, keyHigh);
    records.set(word + TAKEN, 0);
    return at;
  }

  /** How many permits of this record all threads have taken. */
  taken(at: number): number {
    return at < 0 ? 0 : Math.max(0, this.#table.ints[at * this.#width + TAKEN] ?? 0);
  }

  /** Counts permits that this thread has taken, or given back. */
  add(at: number, by: number): void {
    const { records } = this.#table;
    records.add(at * this.#width + TAKEN, by);
    records.add(at * this.#width + THREADS + this.#memory.worker, by);
  }

  /** Gives some records without permits back to the table. */
  #clean(inUse: number): void {
    const { ints, records, used, size, capacity } = this.#table;
    for (let left = size < capacity ? LOOKED_AT : LOOKED_AT_IF_FULL; left > 0 && used > 0; left--) {
      if (this.#hand >= used) this.#hand = 0;
      const at = this.#hand++;
      const word = at * this.#width;
      if (ints[word + TAKEN] !== 0 || at === inUse) continue;
      records.set(word + TAKEN, FREED);
      this.#table.giveBack(at, (ints[word + NAME_LOW] ?? 0) ^ (ints[word + KEY_LOW] ?? 0));
    }
  }
}

/** The key of the record that counts all permits of a name. No string has this hash but by a chance of 2^-64; that of '' is 0 and 0. */
const ALL_LOW = 0;
const ALL_HIGH = 1;

/** The permits of one name, as one thread sees them. Takes and gives back those of a key and among all in one step. */
class NamedPermits implements Permits {
  readonly #table: SharedPermits;
  readonly #memory: TableMemory;
  readonly #low: number;
  readonly #high: number;
  /** Counts the keys for which the table has no room: in this thread alone, since a full table must refuse nobody. */
  readonly #own = new ProcessPermits();
  // What `take` and `giveBack` were called with: a closure for each call would be garbage. Hashed before the lock is taken.
  #key = '';
  #keyLow = 0;
  #keyHigh = 0;
  #max = 0;
  #share = 0;
  readonly #taking = () => this.#take();
  readonly #givingBack = () => this.#giveBack();

  constructor(table: SharedPermits, memory: TableMemory, low: number, high: number) {
    this.#table = table;
    this.#memory = memory;
    this.#low = low;
    this.#high = high;
  }

  get taken(): number {
    return this.#table.taken(this.#findAll()) + this.#own.taken;
  }

  takenBy(key: string): number {
    this.#read(key);
    return this.#table.taken(this.#findOne()) + this.#own.takenBy(key);
  }

  take(key: string, max: number, share: number): NoPermit | null {
    this.#read(key);
    this.#max = max;
    this.#share = share;
    return this.#memory.whole(this.#taking);
  }

  giveBack(key: string): void {
    if (this.#own.takenBy(key) > 0) {
      this.#own.giveBack(key);
      return;
    }
    this.#read(key);
    this.#memory.whole(this.#givingBack);
  }

  #take(): NoPermit | null {
    const table = this.#table;
    let all = this.#findAll();
    let one = this.#findOne();
    const isFull = table.taken(all) + this.#own.taken >= this.#max;
    const isShareTaken = table.taken(one) + this.#own.takenBy(this.#key) >= this.#share;
    if (isFull) return isShareTaken ? 'both' : 'full';
    if (isShareTaken) return 'share taken';
    if (all < 0) all = table.open(this.#low, this.#high, ALL_LOW, ALL_HIGH, one);
    if (one < 0) one = table.open(this.#low, this.#high, this.#keyLow, this.#keyHigh, all);
    if (all < 0 || one < 0) return this.#own.take(this.#key, this.#max, this.#share);
    table.add(all, 1);
    table.add(one, 1);
    return null;
  }

  #giveBack(): void {
    const table = this.#table;
    const [all, one] = [this.#findAll(), this.#findOne()];
    if (all < 0 || one < 0) return;
    table.add(all, -1);
    table.add(one, -1);
  }

  #read(key: string): void {
    const { low, high } = this.#table.keyOf(key);
    this.#key = key;
    this.#keyLow = low;
    this.#keyHigh = high;
  }

  #findAll(): number {
    return this.#table.find(this.#low, this.#high, ALL_LOW, ALL_HIGH);
  }

  #findOne(): number {
    return this.#table.find(this.#low, this.#high, this.#keyLow, this.#keyHigh);
  }
}

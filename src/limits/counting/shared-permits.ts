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
/**
 * How many records are checked when one is opened, so that records without a permit do not fill the table: so many while it has
 * room, and so many once it is full.
 */
const LOOKED_AT = 2;
const LOOKED_AT_IF_FULL = 64;
/** A reader without the lock gives up after so many records: another thread may change the chain while it is read. */
const MAX_STEPS = 1_000;
/** How many keys of a name a thread remembers the hashes of. */
const REMEMBERED_KEYS = 1_024;

/** A key, its hash, and where its record was last seen: it may have another key by now, or none. */
interface Place {
  readonly key: string;
  readonly low: number;
  readonly high: number;
  at: number;
}

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
  readonly named: NewPermits = name => new NamedPermits(this, this.#memory, this.placeOf(name));

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

  /** Opens a record that `find` did not find, and keeps another that is in use. Returns -1 if the table is full. */
  open(name: Place, { low, high }: Place, inUse: number): number {
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

/** Stands for all keys of a name. No string has this hash but by a chance of 2^-64; that of '' is 0 and 0. */
const ALL = { key: '', low: 0, high: 1 };

/** The permits of one name, as one thread sees them. Takes and gives back those of a key and among all in one step. */
class NamedPermits implements Permits {
  readonly #table: SharedPermits;
  readonly #memory: TableMemory;
  readonly #name: Place;
  readonly #all: Place = { ...ALL, at: NO_RECORD };
  /** Keys that were asked for lately, since hashing one takes as long as all else. */
  readonly #places = new Map<string, Place>();
  /** Counts the keys for which the table has no room: in this thread alone, since a full table must refuse nobody. */
  readonly #own = new ProcessPermits();
  // What `take` and `giveBack` were called with: a closure for each call would be garbage. Hashed before the lock is taken.
  #one: Place;
  #max = 0;
  #share = 0;
  readonly #taking = () => this.#take();
  readonly #givingBack = () => this.#giveBack();

  constructor(table: SharedPermits, memory: TableMemory, name: Place) {
    this.#table = table;
    this.#memory = memory;
    this.#name = name;
    this.#one = table.placeOf('');
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
    if (this.#own.taken > 0 && this.#own.takenBy(key) > 0) {
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
    const { key } = this.#one;
    const isFull = table.taken(all) + this.#own.taken >= this.#max;
    const isShareTaken = table.taken(one) + this.#own.takenBy(key) >= this.#share;
    if (isFull) return isShareTaken ? 'both' : 'full';
    if (isShareTaken) return 'share taken';
    if (all < 0) all = table.open(this.#name, this.#all, one);
    if (one < 0) one = table.open(this.#name, this.#one, all);
    if (all < 0 || one < 0) return this.#own.take(key, this.#max, this.#share);
    table.add(all, 1);
    table.add(one, 1);
    return null;
  }

  #giveBack(): void {
    const table = this.#table;
    const all = this.#findAll();
    const one = this.#findOne();
    if (all < 0 || one < 0) return;
    table.add(all, -1);
    table.add(one, -1);
  }

  #read(key: string): void {
    if (this.#one.key === key) return;
    let place = this.#places.get(key);
    if (place === undefined) {
      place = this.#table.placeOf(key);
      if (this.#places.size >= REMEMBERED_KEYS) this.#places.clear();
      this.#places.set(key, place);
    }
    this.#one = place;
  }

  #findAll(): number {
    return this.#table.find(this.#name, this.#all);
  }

  #findOne(): number {
    return this.#table.find(this.#name, this.#one);
  }
}

import { createHmac } from 'node:crypto';
import { type RandomBytes, randomKey } from './system.ts';
import { ownString } from './text.ts';

/** A bounded cache for a function from text to text. */
export class Memo {
  readonly #make: (text: string) => string;
  readonly #made: RecentMap<string>;

  /** `make` must return the same result for the same text, until `forget`. */
  constructor(make: (text: string) => string, maxEntries: number) {
    this.#make = make;
    this.#made = new RecentMap(maxEntries);
  }

  of(text: string): string {
    return this.#made.get(text) ?? this.#keep(text);
  }

  forget(): void {
    this.#made.clear();
  }

  #keep(text: string): string {
    const made = this.#make(text);
    this.#made.set(text, made);
    return made;
  }
}

/**
 * A bounded map that forgets what was not asked for lately. Entries live in a young and an old half; one found in the old half
 * moves to the young one. When the young half is full it becomes the old one, and the previous old half is dropped. A hit in the
 * young half writes nothing, where a list ordered by use would write every time. Keys are copied (see `ownString`).
 */
export class RecentMap<V> {
  readonly #half: number;
  #young = new Map<string, V>();
  #old = new Map<string, V>();

  /** @param maxEntries at least 2 */
  constructor(maxEntries: number) {
    this.#half = Math.max(1, Math.floor(maxEntries / 2));
  }

  get size(): number {
    return this.#young.size + this.#old.size;
  }

  get(key: string): V | undefined {
    const young = this.#young.get(key);
    if (young !== undefined || this.#old.size === 0) return young;
    const old = this.#old.get(key);
    if (old !== undefined) this.set(key, old);
    return old;
  }

  set(key: string, value: V): void {
    if (this.#young.size >= this.#half && !this.#young.has(key)) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#old.delete(key);
    this.#young.set(ownString(key), value);
  }

  delete(key: string): void {
    this.#young.delete(key);
    this.#old.delete(key);
  }

  clear(): void {
    this.#young = new Map();
    this.#old = new Map();
  }
}

/** An entry of a roster. */
export interface RosterEntry {
  /** Its index in the roster. Only the roster writes it. */
  place: number;
}

/**
 * A set of operations in progress, with constant-time `add` and `delete`. Unlike a Set, it leaves no garbage behind: a Set
 * replaces its table every few changes, and a replaced table in old memory keeps its former entries alive until old memory is
 * collected.
 */
export class Roster<T extends RosterEntry> {
  readonly #items: T[] = [];

  get size(): number {
    return this.#items.length;
  }

  add(item: T): void {
    item.place = this.#items.length;
    this.#items.push(item);
  }

  /** Nothing happens if it is not listed. */
  delete(item: T): void {
    if (this.#items[item.place] !== item) return;
    const last = this.#items.pop();
    if (last === undefined || last === item) return;
    last.place = item.place;
    this.#items[item.place] = last;
  }

  /** Iterates over a copy, so entries may be added and deleted during the loop. */
  [Symbol.iterator](): Iterator<T> {
    return [...this.#items].values();
  }
}

/** The number of the main thread, and of a process that has no other. */
export const MAIN_THREAD = 0;

/**
 * Memory for tables of numbers: of this thread alone (`ownMemory`), or of all threads of a process (`SharedMemory`). Reads are plain;
 * writes go through `Words`.
 */
export interface TableMemory {
  /** Whether other threads use the same numbers. */
  readonly isShared: boolean;
  /** The number of this thread: 0 for the main thread and where nothing is shared, 1 and up for workers. */
  readonly worker: number;
  /** How many threads there can be: the workers and the main thread. */
  readonly threads: number;
  /** Makes so many zeros. Shared memory gives each thread the same words for a name; the main thread asks first. */
  words(name: string, count: number): Words;
  /**
   * Runs a function that changes words. Other threads see all of its changes or none: no other thread changes words meanwhile,
   * and the changes are undone if the function throws or its thread dies. Calls may be nested; the outermost counts. The
   * function must be short, must not await, and must not post messages. Own memory just runs it.
   *
   * The main thread does not wait for long: it has to hear when the thread inside dies. It uses `soon`.
   */
  whole<T>(run: () => T): T;
  /** Does the same as `whole`, in this turn of the event loop or a later one. */
  soon<T>(run: () => T): Promise<T>;
  /** Keeps what has changed so far, for loops that change many words: each step must leave everything in order. Does nothing if nested. */
  keep(): void;
  /** Makes up to 32 bytes that nobody can predict, in shared memory the same ones in each thread for a name. */
  secret(name: string, bytes: number): Buffer;
  /** Makes a key for the hash of a table in the same way, but from a root that may be kept over a restart. */
  hashKey(name: string, bytes: number): Buffer;
}

/** Hears of each write before it happens, with the value from before, so that it can be undone. */
interface WriteJournal {
  note(table: number, at: number, old: number): void;
}

/** Words of 32 bits in a memory. */
export class Words {
  readonly ints: Int32Array;
  /** The same words, two to a float. */
  readonly floats: Float64Array;
  readonly #journal: WriteJournal | null;
  readonly #table: number;

  /** `table`: names these words in the journal. */
  constructor(buffer: ArrayBufferLike, journal: WriteJournal | null = null, table = 0) {
    this.ints = new Int32Array(buffer);
    this.floats = new Float64Array(buffer);
    this.#journal = journal;
    this.#table = table;
  }

  set(at: number, value: number): void {
    if (this.#journal !== null) {
      const old = this.ints[at] ?? 0;
      if (old === value) return;
      this.#journal.note(this.#table, at, old);
    }
    this.ints[at] = value;
  }

  /** `at`: place among `floats`. */
  setFloat(at: number, value: number): void {
    if (this.#journal !== null) {
      if (this.floats[at] === value) return;
      this.#journal.note(this.#table, at * 2, this.ints[at * 2] ?? 0);
      this.#journal.note(this.#table, at * 2 + 1, this.ints[at * 2 + 1] ?? 0);
    }
    this.floats[at] = value;
  }

  /** Returns the sum. */
  add(at: number, by: number): number {
    const sum = (this.ints[at] ?? 0) + by;
    this.set(at, sum);
    return sum;
  }

  addFloat(at: number, by: number): void {
    this.setFloat(at, (this.floats[at] ?? 0) + by);
  }
}

/** Words come in pairs, so that floats cover them all. */
export function bytesOf(words: number): number {
  return Math.ceil(words / 2) * 8;
}

/** Makes up to 32 bytes of a secret, other ones for each name. */
export function derivedKey(root: Uint8Array, name: string, bytes: number): Buffer {
  return createHmac('sha256', root).update(name).digest().subarray(0, bytes);
}

/**
 * Makes memory of this thread alone: without lock and journal.
 *
 * @param hashRoot what the keys of hashes follow from. Default: random
 */
export function ownMemory(randomBytes: RandomBytes, hashRoot = randomKey(randomBytes)): TableMemory {
  return {
    isShared: false,
    worker: MAIN_THREAD,
    threads: 1,
    words: (_name, count) => new Words(new ArrayBuffer(bytesOf(count))),
    whole: run => run(),
    soon: async run => run(),
    keep: () => {},
    secret: (_name, bytes) => randomBytes(bytes),
    hashKey: (name, bytes) => derivedKey(hashRoot, name, bytes),
  };
}

/** Numbers that go upwards by one. */
export interface Sequence {
  /** The highest so far; 0 at first. */
  readonly last: number;
  next(): number;
}

/** The numbers of one thread. */
export class OwnSequence implements Sequence {
  last = 0;

  next(): number {
    return ++this.last;
  }
}

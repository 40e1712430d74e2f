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

/** Makes a value for each object, once. Weak: a value disappears with its object, such as a part of a configuration. */
export class WeakMemo<Key extends WeakKey, Value> {
  readonly #make: (key: Key) => Value;
  readonly #made = new WeakMap<Key, Value>();

  constructor(make: (key: Key) => Value) {
    this.#make = make;
  }

  of(key: Key): Value {
    let made = this.#made.get(key);
    if (made === undefined) {
      made = this.#make(key);
      this.#made.set(key, made);
    }
    return made;
  }
}

/**
 * A bounded map that forgets entries not used recently. Entries are in a young and an old half; one found in the old half moves
 * to the young one. When the young half is full it becomes the old one, and the previous old half is dropped. A hit in the young
 * half writes nothing, while a list ordered by use would write every time. Keys are copied (see `ownString`).
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

export interface RosterEntry {
  /** Its index in the roster, maintained by the roster. */
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

  /** Does nothing if it is not listed. */
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

/** The number of the main thread, also if it is the only one. */
export const MAIN_THREAD = 0;

/**
 * Memory for tables of numbers: private to this thread (`ownMemory`), or shared by all threads of a process (`SharedMemory`).
 * Reads are plain; writes go through `Words`.
 */
export interface TableMemory {
  /** Whether other threads use the same numbers. */
  readonly isShared: boolean;
  /** The number of this thread: 0 for the main thread and if nothing is shared, 1 and up for workers. */
  readonly worker: number;
  /** Maximum threads: the workers and the main thread. */
  readonly threads: number;
  /**
   * Allocates this many zeros. Shared memory returns the same words for a name in each thread; the main thread must call it
   * first.
   */
  words(name: string, count: number): Words;
  /**
   * Runs a function that changes words. Other threads see all of its changes or none: no other thread changes words meanwhile, and
   * the changes are undone if the function throws or its thread dies. Calls may be nested; only the outermost takes the lock. The
   * function must be short, must not await, and must not post messages. Private memory just runs it.
   *
   * The main thread must not wait for long, since it has to notice when the thread inside dies. It uses `soon`.
   */
  whole<T>(run: () => T): T;
  /** Like `whole`, in this turn of the event loop or a later one. */
  soon<T>(run: () => T): Promise<T>;
  /**
   * Commits the changes so far, for loops that change many words: each step must leave a consistent state. Does nothing if
   * nested.
   */
  keep(): void;
  /** Makes up to 32 unpredictable bytes; in shared memory, the same in each thread for a name. */
  secret(name: string, bytes: number): Buffer;
  /** Makes a key for the hash of a table in the same way, but from a root that may be kept across a restart. */
  hashKey(name: string, bytes: number): Buffer;
}

/** Is notified before each write, with the previous value, so that it can be undone. */
interface WriteJournal {
  note(table: number, at: number, old: number): void;
}

export class Words {
  readonly ints: Int32Array;
  /** The same memory as floats: two words each. */
  readonly floats: Float64Array;
  readonly #journal: WriteJournal | null;
  readonly #table: number;

  /** `table`: identifies these words in the journal. */
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

  /** `at`: index in `floats`. */
  setFloat(at: number, value: number): void {
    if (this.#journal !== null) {
      if (this.floats[at] === value) return;
      this.#journal.note(this.#table, at * 2, this.ints[at * 2] ?? 0);
      this.#journal.note(this.#table, at * 2 + 1, this.ints[at * 2 + 1] ?? 0);
    }
    this.floats[at] = value;
  }

  add(at: number, by: number): number {
    const sum = (this.ints[at] ?? 0) + by;
    this.set(at, sum);
    return sum;
  }

  addFloat(at: number, by: number): void {
    this.setFloat(at, (this.floats[at] ?? 0) + by);
  }
}

/** Words come in pairs, so that the floats cover all of them. */
export function bytesOf(words: number): number {
  return Math.ceil(words / 2) * 8;
}

/** Derives up to 32 bytes from a secret, different ones for each name. */
export function derivedKey(root: Uint8Array, name: string, bytes: number): Buffer {
  return createHmac('sha256', root).update(name).digest().subarray(0, bytes);
}

/**
 * Makes memory private to this thread: without lock and journal.
 *
 * @param hashRoot the root of hash keys. Default: random
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

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
 * A set of operations under way, with constant-time `add` and `delete`. Unlike a Set, it leaves no garbage behind: a Set replaces its
 * table every few changes, and a replaced table in old memory keeps its former entries alive until old memory is collected.
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

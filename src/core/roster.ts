/** An entry of a roster. */
export interface RosterEntry {
  /** Its index in the roster. Only the roster writes it. */
  place: number;
}

/**
 * A set of what is under way, with constant-time `add` and `delete`. Unlike a Set, it leaves no garbage behind: a Set replaces its
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

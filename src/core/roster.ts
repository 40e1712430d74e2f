/** What a roster lists. */
export interface Listed {
  /** Where the roster has it, which alone writes this. */
  place: number;
}

/**
 * Lists what is under way. A Set would do, but it replaces its table every few entries that come and go, and a table that has
 * moved to old memory keeps what it once listed, and its successors with theirs, until old memory is collected.
 */
export class Roster<T extends Listed> {
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

  /** As of now: what comes or goes meanwhile changes nothing. */
  [Symbol.iterator](): Iterator<T> {
    return [...this.#items].values();
  }
}

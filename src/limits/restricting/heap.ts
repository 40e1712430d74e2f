/** Knows its place in a heap. */
export interface Placed {
  /** Set by the heap that holds it. */
  place: number;
}

/** A binary heap from which any item can be taken, in a time that grows with the logarithm of its size. */
export class Heap<T extends Placed> {
  readonly #items: T[];
  readonly #isBefore: (one: T, other: T) => boolean;

  /** @param first its first item. Most heaps hold but one, and an array that is made with it takes less memory than one that grows. */
  constructor(isBefore: (one: T, other: T) => boolean, first: T | null = null) {
    this.#isBefore = isBefore;
    this.#items = first === null ? [] : [first];
    if (first !== null) first.place = 0;
  }

  get size(): number {
    return this.#items.length;
  }

  get first(): T | undefined {
    return this.#items[0];
  }

  add(item: T): void {
    item.place = this.#items.length;
    this.#items.push(item);
    this.#rise(item);
  }

  delete(item: T): void {
    const last = this.#items.pop();
    if (last === undefined || last === item) return;
    this.#put(last, item.place);
    this.update(last);
  }

  /** Call it when the rank of an item has changed. */
  update(item: T): void {
    this.#rise(item);
    this.#sink(item);
  }

  #rise(item: T): void {
    for (;;) {
      const parent = this.#items[(item.place - 1) >> 1];
      if (parent === undefined || !this.#isBefore(item, parent)) return;
      this.#swap(item, parent);
    }
  }

  #sink(item: T): void {
    for (;;) {
      const [left, right] = [this.#items[2 * item.place + 1], this.#items[2 * item.place + 2]];
      if (left === undefined) return;
      const child = right !== undefined && this.#isBefore(right, left) ? right : left;
      if (!this.#isBefore(child, item)) return;
      this.#swap(item, child);
    }
  }

  #swap(one: T, other: T): void {
    const { place } = one;
    this.#put(one, other.place);
    this.#put(other, place);
  }

  #put(item: T, place: number): void {
    item.place = place;
    this.#items[place] = item;
  }
}

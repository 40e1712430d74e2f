interface Numbered {
  /** The stream identifier, which is odd. */
  readonly id: number;
}

const FIRST_SLOTS = 8;

/**
 * The open streams of a connection by number. A hash table with open addressing: a Map replaces its table every few changes, and
 * a replaced table in old memory keeps alive streams that closed long ago.
 */
export class StreamTable<T extends Numbered> {
  /** The slots: a power of two, at most half of them in use. */
  #slots: (T | undefined)[] = new Array(FIRST_SLOTS).fill(undefined);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(id: number): T | undefined {
    return this.#slots[this.#find(id)];
  }

  /** Adds a stream. Call it once for each number. */
  add(stream: T): void {
    if (2 * (this.#size + 1) > this.#slots.length) this.#grow();
    this.#slots[this.#find(stream.id)] = stream;
    this.#size++;
  }

  /** Removes a stream. Does nothing if it is not there. */
  delete(id: number): void {
    const slots = this.#slots;
    const mask = slots.length - 1;
    let gap = this.#find(id);
    if (slots[gap] === undefined) return;
    this.#size--;
    // Move up streams that could no longer be found across the gap.
    for (let at = (gap + 1) & mask; ; at = (at + 1) & mask) {
      const next = slots[at];
      if (next === undefined) break;
      if (((at - this.#home(next.id)) & mask) < ((at - gap) & mask)) continue;
      slots[gap] = next;
      gap = at;
    }
    slots[gap] = undefined;
  }

  /** Returns a copy, unordered. */
  all(): T[] {
    return this.#slots.filter(stream => stream !== undefined);
  }

  /** Returns the slot that holds this number, or would. */
  #find(id: number): number {
    const slots = this.#slots;
    const mask = slots.length - 1;
    let at = this.#home(id);
    for (let stream = slots[at]; stream !== undefined && stream.id !== id; stream = slots[at])
      at = (at + 1) & mask;
    return at;
  }

  #home(id: number): number {
    return (id >>> 1) & (this.#slots.length - 1);
  }

  #grow(): void {
    const streams = this.all();
    this.#slots = new Array(2 * this.#slots.length).fill(undefined);
    for (const stream of streams) this.#slots[this.#find(stream.id)] = stream;
  }
}

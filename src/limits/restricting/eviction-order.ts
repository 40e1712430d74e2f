/** An item that knows its place in a heap. */
export interface HeapItem {
  /** Set by the heap that holds it. */
  place: number;
}

/** A binary heap from which any item can be removed, in logarithmic time. */
export class Heap<T extends HeapItem> {
  readonly #items: T[];
  readonly #isBefore: (one: T, other: T) => boolean;

  /**
   * @param first its first item. Most heaps have only one, and an array created with it takes less memory than one that grows.
   */
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

/** A member of a table, which may be evicted when the table is full. */
export interface Member extends HeapItem {
  /** Identifies the network of its client; '' for all clients without one. */
  readonly network: string;
  readonly untilMs: number;
}

interface Network<T extends Member> extends HeapItem {
  readonly members: Heap<T>;
}

/**
 * Chooses which member of a full table is evicted: the one that ends first, of the network that holds most. So a flood from one
 * network takes places only from itself.
 */
export class EvictionOrder<T extends Member> {
  readonly #networks = new Map<string, Network<T>>();
  readonly #crowded = new Heap<Network<T>>(isMoreCrowded);

  /** The member that is evicted first; undefined if there is none. */
  get first(): T | undefined {
    return this.#crowded.first?.members.first;
  }

  add(member: T): void {
    const known = this.#networks.get(member.network);
    if (known !== undefined) {
      known.members.add(member);
      this.#crowded.update(known);
    } else {
      const network = { members: new Heap<T>(endsBefore, member), place: 0 };
      this.#networks.set(member.network, network);
      this.#crowded.add(network);
    }
  }

  /** `member` must have been added. */
  delete(member: T): void {
    const network = this.#networks.get(member.network);
    if (network === undefined) return;
    network.members.delete(member);
    if (network.members.size > 0) this.#crowded.update(network);
    else {
      this.#networks.delete(member.network);
      this.#crowded.delete(network);
    }
  }
}

function endsBefore(one: Member, other: Member): boolean {
  return one.untilMs < other.untilMs;
}

function isMoreCrowded<T extends Member>(
  { members: one }: Network<T>,
  { members: other }: Network<T>,
): boolean {
  if (one.size !== other.size) return one.size > other.size;
  return (one.first?.untilMs ?? 0) < (other.first?.untilMs ?? 0);
}

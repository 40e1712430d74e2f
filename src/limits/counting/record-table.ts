/** The words of a record that belong to the table; the rest is its user's. */
const NEXT = 0;
const HASH = 1;

/**
 * Records of a fixed number of 32-bit words, handed out by number and found again by hash. They lie one after the other in one
 * buffer: the garbage collector sees a single object, and a look touches one or two lines of the processor's cache.
 *
 * Not a Map: one of a million strings stands still for 80 ms when it grows or has had its share of deletions, and takes
 * one string for a key where a counter has three parts. This is laid out for its capacity at once (pages cost nothing
 * until they are touched) and never rebuilt.
 */
export class RecordTable {
  readonly capacity: number;
  /** Words of a record. */
  readonly #width: number;
  /** All records as integers: word `w` of record `r` is at `r * width + w`. Words 0 and 1 are the table's own. */
  readonly ints: Int32Array;
  /** The same as floats of two words each. */
  readonly floats: Float64Array;
  // Records are written + 1 here and in NEXT, so that the zeros of a fresh buffer mean "none".
  readonly #heads: Int32Array;
  readonly #mask: number;
  #free = 0;
  #used = 0;
  #size = 0;

  /** `width`: words of a record, an even number, the table's own two included. */
  constructor(capacity: number, width: number) {
    this.capacity = capacity;
    this.#width = width;
    this.ints = new Int32Array(capacity * width);
    this.floats = new Float64Array(this.ints.buffer);
    const heads = 2 ** Math.ceil(Math.log2(Math.max(2, capacity)));
    this.#heads = new Int32Array(heads);
    this.#mask = heads - 1;
  }

  /** Records held now. */
  get size(): number {
    return this.#size;
  }

  /** Records that were ever held: those from this number on are fresh. */
  get used(): number {
    return this.#used;
  }

  /** A record under this hash, or -1 when all are held. Its words are what they were when it was last held. */
  take(hash: number): number {
    const { ints } = this;
    let record = this.#free - 1;
    if (record >= 0) this.#free = ints[record * this.#width + NEXT] ?? 0;
    else if (this.#used < this.capacity) record = this.#used++;
    else return -1;
    const head = hash & this.#mask;
    ints[record * this.#width + HASH] = hash;
    ints[record * this.#width + NEXT] = this.#heads[head] ?? 0;
    this.#heads[head] = record + 1;
    this.#size++;
    return record;
  }

  /** Takes a held record out and keeps it for the next `take`. */
  giveBack(record: number): void {
    const { ints } = this;
    const head = (ints[record * this.#width + HASH] ?? 0) & this.#mask;
    const after = this.after(record) + 1;
    let at = (this.#heads[head] ?? 0) - 1;
    if (at === record) this.#heads[head] = after;
    else {
      while (this.after(at) !== record) at = this.after(at);
      ints[at * this.#width + NEXT] = after;
    }
    ints[record * this.#width + NEXT] = this.#free;
    this.#free = record + 1;
    this.#size--;
  }

  /** The first record that may have this hash, or -1. */
  first(hash: number): number {
    return (this.#heads[hash & this.#mask] ?? 0) - 1;
  }

  /** The next after one that `first` or `after` returned, or -1. */
  after(record: number): number {
    return (this.ints[record * this.#width + NEXT] ?? 0) - 1;
  }

  hasHash(record: number, hash: number): boolean {
    return this.ints[record * this.#width + HASH] === hash;
  }
}

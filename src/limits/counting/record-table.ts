/** The word of a record that belongs to the table; the others belong to its user. */
const NEXT = 0;

/**
 * Records of a fixed number of 32-bit words, handed out by number and found again by hash. They lie in one buffer, so the garbage
 * collector sees a single object, and a lookup touches one or two cache lines.
 *
 * Not a Map: a Map of a million strings stalls for 80 ms when it grows or is rebuilt after deletions, and would need a string
 * for each key, whereas a counter's key has three parts. This table is allocated for its full capacity at once (pages cost
 * nothing until they are touched) and never rebuilt.
 */
export class RecordTable {
  readonly capacity: number;
  /** Words of a record. */
  readonly #width: number;
  /** All records as integers: word `w` of record `r` is at `r * width + w`. Word 0 is the table's own. */
  readonly ints: Int32Array;
  /** The same memory as floats of two words each. */
  readonly floats: Float64Array;
  // Here and in NEXT a record is stored as its number + 1, so that the zeros of a fresh buffer mean "none".
  readonly #heads: Int32Array;
  readonly #mask: number;
  #free = 0;
  #used = 0;
  #size = 0;

  /** `width`: words of a record, an even number that includes the table's own. */
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

  /** Records ever held: those from this number on are untouched. */
  get used(): number {
    return this.#used;
  }

  /** Takes a record under this hash, or returns -1 if all are held. Its words keep their values from the last use. */
  take(hash: number): number {
    const { ints } = this;
    let record = this.#free - 1;
    if (record >= 0) this.#free = ints[record * this.#width + NEXT] ?? 0;
    else if (this.#used < this.capacity) record = this.#used++;
    else return -1;
    const head = hash & this.#mask;
    ints[record * this.#width + NEXT] = this.#heads[head] ?? 0;
    this.#heads[head] = record + 1;
    this.#size++;
    return record;
  }

  /** Frees a held record for the next `take`. `hash`: the one that it was taken under. */
  giveBack(record: number, hash: number): void {
    const { ints } = this;
    const head = hash & this.#mask;
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

  /** The first record whose hash may be this one, or -1. */
  first(hash: number): number {
    return (this.#heads[hash & this.#mask] ?? 0) - 1;
  }

  /** The record after one that `first` or `after` returned, or -1. */
  after(record: number): number {
    return (this.ints[record * this.#width + NEXT] ?? 0) - 1;
  }
}

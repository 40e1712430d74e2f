import type { TableMemory, Words } from '../../core/index.ts';

const KEY_BYTES = 8;

/**
 * Represents a string in a table by 64 bits of HalfSipHash-1-3 under a secret key. Without the key, nobody can choose strings
 * that collide. The chance that any two of a million strings share a value is 3 in a hundred million; those two would count as
 * one, so that they are admitted less often, never more.
 *
 * The strings themselves are not kept: they would be the only objects in a table for the garbage collector to trace, they can
 * have any length, and a slice of a request's head keeps the complete head alive. Source: https://github.com/veorq/SipHash
 * (halfsiphash.c, with one round per word and three to finish)
 */
export class StringHash {
  /** The hash of the last string read, as two signed integers; both 0 for the empty string. */
  low = 0;
  high = 0;
  readonly #key0: number;
  readonly #key1: number;
  // The limits of one request hash the same strings in turn.
  #last = '';

  constructor(key0: number, key1: number) {
    this.#key0 = key0 | 0;
    this.#key1 = key1 | 0;
  }

  /** Derives a key for the name, which no client can guess from other random numbers it has seen. */
  static withRandomKey(memory: TableMemory, name: string): StringHash {
    const key = memory.hashKey(name, KEY_BYTES);
    return new StringHash(key.readInt32LE(0), key.readInt32LE(4));
  }

  read(text: string): void {
    if (text === this.#last) return;
    this.#last = text;
    if (text === '') this.low = this.high = 0;
    else this.#compute(text);
  }

  /** Hashes the string's UTF-16 units, low byte first. */
  #compute(text: string): void {
    let v0 = this.#key0;
    let v1 = this.#key1 ^ 0xee;
    let v2 = this.#key0 ^ 0x6c796765;
    let v3 = this.#key1 ^ 0x74656462;
    // One round per word of two units (the last word contains the length), then two finalisations of three rounds without a word.
    const words = (text.length >> 1) + 1;
    for (let i = 0; i < words + 6; i++) {
      const word = i < words ? wordAt(text, i * 2) : 0;
      if (i === words) v2 ^= 0xee;
      if (i === words + 3) {
        this.low = v1 ^ v3;
        v1 ^= 0xdd;
      }
      v3 ^= word;
      v0 = (v0 + v1) | 0;
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
      v0 = (v0 << 16) | (v0 >>> 16);
      v2 = (v2 + v3) | 0;
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
      v0 = (v0 + v3) | 0;
      v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
      v2 = (v2 + v1) | 0;
      v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
      v2 = (v2 << 16) | (v2 >>> 16);
      v0 ^= word;
    }
    this.high = v1 ^ v3;
  }
}

function wordAt(text: string, at: number): number {
  if (at + 1 < text.length) return text.charCodeAt(at) | (text.charCodeAt(at + 1) << 16);
  return (at < text.length ? text.charCodeAt(at) : 0) | (text.length << 25);
}

/** The word of a record that belongs to the table. All others belong to its user. */
const NEXT = 0;

/**
 * The words of a table outside its records. Here and in NEXT a record is stored as its number + 1: the zeros of fresh memory mean
 * "none".
 */
const FREE = 0;
const USED = 1;
const SIZE = 2;
/** The first of the heads, on another cache line. */
const HEADS = 32;

/**
 * Records of a fixed number of 32-bit words, identified by number and found by hash. They are in one buffer, so the garbage
 * collector sees a single object, and a lookup touches one or two cache lines.
 *
 * Not a Map: a Map of a million strings stalls for 80 ms when it grows or is rebuilt after deletions, and would need a string for
 * each key, whereas a counter's key has three parts. This table is allocated for its full capacity at once (pages cost nothing
 * until they are touched) and never rebuilt.
 */
export class RecordTable {
  readonly capacity: number;
  /** Words per record. */
  readonly #width: number;
  /** All records: word `w` of record `r` is at `r * width + w`. Word 0 belongs to the table. */
  readonly records: Words;
  /** The words as integers, and as floats of two words each. Read-only. */
  readonly ints: Int32Array;
  readonly floats: Float64Array;
  readonly #index: Words;
  readonly #mask: number;

  /**
   * @param name identifies the table in shared memory
   * @param width words of a record, an even number that includes the table's own
   */
  constructor(memory: TableMemory, name: string, capacity: number, width: number) {
    this.capacity = capacity;
    this.#width = width;
    this.records = memory.words(name, capacity * width);
    this.ints = this.records.ints;
    this.floats = this.records.floats;
    const heads = 2 ** Math.ceil(Math.log2(Math.max(2, capacity)));
    this.#index = memory.words(`${name} index`, HEADS + heads);
    this.#mask = heads - 1;
  }

  get size(): number {
    return this.#index.ints[SIZE] ?? 0;
  }

  /** How many records were ever in use: those from this number on are untouched. */
  get used(): number {
    return this.#index.ints[USED] ?? 0;
  }

  /** Takes a record under this hash, or returns -1 if all are in use. Its words keep their values from the last use. */
  take(hash: number): number {
    const index = this.#index;
    let record = (index.ints[FREE] ?? 0) - 1;
    if (record >= 0) index.set(FREE, this.after(record) + 1);
    else if (this.used < this.capacity) record = index.add(USED, 1) - 1;
    else return -1;
    const head = this.#headOf(hash);
    this.#link(record, index.ints[head] ?? 0);
    index.set(head, record + 1);
    index.add(SIZE, 1);
    return record;
  }

  /** Frees a held record for the next `take`. `hash`: the one that it was taken under. */
  giveBack(record: number, hash: number): void {
    const index = this.#index;
    const after = this.after(record) + 1;
    let at = this.first(hash);
    if (at === record) index.set(this.#headOf(hash), after);
    else {
      while (this.after(at) !== record) at = this.after(at);
      this.#link(at, after);
    }
    this.#link(record, index.ints[FREE] ?? 0);
    index.set(FREE, record + 1);
    index.add(SIZE, -1);
  }

  /** The first record whose hash may be this one, or -1. */
  first(hash: number): number {
    return (this.#index.ints[this.#headOf(hash)] ?? 0) - 1;
  }

  /** The record after one that `first` or `after` returned, or -1. */
  after(record: number): number {
    return (this.ints[record * this.#width + NEXT] ?? 0) - 1;
  }

  #headOf(hash: number): number {
    return HEADS + (hash & this.#mask);
  }

  #link(record: number, next: number): void {
    this.records.set(record * this.#width + NEXT, next);
  }
}

// Words of a named record.
const LOW = 1;
const HIGH = 2;
/** The first word of a named record that belongs to its user. */
export const FIRST_NAMED_WORD = 3;

/** Records found by a name, of which they store the hash. */
export class NamedTable extends RecordTable {
  readonly #hash: StringHash;
  readonly #width: number;

  /** `width`: an even number that includes the words of the name. */
  constructor(memory: TableMemory, name: string, capacity: number, width: number) {
    super(memory, name, capacity, width);
    this.#hash = StringHash.withRandomKey(memory, name);
    this.#width = width;
  }

  /** Returns the record of this name, or -1. */
  find(name: string): number {
    this.#hash.read(name);
    return this.findHash(this.#hash.low, this.#hash.high);
  }

  findHash(low: number, high: number): number {
    for (let at = this.first(low); at >= 0; at = this.after(at)) {
      const word = at * this.#width;
      if (this.ints[word + LOW] === low && this.ints[word + HIGH] === high) return at;
    }
    return -1;
  }

  /** Adds a record for a name that has none; its words are 0. Returns -1 if all are held. */
  add(name: string): number {
    this.#hash.read(name);
    return this.addHash(this.#hash.low, this.#hash.high);
  }

  addHash(low: number, high: number): number {
    const at = this.take(low);
    if (at < 0) return -1;
    const word = at * this.#width;
    this.records.set(word + LOW, low);
    this.records.set(word + HIGH, high);
    for (let i = FIRST_NAMED_WORD; i < this.#width; i++) this.records.set(word + i, 0);
    return at;
  }

  hashOf(record: number): readonly [low: number, high: number] {
    const word = record * this.#width;
    return [this.ints[word + LOW] ?? 0, this.ints[word + HIGH] ?? 0];
  }

  drop(record: number): void {
    const word = record * this.#width;
    this.giveBack(record, this.ints[word + LOW] ?? 0);
    this.records.set(word + LOW, 0);
    this.records.set(word + HIGH, 0);
  }

  isHeld(record: number): boolean {
    const word = record * this.#width;
    return this.ints[word + LOW] !== 0 || this.ints[word + HIGH] !== 0;
  }
}

/**
 * The number of entries of a table kept next to the counters of limits: `most` for a million counters or more, fewer in
 * proportion, but up to a thousand no fewer than counters.
 */
export function tableSizeFor(most: number, limitKeys: number): number {
  return Math.min(most, Math.max(Math.ceil((most * limitKeys) / 1_000_000), Math.min(limitKeys, 1_000)));
}

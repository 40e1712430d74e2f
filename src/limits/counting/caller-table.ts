import { RecordTable } from './record-table.ts';
import type { StringHash } from './string-hash.ts';

// Words of a record.
const WIDTH = 6;
const HIGH = 2;
const COUNTERS = 3;
const PARTS = 4;

/** The callers that hold counters, and how many each holds. Drops a caller along with its last counter. */
export class CallerTable {
  readonly #table: RecordTable;
  readonly #hash: StringHash;

  constructor(capacity: number, hash: StringHash) {
    this.#table = new RecordTable(capacity, WIDTH);
    this.#hash = hash;
  }

  get size(): number {
    return this.#table.size;
  }

  /** The caller's number, or -1. */
  find(caller: string): number {
    this.#hash.read(caller);
    const { low, high } = this.#hash;
    const table = this.#table;
    for (let at = table.first(low); at >= 0; at = table.after(at)) {
      if (table.hasHash(at, low) && table.ints[at * WIDTH + HIGH] === high) return at;
    }
    return -1;
  }

  /** The caller's number, created if needed. Give it a counter right away. */
  findOrEnter(caller: string): number {
    const found = this.find(caller);
    if (found >= 0) return found;
    const entered = this.#table.take(this.#hash.low);
    const { ints } = this.#table;
    ints[entered * WIDTH + HIGH] = this.#hash.high;
    ints[entered * WIDTH + COUNTERS] = 0;
    ints[entered * WIDTH + PARTS] = 0;
    return entered;
  }

  /** How many counters of this caller are for a main value. */
  parts(caller: number): number {
    return this.#table.ints[caller * WIDTH + PARTS] ?? 0;
  }

  addCounter(caller: number, ofPart: boolean): void {
    this.#change(caller, COUNTERS, 1);
    if (ofPart) this.#change(caller, PARTS, 1);
  }

  removeCounter(caller: number, ofPart: boolean): void {
    if (ofPart) this.#change(caller, PARTS, -1);
    if (this.#change(caller, COUNTERS, -1) === 0) this.#table.giveBack(caller);
  }

  #change(caller: number, word: number, by: number): number {
    const { ints } = this.#table;
    const count = (ints[caller * WIDTH + word] ?? 0) + by;
    ints[caller * WIDTH + word] = count;
    return count;
  }
}

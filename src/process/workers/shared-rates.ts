import {
  MAIN_THREAD,
  type NewRate,
  ownRates,
  RATE_SLOTS,
  type Rate,
  type TableMemory,
} from '../../core/index.ts';
import { FIRST_NAMED_WORD, NamedTable } from '../../limits/index.ts';

/** More than the number of names in any process: two for each upstream. Beyond it, each thread counts on its own. */
const MAX_RATES = 2_048;

const { slots: SLOTS, slotMs: SLOT_MS } = RATE_SLOTS;
// Offsets of words in a slot: its number, counted from 1 since the clock began, and the count in it.
const SLOT_WORDS = 2;
const NUMBER = 0;
const COUNT = 1;
const COLUMN = SLOTS * SLOT_WORDS;

/**
 * The rates that the threads of a process share. Each thread counts in its own column, so that a request needs no lock; the
 * columns are added up when the total is asked for.
 */
export class SharedRates {
  readonly #memory: TableMemory;
  readonly #table: NamedTable;
  readonly #width: number;

  constructor(memory: TableMemory) {
    this.#memory = memory;
    this.#width = 2 * Math.ceil((FIRST_NAMED_WORD + COLUMN * memory.threads) / 2);
    this.#table = new NamedTable(memory, 'rates', MAX_RATES, this.#width);
  }

  /** The main thread must not wait for the lock, and sends no requests, so it counts nothing. */
  readonly named: NewRate = name =>
    this.#memory.worker === MAIN_THREAD ? ownRates(name) : this.#memory.whole(() => this.#open(name));

  #open(name: string): Rate {
    const known = this.#table.find(name);
    const record = known >= 0 ? known : this.#table.add(name);
    const from = record * this.#width + FIRST_NAMED_WORD;
    return record < 0 ? ownRates(name) : new SharedRate(this.#table.ints, from, this.#memory);
  }
}

class SharedRate implements Rate {
  readonly #ints: Int32Array;
  readonly #from: number;
  readonly #to: number;
  /** Where the column of this thread begins. */
  readonly #own: number;

  constructor(ints: Int32Array, from: number, { worker, threads }: TableMemory) {
    this.#ints = ints;
    this.#from = from;
    this.#to = from + threads * COLUMN;
    this.#own = from + worker * COLUMN;
  }

  /** No other thread writes here, so nothing has to be undone if this one dies. */
  add(nowMs: number): void {
    const ints = this.#ints;
    const slot = slotOf(nowMs);
    const at = this.#own + (slot % SLOTS) * SLOT_WORDS;
    if (ints[at + NUMBER] !== slot) ints[at + COUNT] = 0;
    ints[at + NUMBER] = slot;
    ints[at + COUNT] = (ints[at + COUNT] ?? 0) + 1;
  }

  total(nowMs: number): number {
    const ints = this.#ints;
    const oldest = slotOf(nowMs) - SLOTS + 1;
    let total = 0;
    for (let at = this.#from; at < this.#to; at += SLOT_WORDS)
      if ((ints[at + NUMBER] ?? 0) >= oldest) total += ints[at + COUNT] ?? 0;
    return total;
  }
}

function slotOf(nowMs: number): number {
  return Math.floor(nowMs / SLOT_MS) + 1;
}

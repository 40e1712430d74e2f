import type { TableMemory } from '../../core/index.ts';
import { FIRST_NAMED_WORD, NamedTable } from '../../limits/index.ts';
import { type NewRetryCounts, RETRY_SLOTS, type RetryCounts } from '../../upstream/index.ts';

/** More names of upstreams than a process ever sees. Those beyond share one. */
const MAX_UPSTREAMS = 1_024;

const { slots: SLOTS, slotMs: SLOT_MS } = RETRY_SLOTS;
// Offsets of words in a slot: its number since the clock began, from 1 on, and what was counted in it.
const SLOT_WORDS = 2;
const NUMBER = 0;
const COUNT = 1;
const COLUMN = SLOTS * SLOT_WORDS;

/**
 * Counts requests and retries of each upstream for all threads of a process. Each thread counts in its own column, so that a
 * request needs no lock; the columns are added up when a retry is requested.
 */
export class SharedRetryCounts {
  readonly #memory: TableMemory;
  readonly #table: NamedTable;
  readonly #width: number;

  constructor(memory: TableMemory) {
    this.#memory = memory;
    this.#width = 2 * Math.ceil((FIRST_NAMED_WORD + 2 * COLUMN * memory.threads) / 2);
    this.#table = new NamedTable(memory, 'retries', MAX_UPSTREAMS, this.#width);
  }

  readonly named: NewRetryCounts = upstream => {
    const memory = this.#memory;
    // The main thread, which must not wait, sends no requests.
    let start = -1;
    const place = () => {
      if (start < 0) start = memory.whole(() => this.#startOf(upstream));
      return start;
    };
    const requests = this.#countAt(place);
    const retries = this.#countAt(() => place() + COLUMN * memory.threads);
    return { requests, retries, alone: run => memory.whole(run) };
  };

  /** Returns the offset of an upstream's first word. */
  #startOf(upstream: string): number {
    const known = this.#table.find(upstream);
    const record = known >= 0 ? known : this.#table.add(upstream);
    return Math.max(0, record) * this.#width + FIRST_NAMED_WORD;
  }

  #countAt(start: () => number): RetryCounts['requests'] {
    const { ints } = this.#table;
    const { worker, threads } = this.#memory;
    return {
      // No other thread writes here, so nothing has to be undone if this one dies.
      add(nowMs) {
        const slot = slotOf(nowMs);
        const at = start() + worker * COLUMN + (slot % SLOTS) * SLOT_WORDS;
        if (ints[at + NUMBER] !== slot) ints[at + COUNT] = 0;
        ints[at + NUMBER] = slot;
        ints[at + COUNT] = (ints[at + COUNT] ?? 0) + 1;
      },
      total(nowMs) {
        const oldest = slotOf(nowMs) - SLOTS + 1;
        const [from, to] = [start(), start() + threads * COLUMN];
        let total = 0;
        for (let at = from; at < to; at += SLOT_WORDS)
          if ((ints[at + NUMBER] ?? 0) >= oldest) total += ints[at + COUNT] ?? 0;
        return total;
      },
    };
  }
}

function slotOf(nowMs: number): number {
  return Math.floor(nowMs / SLOT_MS) + 1;
}

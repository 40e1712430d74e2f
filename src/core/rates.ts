/** Counts events, and tells how many there were recently. Times are on the monotonic clock, in milliseconds. */
export interface Rate {
  add(nowMs: number): void;
  total(nowMs: number): number;
}

/** Makes the rate with this name: of the last 10 s. Threads that share rates identify them by name. */
export type NewRate = (name: string) => Rate;

/** Rates count in this many slots of this many milliseconds. */
export const RATE_SLOTS = { slots: 10, slotMs: 1_000 } as const;

/** Makes rates that are not shared, whatever their name. */
export const ownRates: NewRate = () => new RecentCount(RATE_SLOTS.slots, RATE_SLOTS.slotMs);

/** Counts recent events in time slots, so that it needs no timer and little memory. */
export class RecentCount implements Rate {
  readonly #slotMs: number;
  readonly #slots: number[];
  /** The number of the newest slot since the clock began. */
  #newest = 0;
  #total = 0;

  /** @param slots each lasts `slotMs`; the oldest one is dropped first */
  constructor(slots: number, slotMs: number) {
    this.#slots = new Array<number>(slots).fill(0);
    this.#slotMs = slotMs;
  }

  add(nowMs: number): void {
    this.#forget(nowMs);
    const at = this.#newest % this.#slots.length;
    this.#slots[at] = (this.#slots[at] ?? 0) + 1;
    this.#total++;
  }

  total(nowMs: number): number {
    if (this.#total > 0) this.#forget(nowMs);
    return this.#total;
  }

  #forget(nowMs: number): void {
    const now = Math.floor(nowMs / this.#slotMs);
    const { length } = this.#slots;
    for (let slot = Math.max(this.#newest + 1, now - length + 1); slot <= now; slot++) {
      this.#total -= this.#slots[slot % length] ?? 0;
      this.#slots[slot % length] = 0;
    }
    this.#newest = Math.max(this.#newest, now);
  }
}

/** How often `advance` is called. */
export const TICK_MS = 5_000;

/** Whole ticks in the last minute: with the one under way, 55 to 60 seconds. */
const TICKS = 11;
const TICKS_IN_MINUTE = 60_000 / TICK_MS;
const MINUTES = 60;

/** How much a count that only grows has grown lately. Costs nothing while it grows: it is looked at every few seconds. */
export class SlidingCount {
  /** Growth by tick, then by minute, both as rings. */
  readonly #growth = new Uint32Array(TICKS + MINUTES);
  #seen = 0;
  #tick = 0;

  /** Ends a tick. `total`: the count now; one that is smaller than before began anew. */
  advance(total: number): void {
    const growth = this.#since(total);
    this.#seen = total;
    this.#growth[this.#tick % TICKS] = growth;
    const minute = TICKS + (Math.floor(this.#tick / TICKS_IN_MINUTE) % MINUTES);
    const before = this.#tick % TICKS_IN_MINUTE === 0 ? 0 : (this.#growth[minute] ?? 0);
    this.#growth[minute] = before + growth;
    this.#tick++;
  }

  lastMinute(total: number): number {
    return this.#since(total) + sum(this.#growth.subarray(0, TICKS));
  }

  lastHour(total: number): number {
    return this.#since(total) + sum(this.#growth.subarray(TICKS));
  }

  /** Growth in the tick under way. */
  #since(total: number): number {
    return total >= this.#seen ? total - this.#seen : total;
  }
}

function sum(numbers: Uint32Array): number {
  return numbers.reduce((total, number) => total + number, 0);
}

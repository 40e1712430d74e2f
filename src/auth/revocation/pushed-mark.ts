/** A not-before mark that the provider pushed. */
export interface Pushed {
  /** Seconds since the epoch; 0: none. */
  readonly markS: number;
  /** The push of the highest order counts; of equal ones the higher mark. */
  readonly order: number;
}

/** Holds the newest push, which may have lowered the mark. */
export class PushedMark {
  #newest: (Pushed & { readonly untilMs: number }) | null = null;

  get newest(): Pushed | null {
    return this.#newest;
  }

  /** Until when gateways that start later have to learn of it, since the epoch. */
  get untilMs(): number {
    return this.#newest?.untilMs ?? 0;
  }

  /**
   * Takes a push, unless a newer one is known. It is kept longer than the one before it, which would else come back at gateways
   * that start later.
   */
  take({ markS, order }: Pushed, untilMs: number): boolean {
    const before = this.#newest;
    if (before !== null) {
      if (order < before.order) return false;
      if (order === before.order && markS <= before.markS) return false;
    }
    this.#newest = { markS, order, untilMs: Math.max(untilMs, this.untilMs + 1_000) };
    return true;
  }
}

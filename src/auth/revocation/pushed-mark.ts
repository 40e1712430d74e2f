/** A not-before mark that the provider pushed. */
export interface Pushed {
  /** Seconds since the epoch; 0: none. */
  readonly markS: number;
  /** The push of the highest order counts; of equal ones the higher mark. */
  readonly order: number;
}

/** More pushes than anyone sends within the lifetime of a token. */
const MAX_SUPERSEDED = 100;

/** Holds the newest push, which may have lowered the mark. */
export class PushedMark {
  #newest: (Pushed & { readonly untilMs: number }) | null = null;
  /** The marks of older pushes. */
  readonly #superseded = new Set<number>();

  get newest(): Pushed | null {
    return this.#newest;
  }

  /** Until when gateways that start later have to learn of it, since the epoch. */
  get untilMs(): number {
    return this.#newest?.untilMs ?? 0;
  }

  /**
   * Takes a push, unless a newer one is known. It is kept longer than the one before it, which would otherwise come back at gateways
   * that start later.
   */
  take({ markS, order }: Pushed, untilMs: number): boolean {
    const before = this.#newest;
    if (before !== null) {
      const isOlder = order < before.order || (order === before.order && markS <= before.markS);
      this.#supersede(isOlder ? markS : before.markS);
      if (isOlder) return false;
    }
    this.#newest = { markS, order, untilMs: Math.max(untilMs, this.untilMs + 1_000) };
    return true;
  }

  /** Whether the provider had pushed this mark for everyone and has taken it back. */
  hasTakenBack(markS: number): boolean {
    return this.#newest !== null && markS > this.#newest.markS && this.#superseded.has(markS);
  }

  #supersede(markS: number): void {
    this.#superseded.delete(markS);
    this.#superseded.add(markS);
    const [oldest] = this.#superseded;
    if (this.#superseded.size > MAX_SUPERSEDED && oldest !== undefined) this.#superseded.delete(oldest);
  }
}

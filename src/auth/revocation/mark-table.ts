/**
 * A bounded table of marks (times) by digest. Drops the oldest first: at once if every token that they refuse has expired, else only
 * when the table is full, which it reports.
 */
export class MarkTable {
  readonly #marks = new Map<string, number>();
  readonly #maxEntries: number;
  readonly #onEvicted: (digest: string, markS: number) => void;

  /** @param onEvicted called with a mark that was dropped although it still mattered */
  constructor(maxEntries: number, onEvicted: (digest: string, markS: number) => void) {
    this.#maxEntries = maxEntries;
    this.#onEvicted = onEvicted;
  }

  get size(): number {
    return this.#marks.size;
  }

  /** The mark in seconds since the epoch; 0 if there is none. */
  markOf(digest: string): number {
    return this.#marks.size === 0 ? 0 : (this.#marks.get(digest) ?? 0);
  }

  /**
   * Sets a mark unless there is one at least as high.
   *
   * @param overS marks up to this one no longer matter
   * @returns whether it changed
   */
  raise(digest: string, markS: number, overS: number): boolean {
    if (!(markS > this.markOf(digest) && markS > overS)) return false;
    this.#marks.delete(digest);
    for (const [oldest, mark] of this.#marks) {
      const isOver = mark <= overS;
      if (!isOver && this.#marks.size < this.#maxEntries) break;
      this.#marks.delete(oldest);
      if (!isOver) this.#onEvicted(oldest, mark);
    }
    this.#marks.set(digest, markS);
    return true;
  }

  entries(): IterableIterator<[digest: string, markS: number]> {
    return this.#marks.entries();
  }
}

/** A not-before mark that the provider pushed. */
export interface Pushed {
  /** Seconds since the epoch; 0 takes the mark back. */
  readonly markS: number;
  /** The push with the highest order counts; with equal orders, the higher mark. */
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

  /** How long gateways that start later must learn of the push, since the epoch. */
  get untilMs(): number {
    return this.#newest?.untilMs ?? 0;
  }

  /**
   * Takes a push, unless a newer one is known. Keeps it longer than the previous one, which would otherwise take effect again at
   * gateways that start later.
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

  /** Whether the provider pushed this mark for everyone and took it back later. */
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

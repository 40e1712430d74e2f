/**
 * Moments by digest, of which only a bounded number is kept. The oldest give way first: those that no living token can predate
 * at once, others only when the table is full, which is reported.
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

  /** Seconds since the epoch; 0: none. */
  markOf(digest: string): number {
    return this.#marks.size === 0 ? 0 : (this.#marks.get(digest) ?? 0);
  }

  /**
   * Sets a mark unless there is one as high.
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

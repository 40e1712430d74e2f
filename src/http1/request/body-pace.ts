import type { BodyTerms } from '../body/index.ts';

/** From then on the average rate counts: a body may begin slowly, and a connection needs time to find its speed. */
const GRACE_MS = 30_000;
const NOT_SEEN = -1;

/**
 * How long a body has been read for, and whether it came fast enough. Looks at it only when swept, so that the bytes themselves
 * cost nothing for it.
 */
export class BodyPace {
  readonly #terms: BodyTerms;
  #seenMs = NOT_SEEN;
  #readMs = 0;
  #isLate = false;

  constructor(terms: BodyTerms) {
    this.#terms = terms;
  }

  /**
   * Whether the body comes too slowly. Says so at the second sweep that sees it: a process that was stopped reads what has
   * waited for it between the two.
   *
   * @param wasRead the body was read all the time since the last sweep: while an upstream is slow, its client cannot be
   * @param bytes of the body so far
   */
  isTooSlow(nowMs: number, wasRead: boolean, bytes: number): boolean {
    if (wasRead && this.#seenMs !== NOT_SEEN) this.#readMs += nowMs - this.#seenMs;
    this.#seenMs = nowMs;
    const wasLate = this.#isLate;
    this.#isLate = this.#misses(this.#terms, bytes);
    return wasLate && this.#isLate;
  }

  #misses({ minBytesPerS, deadlineMs }: BodyTerms, bytes: number): boolean {
    if (deadlineMs !== null && this.#readMs >= deadlineMs) return true;
    return minBytesPerS !== null && this.#readMs >= GRACE_MS && bytes * 1_000 < minBytesPerS * this.#readMs;
  }
}

import type { BodyTerms } from '../http1/index.ts';

/** Time before the average rate counts: a body may begin slowly, and a connection needs time to speed up. */
const GRACE_MS = 30_000;
const NOT_SEEN = -1;

/** A body as it is measured. */
export interface PacedBody {
  readonly terms: BodyTerms;
  /** Whether its bytes are read now. */
  readonly flows: boolean;
  /** How many bytes of data have been read. */
  readonly bytes: number;
}

/** Measures how long a connection has read a body, and whether the body arrives fast enough. Only sweeps measure, not bytes. */
export class BodyPace {
  #body: PacedBody | null = null;
  #terms: BodyTerms | null = null;
  #seenMs = NOT_SEEN;
  #readMs = 0;
  #isLate = false;
  /** True if the body was not read at some moment since the last sweep: while an upstream is slow, its client cannot be blamed. */
  #stoodStill = true;

  /** Notes that the body is not read for now. */
  stoodStill(): void {
    this.#stoodStill = true;
  }

  /**
   * Whether the sender of this body misses its terms. True only at the second sweep that finds so: a process that was stopped
   * reads between the two what has waited for it. Ask at each sweep, and only then.
   */
  isTooSlow(nowMs: number, body: PacedBody): boolean {
    if (body !== this.#body || body.terms !== this.#terms) this.#begin(body);
    const wasRead = body.flows && !this.#stoodStill;
    this.#stoodStill = !body.flows;
    if (wasRead && this.#seenMs !== NOT_SEEN) this.#readMs += nowMs - this.#seenMs;
    this.#seenMs = nowMs;
    const wasLate = this.#isLate;
    this.#isLate = this.#misses(body.terms, body.bytes);
    return wasLate && this.#isLate;
  }

  #begin(body: PacedBody): void {
    this.#body = body;
    this.#terms = body.terms;
    this.#seenMs = NOT_SEEN;
    this.#readMs = 0;
    this.#isLate = false;
  }

  #misses({ minBytesPerS, deadlineMs }: BodyTerms, bytes: number): boolean {
    if (deadlineMs !== null && this.#readMs >= deadlineMs) return true;
    return minBytesPerS !== null && this.#readMs >= GRACE_MS && bytes * 1_000 < minBytesPerS * this.#readMs;
  }
}

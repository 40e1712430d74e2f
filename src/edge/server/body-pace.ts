import type { BodyTerms } from '../../wire/http1/index.ts';

/** Time before the average rate counts: a body may begin slowly, and a connection needs time to speed up. */
const GRACE_MS = 30_000;
const NOT_SEEN = -1;

export interface PacedBody {
  readonly terms: BodyTerms;
  /** True while its bytes are read. */
  readonly flows: boolean;
  readonly bytes: number;
}

/** Measures how long a connection has read a body, and whether the body arrives fast enough. Only sweeps measure, not bytes. */
export class BodyPace {
  #body: PacedBody | null = null;
  #terms: BodyTerms | null = null;
  #seenMs = NOT_SEEN;
  #readMs = 0;
  #isLate = false;
  /** True if reading paused at some point since the last sweep: the cause is then a slow upstream, not the client. */
  #wasPaused = true;

  wasPaused(): void {
    this.#wasPaused = true;
  }

  /**
   * Whether the body is slower than its terms allow. True only at the second sweep in a row: a process that was suspended first
   * reads what arrived meanwhile. Call it at every sweep, and only then.
   */
  isTooSlow(nowMs: number, body: PacedBody): boolean {
    if (body !== this.#body || body.terms !== this.#terms) this.#begin(body);
    const wasRead = body.flows && !this.#wasPaused;
    this.#wasPaused = !body.flows;
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

import type { Clock } from '../core/index.ts';

/** Enough to find out why one caller gets 401, and too few to cost anything. */
const CHECKS_PER_SECOND = 10;

/**
 * Bounds the signature checks that only find out whose refused token it is, for the log. One bound for all issuers and addresses,
 * apart from every budget.
 */
export class OwnerChecks {
  readonly #clock: Clock;
  /** When the last checks were made, by the monotonic clock; the oldest is at `#next`. */
  readonly #madeAtMs = new Float64Array(CHECKS_PER_SECOND).fill(Number.NEGATIVE_INFINITY);
  #next = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts one more check and returns true, unless that would be too many. */
  take(): boolean {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - (this.#madeAtMs[this.#next] ?? 0) < 1_000) return false;
    this.#madeAtMs[this.#next] = nowMs;
    this.#next = (this.#next + 1) % CHECKS_PER_SECOND;
    return true;
  }
}

import type { Clock } from '../../core/index.ts';

/** When the wall clock steps by more than this, announced moments are corrected. In milliseconds. */
export const CLOCK_STEP_MS = 1_000;

/**
 * Now, in whole milliseconds on both clocks: the monotonic one measures elapsed time, the wall clock is for announcing. Read
 * once per decision, so that everything in one response refers to one moment.
 */
export class Moment {
  /** On the monotonic clock. */
  nowMs = 0;
  epochMs = 0;
  /**
   * From the monotonic clock to the wall clock, for moments that must not go back from response to response. Follows the wall
   * clock forwards at once, but backwards only after a step: the clocks are read one after the other and round differently.
   */
  steadyOffsetMs = Number.NEGATIVE_INFINITY;

  /** From the monotonic clock to the wall clock, for differences that must be exact: changes after a step only. */
  #fixedOffsetMs = Number.NEGATIVE_INFINITY;

  /** Now, since the epoch; two of them differ as two `nowMs` do. */
  get steadyEpochMs(): number {
    return this.steadyEpochOf(this.nowMs);
  }

  /** The same of another moment of the monotonic clock. */
  steadyEpochOf(ms: number): number {
    return Math.floor(ms) + this.#fixedOffsetMs;
  }

  read(clock: Clock): void {
    this.nowMs = Math.floor(clock.monotonicMs());
    this.epochMs = Math.floor(clock.epochMs());
    const offset = this.epochMs - this.nowMs;
    if (offset > this.steadyOffsetMs || offset < this.steadyOffsetMs - CLOCK_STEP_MS)
      this.steadyOffsetMs = offset;
    if (Math.abs(offset - this.#fixedOffsetMs) > CLOCK_STEP_MS) this.#fixedOffsetMs = offset;
  }
}

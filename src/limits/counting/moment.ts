import type { Clock } from '../../core/index.ts';

/** A step of the wall clock beyond this makes announced moments wrong enough to announce them anew, milliseconds. */
export const CLOCK_STEP_MS = 1_000;

/**
 * Now, in whole milliseconds of both clocks. Elapsed time is always the monotonic clock's; the world's is for announcing.
 * Read once a decision, so that everything in one response speaks of one moment.
 */
export class Moment {
  /** By the monotonic clock. */
  nowMs = 0;
  epochMs = 0;
  /**
   * From the monotonic clock to the world's, for moments that must not go back from response to response. It follows the world
   * forwards at once, and backwards only past a step: the two clocks are read one after the other and round differently.
   */
  steadyOffsetMs = Number.NEGATIVE_INFINITY;

  read(clock: Clock): void {
    this.nowMs = Math.floor(clock.monotonicMs());
    this.epochMs = Math.floor(clock.epochMs());
    const offset = this.epochMs - this.nowMs;
    if (offset > this.steadyOffsetMs || offset < this.steadyOffsetMs - CLOCK_STEP_MS)
      this.steadyOffsetMs = offset;
  }
}

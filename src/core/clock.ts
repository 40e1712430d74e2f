import { performance } from 'node:perf_hooks';

/** Where time comes from. All other files are handed a clock, so that tests can stop it. */
export interface Clock {
  /** Milliseconds since the Unix epoch, by the wall clock; may step. For what people and clients read. */
  epochMs(): number;
  /** Milliseconds since some fixed moment; never goes back. For measuring durations. */
  monotonicMs(): number;
}

export const systemClock: Clock = {
  epochMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};

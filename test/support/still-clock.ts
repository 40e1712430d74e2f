import { systemClock, type TimerClock } from '../../src/core/index.ts';

/** A clock that stands still. Its timers run all the same. */
export const stillClock: TimerClock = {
  ...systemClock,
  epochMs: () => 1_700_000_000_000,
  monotonicMs: () => 5_000,
};

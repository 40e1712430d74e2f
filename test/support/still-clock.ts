import type { Clock } from '../../src/core/index.ts';

/** A clock that stands still. */
export const stillClock: Clock = {
  epochMs: () => 1_700_000_000_000,
  monotonicMs: () => 5_000,
};

import type { Clock } from '../../src/core/index.ts';

/** A clock on which so many seconds pass in each of the world's, so that nobody waits half a minute for a timeout. */
export function fastClock(times: number): Clock {
  return { epochMs: () => Date.now(), monotonicMs: () => performance.now() * times };
}

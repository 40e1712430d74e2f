import type { Clock } from '../../src/core/index.ts';

/** A clock that runs faster by this factor, so that tests need not wait half a minute for a timeout. */
export function fastClock(times: number): Clock {
  return { epochMs: () => Date.now(), monotonicMs: () => performance.now() * times };
}

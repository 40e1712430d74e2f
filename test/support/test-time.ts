import { onTestFinished, vi } from 'vitest';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

/** Divides the time between any two sweeps of the gateway. */
const STEP_MS = 50;

/**
 * Time that passes only when the test says so, for gateways and pools that this test starts with its clock afterwards. What they
 * look at now and then (setInterval), they look at as often as they would. Timers of one shot, and what the test waits for, go by
 * the world's time.
 */
export class TestTime {
  readonly clock = new FrozenClock(Date.now());

  constructor() {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
  }

  pass(ms: number): void {
    for (let left = ms; left > 0; left -= STEP_MS) {
      const step = Math.min(left, STEP_MS);
      this.clock.advance(step);
      vi.advanceTimersByTime(step);
    }
  }
}

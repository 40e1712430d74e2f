import { systemClock, type Timer, type TimerClock } from '../../src/core/index.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';
import { isRealTime, LONGEST_MS } from './real-time.ts';

/**
 * Its wall clock goes with the world's, and further as the test says: tokens of a real provider are valid now. Durations pass when the test
 * says so: no window of a limit is over because the machine is busy.
 */
class StillClock extends FrozenClock {
  readonly #beganMs = super.monotonicMs();

  override epochMs(): number {
    return systemClock.epochMs() + this.passedMs;
  }

  protected get passedMs(): number {
    return super.monotonicMs() - this.#beganMs;
  }
}

/**
 * Both hands go with the world's, and further as the test says; its timers fire when the test says so. The clock of gateways that are handed
 * none: none of their timeouts strikes because the machine is busy.
 */
class TestClock extends StillClock {
  override monotonicMs(): number {
    return systemClock.monotonicMs() + this.passedMs;
  }
}

/**
 * The clock for what works with sockets and files: short timers, with which it gathers what comes at one time, are real. A clock with
 * timers of its own is another test's matter.
 */
export function forSockets(clock: TimerClock): TimerClock {
  const { every, signalAfter } = clock;
  const after = (ms: number, run: () => void): Timer =>
    ms <= LONGEST_MS ? systemClock.after(ms, run) : clock.after(ms, run);
  const cancel = (timer: Timer | null) => (isReal(timer) ? systemClock : clock).cancel(timer);
  return {
    epochMs: () => clock.epochMs(),
    monotonicMs: () => clock.monotonicMs(),
    ...{ after, every, cancel, signalAfter },
  };
}

function isReal(timer: Timer | null): boolean {
  return timer !== null && 'hasRef' in timer;
}

/** The clock of what a test starts without saying by which. */
export function clockOfTests(): TimerClock {
  return isRealTime() ? systemClock : new TestClock();
}

/** The same for tests of limits: it stands still, so that each response of a window says the same Reset. */
export function clockOfLimits(): TimerClock {
  return isRealTime() ? systemClock : new FrozenClock(Date.now());
}

/** The same where callers have tokens of issuers that go by the world's clock. */
export function clockOfWindows(): TimerClock {
  return isRealTime() ? systemClock : new StillClock();
}

/** Waits for work whose end may take time on this clock: as much as it needs. */
export async function inTime<T>(clock: TimerClock, work: Promise<T>): Promise<T> {
  let isDone = false;
  const done = () => {
    isDone = true;
  };
  work.then(done, done);
  if (clock instanceof FrozenClock) await clock.advanceUntil('the work is done', () => isDone, 100);
  return await work;
}

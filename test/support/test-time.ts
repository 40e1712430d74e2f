import { type Clock, systemClock, type Timer, type TimerClock, withTimers } from '../../src/core/index.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

interface Repeated {
  readonly everyMs: number;
  readonly run: () => void;
  dueMs: number;
}

/**
 * Time that passes only when the test says so, for a gateway or a pool with this `clock`. What they look at now and then, their
 * sweeps among it, they look at as often as they would. Timers of one shot, and what the test waits for, go by the world's time.
 */
export class TestTime {
  readonly clock: FrozenClock;
  readonly #repeated = new Set<Repeated>();

  constructor() {
    this.clock = new PassingClock(this.#repeated);
  }

  /** Claims of a token that is issued now and lives for so many seconds. */
  claims(seconds: number): { readonly iat: number; readonly exp: number } {
    const iat = Math.floor(this.clock.epochMs() / 1_000);
    return { iat, exp: iat + seconds };
  }

  pass(ms: number): void {
    const endMs = this.clock.monotonicMs() + ms;
    for (let next = this.#next(endMs); next !== undefined; next = this.#next(endMs)) {
      this.clock.advance(Math.max(0, next.dueMs - this.clock.monotonicMs()));
      next.dueMs += next.everyMs;
      next.run();
    }
    this.clock.advance(endMs - this.clock.monotonicMs());
  }

  /** What is to run first, until then. */
  #next(endMs: number): Repeated | undefined {
    const due = [...this.#repeated].filter(({ dueMs }) => dueMs <= endMs);
    return due.toSorted((one, other) => one.dueMs - other.dueMs)[0];
  }
}

class PassingClock extends FrozenClock {
  readonly #repeated: Set<Repeated>;

  constructor(repeated: Set<Repeated>) {
    super(Date.now());
    this.#repeated = repeated;
  }

  override readonly every = (everyMs: number, run: () => void): Timer => {
    const timer = { everyMs, run, dueMs: this.monotonicMs() + everyMs };
    this.#repeated.add(timer);
    return timer;
  };

  override readonly cancel = (timer: Timer | null): void => {
    if (!this.#repeated.delete(timer as Repeated)) systemClock.cancel(timer);
  };
}

/** The clock with timers: its own, or those of this machine. */
export function timed(clock: Clock): TimerClock {
  return clock instanceof FrozenClock ? clock : withTimers(clock);
}

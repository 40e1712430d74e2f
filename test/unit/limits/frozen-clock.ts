import { systemClock, type TimerClock } from '../../../src/core/index.ts';

/** A clock that only tests move. Its two hands have odd fractions, as real ones have. Its timers run by real time. */
export class FrozenClock implements TimerClock {
  readonly after = systemClock.after;
  readonly every = systemClock.every;
  readonly cancel = systemClock.cancel;
  readonly signalAfter = systemClock.signalAfter;
  #monotonicMs = 5_000.4;
  #epochMs: number;

  /** @param epochMs what the wall clock says first; tokens of a test issuer are valid now, at `Date.now()` */
  constructor(epochMs = 1_700_000_000_000) {
    this.#epochMs = epochMs + 0.7;
  }

  epochMs(): number {
    return this.#epochMs;
  }

  monotonicMs(): number {
    return this.#monotonicMs;
  }

  /** Time goes by on both. */
  advance(ms: number): void {
    this.#monotonicMs += ms;
    this.#epochMs += ms;
  }

  /** Somebody sets the wall clock. */
  stepWorld(ms: number): void {
    this.#epochMs += ms;
  }
}

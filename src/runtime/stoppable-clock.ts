import type { Clock } from '../core/index.ts';

/**
 * A clock that stands still while something is counted, so that all parts count it at the moment that the log has. Otherwise a
 * replay of the log could not know on which side of a window's end it fell.
 */
export class StoppableClock implements Clock {
  readonly #clock: Clock;
  #stoppedMs: number | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  epochMs(): number {
    return this.#clock.epochMs();
  }

  monotonicMs(): number {
    return this.#stoppedMs ?? this.#clock.monotonicMs();
  }

  /** Stands at this moment of the monotonic clock while `count` runs. */
  stopAt(ms: number, count: () => void): void {
    this.#stoppedMs = ms;
    try {
      count();
    } finally {
      this.#stoppedMs = null;
    }
  }
}

import type { Timer } from '../../src/core/index.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

/** A clock whose timers run when a test lets time pass, and not otherwise. */
export class HandClock extends FrozenClock {
  readonly #waiting = new Map<Timer, { readonly dueMs: number; readonly run: () => void }>();

  override readonly after = (ms: number, run: () => void): Timer => {
    const timer = {};
    this.#waiting.set(timer, { dueMs: this.monotonicMs() + ms, run });
    return timer;
  };

  override readonly cancel = (timer: Timer | null): void => {
    if (timer !== null) this.#waiting.delete(timer);
  };

  get isWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  /** Lets time pass, and runs what is due, in its order. */
  pass(ms: number): void {
    const endMs = this.monotonicMs() + ms;
    for (;;) {
      const [next] = [...this.#waiting].toSorted(([, one], [, other]) => one.dueMs - other.dueMs);
      if (next === undefined || next[1].dueMs > endMs) break;
      const [timer, { dueMs, run }] = next;
      this.#waiting.delete(timer);
      this.advance(Math.max(0, dueMs - this.monotonicMs()));
      run();
    }
    this.advance(endMs - this.monotonicMs());
  }
}

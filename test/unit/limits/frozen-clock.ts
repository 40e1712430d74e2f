import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock, type Timer, type TimerClock } from '../../../src/core/index.ts';
import { isRealTime } from '../../support/real-time.ts';

interface Waiting {
  readonly run: () => void;
  /** Milliseconds from one call to the next; `null` for a timer that fires once. */
  readonly everyMs: number | null;
  dueMs: number;
  /** The timer of this machine that runs the same, where time really passes. */
  readonly real: Timer | null;
}

/** How much time `advanceUntil` lets pass between two looks, and how much in all before it gives up: an hour. */
const STEP_MS = 10;
const GIVE_UP_MS = 3_600_000;

/**
 * The clock of tests: time passes, and timers fire, when the test says so and not otherwise. Its two hands have odd fractions, as real
 * ones have. In a file that needs time that really passes (`realTime`), its timers run by that as well.
 */
export class FrozenClock implements TimerClock {
  readonly #timers = new Set<Waiting>();
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

  readonly after = (ms: number, run: () => void): Timer =>
    isRealTime() ? systemClock.after(ms, run) : this.#set(ms, null, run, null);

  readonly every = (ms: number, run: () => void): Timer =>
    this.#set(ms, ms, run, isRealTime() ? systemClock.every(ms, run) : null);

  readonly cancel = (timer: Timer | null): void => {
    const isOurs = this.#timers.delete(timer as Waiting);
    systemClock.cancel(isOurs ? (timer as Waiting).real : timer);
  };

  readonly signalAfter = (ms: number): AbortSignal => {
    const controller = new AbortController();
    this.after(ms, () => controller.abort(new DOMException('The time is over', 'TimeoutError')));
    return controller.signal;
  };

  /** Whether a timer is set. */
  get isWaiting(): boolean {
    return this.#timers.size > 0;
  }

  /** Time goes by on both hands. What is due runs at its moment, in its order. */
  advance(ms: number): void {
    const endMs = this.#monotonicMs + ms;
    for (let next = this.#next(endMs); next !== undefined; next = this.#next(endMs)) {
      this.#move(Math.max(0, next.dueMs - this.#monotonicMs));
      if (next.everyMs === null) this.#timers.delete(next);
      else next.dueMs += next.everyMs;
      next.run();
    }
    this.#move(endMs - this.#monotonicMs);
  }

  /** Lets time go by in small steps, between which sockets and files are read, until the condition holds. */
  async advanceUntil(
    what: string,
    condition: () => boolean | Promise<boolean>,
    stepMs = STEP_MS,
  ): Promise<void> {
    for (let passedMs = 0; !(await condition()); passedMs += stepMs) {
      if (passedMs > GIVE_UP_MS) throw new Error(`after ${passedMs} ms of its clock still not: ${what}`);
      this.advance(stepMs);
      await sleep(1);
    }
  }

  /** The process stands still for so long: what is due runs late, and once. */
  stall(ms: number): void {
    this.#move(ms);
    for (const timer of this.#timers) {
      if (timer.dueMs > this.#monotonicMs) continue;
      if (timer.everyMs === null) this.#timers.delete(timer);
      else timer.dueMs = this.#monotonicMs + timer.everyMs;
      timer.run();
    }
  }

  /** Somebody sets the wall clock. */
  stepWorld(ms: number): void {
    this.#epochMs += ms;
  }

  #set(ms: number, everyMs: number | null, run: () => void, real: Timer | null): Timer {
    const timer: Waiting = { run, everyMs, dueMs: this.#monotonicMs + ms, real };
    this.#timers.add(timer);
    return timer;
  }

  #move(ms: number): void {
    this.#monotonicMs += ms;
    this.#epochMs += ms;
  }

  /** What is to run first, until then. Of two at one moment, the one that was set first. */
  #next(endMs: number): Waiting | undefined {
    let next: Waiting | undefined;
    for (const timer of this.#timers)
      if (timer.dueMs <= endMs && (next === undefined || timer.dueMs < next.dueMs)) next = timer;
    return next;
  }
}

import { setTimeout as rest } from 'node:timers/promises';
import { systemClock } from './system.ts';

/** Work in small steps: the thread may turn to other work wherever it yields. Returns its result at the end. */
export type Steps<Result> = Generator<void, Result, void>;

/** The longest slice, in milliseconds. A step that began in time ends after it. */
const SLICE_MS = 1;

/**
 * The time between slices, in milliseconds. A request needs several turns of the event loop: if each held a slice, it would wait for several
 * (docs/decisions/028-reloads-in-slices.md).
 */
const REST_MS = 4;

/** Does work at once, in a thread that serves no clients. */
export function atOnce<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** Measures the turns that work took in a serving thread, always in real time. */
export class Turns {
  /** The longest turn since this was last set to 0. */
  longestMs = 0;

  /**
   * Does work in slices, with a rest after each. The first slice begins before this returns, so short work is already done then.
   */
  async slice<Result>(steps: Steps<Result>): Promise<Result> {
    for (;;) {
      const result = this.time(() => doSlice(steps));
      if (result.done === true) return result.value;
      await rest(REST_MS);
    }
  }

  time<Result>(run: () => Result): Result {
    const fromMs = systemClock.monotonicMs();
    try {
      return run();
    } finally {
      this.longestMs = Math.max(this.longestMs, systemClock.monotonicMs() - fromMs);
    }
  }
}

function doSlice<Result>(steps: Steps<Result>): IteratorResult<void, Result> {
  const endMs = systemClock.monotonicMs() + SLICE_MS;
  for (;;) {
    const step = steps.next();
    if (step.done === true || systemClock.monotonicMs() >= endMs) return step;
  }
}

/** Makes a value of each item, one step per item. */
export function* eachInSteps<Item, Made>(
  items: Iterable<Item>,
  make: (item: Item, index: number) => Made,
): Steps<Made[]> {
  const made: Made[] = [];
  for (const item of items) {
    made.push(make(item, made.length));
    yield;
  }
  return made;
}

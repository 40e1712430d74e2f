import { performance } from 'node:perf_hooks';
import type { Kernel } from './kernel.ts';

type Restore = () => void;

/** Puts a value in the place of a member, until the returned function is called. */
function replace(target: object, name: string, value: unknown): Restore {
  const before = Object.getOwnPropertyDescriptor(target, name);
  Object.defineProperty(target, name, { value, configurable: true, writable: true, enumerable: true });
  return () => {
    if (before === undefined) Reflect.deleteProperty(target, name);
    else Object.defineProperty(target, name, before);
  };
}

/**
 * A timer as libraries know those of Node.js. It belongs to the process that runs when it is set.
 */
class GlobalTimer {
  readonly #kernel: Kernel;
  readonly #ms: number;
  readonly #run: () => void;
  readonly #repeats: boolean;
  readonly #owner: Kernel['current'];
  #occasion: { run: unknown } | null = null;

  constructor(kernel: Kernel, ms: number, run: () => void, repeats: boolean) {
    this.#kernel = kernel;
    this.#owner = kernel.current;
    // Node.js takes anything below a millisecond for one.
    this.#ms = Math.max(ms || 1, 1);
    this.#run = run;
    this.#repeats = repeats;
    this.refresh();
  }

  refresh(): this {
    this.cancel();
    const { timeline } = this.#kernel;
    this.#occasion = timeline.at(timeline.nowMs + this.#ms, this.#owner, () => {
      this.#occasion = null;
      if (this.#repeats) this.refresh();
      this.#run();
    });
    return this;
  }

  cancel(): void {
    if (this.#occasion !== null) this.#occasion.run = null;
    this.#occasion = null;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  hasRef(): boolean {
    return false;
  }

  close(): this {
    this.cancel();
    return this;
  }

  [Symbol.dispose](): void {
    this.cancel();
  }
}

/**
 * Hands all libraries of this process the time and chance of a world, in place of the machine's. Returns what undoes it. Node.js itself
 * keeps its own clock inside: for the `Date` field of its servers, and the timers of its HTTP server.
 */
export function takeOverGlobals(kernel: Kernel, random: () => number): Restore {
  const setter =
    (repeats: boolean) =>
    (run: (...given: unknown[]) => void, ms = 0, ...given: unknown[]) =>
      new GlobalTimer(kernel, Number(ms), () => run(...given), repeats);
  const clear = (timer: unknown) => {
    if (timer instanceof GlobalTimer) timer.cancel();
  };
  const epochMs = () => Math.floor(kernel.epochMs());
  const RealDate = Date;
  class WorldDate extends RealDate {
    constructor(...given: [] | [number | string | Date]) {
      // The types of Date know only its separate overloads.
      super(...((given.length === 0 ? [epochMs()] : given) as [number]));
    }
    static override now(): number {
      return epochMs();
    }
  }
  const signalAfter = (ms: number): AbortSignal => {
    const aborted = new AbortController();
    new GlobalTimer(
      kernel,
      ms,
      () => aborted.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError')),
      false,
    );
    return aborted.signal;
  };
  const restores = [
    replace(globalThis, 'setTimeout', setter(false)),
    replace(globalThis, 'setInterval', setter(true)),
    replace(globalThis, 'clearTimeout', clear),
    replace(globalThis, 'clearInterval', clear),
    replace(globalThis, 'Date', WorldDate),
    replace(performance, 'now', () => kernel.timeline.nowMs),
    replace(AbortSignal, 'timeout', signalAfter),
    replace(Math, 'random', random),
  ];
  return () => {
    for (const restore of restores) restore();
  };
}

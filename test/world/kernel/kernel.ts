import type { Draws } from './draws.ts';
import { takeOverGlobals } from './globals.ts';
import { EVERYONE, type Owner, Timeline } from './timeline.ts';

/** When every world begins, by the wall clock. */
const BEGINNING_MS = Date.UTC(2031, 2, 3, 4, 5, 6);

/** Node's own, whatever stands in their place while a world runs. */
const { setImmediate: inNextTurn } = globalThis;

/** Makes things happen one after the other: after each, the process comes to rest before the next. */
export class Kernel {
  readonly timeline = new Timeline();
  readonly draws: Draws;
  /** Whose code runs. */
  current: Owner = EVERYONE;
  /** How many things have happened. */
  steps = 0;
  /** Work of other threads that is waited for before time goes on. */
  #working = 0;
  #fault: Error | null = null;

  constructor(draws: Draws) {
    this.draws = draws;
  }

  /** The true wall clock. Processes may have another idea of it. */
  epochMs(): number {
    return BEGINNING_MS + this.timeline.nowMs;
  }

  /** Lets something happen after so many milliseconds, unless its owner has died by then. */
  after(ms: number, owner: Owner, run: () => void): { run: unknown } {
    return this.timeline.at(this.timeline.nowMs + ms, owner, run);
  }

  /** Holds time until this is done. For work that Node.js does in other threads, such as signatures of Web Crypto. */
  awaiting<Value>(work: Promise<Value>): Promise<Value> {
    this.#working++;
    return work.finally(() => this.#working--);
  }

  /** Ends the world, because of a fault of the world itself. */
  fail(error: Error): void {
    this.#fault ??= error;
  }

  /** Lets a process begin something and come to rest. */
  async enter(owner: Owner, run: () => void): Promise<void> {
    this.current = owner;
    run();
    await this.#rest();
    this.current = EVERYONE;
  }

  /** Runs the world in virtual time, until then or until `isOver`. */
  async run(untilMs: number, isOver: () => boolean = () => false): Promise<void> {
    while (!isOver()) {
      const next = this.timeline.next(untilMs);
      if (next === null) break;
      this.steps++;
      await this.enter(next.owner, next.run);
      if (this.#fault !== null) throw this.#fault;
    }
  }

  /** Runs until this has happened. */
  async until(work: Promise<unknown>, forMs = 60_000): Promise<void> {
    let isDone = false;
    const done = work.finally(() => {
      isDone = true;
    });
    done.catch(() => {});
    await this.#rest();
    await this.run(this.timeline.nowMs + forMs, () => isDone);
    if (!isDone) throw new Error(`something that the world waited for did not happen within ${forMs} ms`);
    await done;
  }

  /** Replaces the clocks, timers and chance of the whole process while this runs. */
  async takeOver<Result>(work: () => Promise<Result>): Promise<Result> {
    const restore = takeOverGlobals(this, this.draws.part('libraries').random);
    try {
      return await work();
    } finally {
      restore();
    }
  }

  /** Resolves when nobody has anything to do at this moment. */
  async #rest(): Promise<void> {
    do {
      await new Promise<void>(resolve => {
        inNextTurn(resolve);
      });
    } while (this.#working > 0 || process.getActiveResourcesInfo().includes('Immediate'));
  }
}

import type { Draws } from './draws.ts';
import { takeOverGlobals } from './globals.ts';
import { EVERYONE, type Owner, Timeline } from './timeline.ts';

/** Node's own, whatever stands in their place while a world runs. */
const { setImmediate: inNextTurn } = globalThis;

/** How many rests one turn of the event loop gives, where nobody asks for a turn. */
const RESTS_OF_A_TURN = 64;

/** Makes things happen one after the other: after each, the process comes to rest before the next. */
export class Kernel {
  readonly timeline = new Timeline();
  readonly draws: Draws;
  readonly #beganMs: number;
  /** Whose code runs. */
  current: Owner = EVERYONE;
  /** How many things have happened. */
  steps = 0;
  /** Work of other threads that is waited for before time goes on. */
  #working = 0;
  #fault: Error | null = null;
  /** Rests that this turn of the event loop still gives. */
  #restsLeft = 0;
  /** Called at the next of them. */
  #rested: (() => void) | null = null;

  /** @param beganMs when the world begins, by the true wall clock */
  constructor(draws: Draws, beganMs: number) {
    this.draws = draws;
    this.#beganMs = beganMs;
  }

  /** The true wall clock. Processes may have another idea of it. */
  epochMs(): number {
    return this.#beganMs + this.timeline.nowMs;
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
    await this.#othersRan();
    while (this.#working > 0 || process.getActiveResourcesInfo().includes('Immediate')) {
      // Somebody waits for the next turn of the event loop.
      await new Promise<void>(resolve => {
        inNextTurn(resolve);
      });
    }
  }

  /**
   * Resolves once all ticks and promises have run: Node.js sees to that before each callback of `setImmediate`. A whole turn of the event
   * loop for each event costs more, so one turn calls back many times. All but the first are unreferenced: they must not look like work
   * that somebody waits for.
   */
  #othersRan(): Promise<void> {
    return new Promise<void>(resolve => {
      this.#rested = resolve;
      if (this.#restsLeft > 0) return;
      this.#restsLeft = RESTS_OF_A_TURN;
      inNextTurn(this.#giveRest);
      for (let i = 1; i < RESTS_OF_A_TURN; i++) inNextTurn(this.#giveRest).unref();
    });
  }

  readonly #giveRest = (): void => {
    this.#restsLeft--;
    const rested = this.#rested;
    this.#rested = null;
    rested?.();
  };
}

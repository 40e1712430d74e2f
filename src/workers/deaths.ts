import type { Clock } from '../core/index.ts';

/** So many deaths within that time are a loop: what ends workers does so again and again. */
const MOST_DEATHS = 5;
const WITHIN_MS = 60_000;

/** Remembers when workers died, to tell a mishap from a loop. */
export class Deaths {
  readonly #clock: Clock;
  #atMs: readonly number[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Notes a death. Returns whether there were too many of late. */
  isLoop(): boolean {
    const nowMs = this.#clock.monotonicMs();
    this.#atMs = [...this.#atMs.filter(atMs => nowMs - atMs < WITHIN_MS), nowMs];
    return this.#atMs.length >= MOST_DEATHS;
  }
}

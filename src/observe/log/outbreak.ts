import { type Clock, RecentMap } from '../../core/index.ts';

const INTERVAL_MS = 1_000;
/** Bounds the lines per second: a cause may contain text from a service or a provider, and so be different each time. */
const MAX_LINES = 20;
/** Bounds the kinds that are counted: at least the last 100 are. */
const MAX_KINDS = 200;

/**
 * Chooses which failures to log while a dependency is unavailable and every request fails: one of each kind per second, and at
 * most 20 lines per second. An isolated failure always has its line.
 */
export class Outbreak {
  readonly #clock: Clock;
  readonly #kinds = new RecentMap<{ loggedAtMs: number; failures: number }>(MAX_KINDS);
  #beganAtMs = Number.NEGATIVE_INFINITY;
  #lines = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Counts a failure, whose kind is identified by its marks. Returns 0 if it is not to be logged, else how many failures of this
   * kind occurred since its last line, including this one.
   */
  count(...marks: readonly unknown[]): number {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#beganAtMs >= INTERVAL_MS) {
      this.#beganAtMs = nowMs;
      this.#lines = 0;
    }
    const name = marks.join(' ');
    const kind = this.#kinds.get(name) ?? { loggedAtMs: Number.NEGATIVE_INFINITY, failures: 0 };
    this.#kinds.set(name, kind);
    kind.failures++;
    if (kind.loggedAtMs >= this.#beganAtMs || this.#lines === MAX_LINES) return 0;
    this.#lines++;
    kind.loggedAtMs = nowMs;
    const { failures } = kind;
    kind.failures = 0;
    return failures;
  }
}

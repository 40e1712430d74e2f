import type { Clock } from '../../core/index.ts';

const INTERVAL_MS = 1_000;
/** Bounds the kinds: a cause may hold what a service or a provider said, and so be another one each time. */
const MAX_LINES = 20;

/**
 * Chooses which failures to log while a part is away and each request fails: one of each kind a second, and at most 20 lines a second.
 * A failure that comes alone always has its line.
 */
export class Outbreak {
  readonly #clock: Clock;
  readonly #logged = new Set<string>();
  #beganAtMs = Number.NEGATIVE_INFINITY;
  #failures = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Counts a failure, whose kind is told by its marks. Returns 0 if it is not to be logged, else how many failures of all kinds came since
   * the last line, with this one.
   */
  count(...marks: readonly unknown[]): number {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#beganAtMs >= INTERVAL_MS) {
      this.#beganAtMs = nowMs;
      this.#logged.clear();
    }
    this.#failures++;
    const kind = marks.join(' ');
    if (this.#logged.has(kind) || this.#logged.size === MAX_LINES) return 0;
    this.#logged.add(kind);
    const failures = this.#failures;
    this.#failures = 0;
    return failures;
  }
}

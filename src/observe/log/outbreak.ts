import type { Clock } from '../../core/index.ts';

const INTERVAL_MS = 1_000;
/** Causes may hold what a service or a provider said. */
const MAX_LINES = 20;

/**
 * Says which failures to log, which come with every request while a part is away: of failures alike one a second, and at most 20 lines a
 * second. One that comes alone always has its line.
 */
export class Outbreak {
  readonly #clock: Clock;
  readonly #logged = new Set<string>();
  #beganAtMs = Number.NEGATIVE_INFINITY;
  #failures = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts a failure. Returns how many came since the last line, to be logged now; 0 if this one is to have none. */
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

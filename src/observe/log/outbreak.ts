import { type Clock, RecentMap } from '../../core/index.ts';

const INTERVAL_MS = 1_000;
/** Bounds the kinds: a cause may hold what a service or a provider said, and so be another one each time. */
const MAX_LINES = 20;
/** Bounds the kinds that are counted: the last 100 are, at least. */
const MAX_KINDS = 200;

/**
 * Chooses which failures to log while a part is away and each request fails: one of each kind a second, and at most 20 lines per
 * second. A failure that comes alone always has its line.
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
   * Counts a failure, whose kind is told by its marks. Returns 0 if it is not to be logged, else how many failures of this kind came
   * since its last line, with this one.
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

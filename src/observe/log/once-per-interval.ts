import { type Clock, RecentMap } from '../../core/index.ts';

const MINUTE_MS = 60_000;
const MAX_KINDS = 2_000;

/**
 * Decides when to log events that clients can cause as often as they like: each kind once per interval, with the number of events
 * since its last line.
 */
export class OncePerInterval {
  readonly #clock: Clock;
  readonly #intervalMs: number;
  readonly #maxLines: number;
  readonly #kinds = new RecentMap<{ loggedAtMs: number; events: number }>(MAX_KINDS);
  #beganAtMs = Number.NEGATIVE_INFINITY;
  #lines = 0;

  /** @param maxLines bounds the lines per interval, where kinds contain text from outside */
  constructor(clock: Clock, intervalMs = MINUTE_MS, maxLines = Number.POSITIVE_INFINITY) {
    this.#clock = clock;
    this.#intervalMs = intervalMs;
    this.#maxLines = maxLines;
  }

  /**
   * Counts an event, or several. Returns how many of their kind occurred since the last line, to be logged now; 0 if it is too early
   * for a line.
   */
  count(name: string, count = 1): number {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#beganAtMs >= this.#intervalMs) {
      this.#beganAtMs = nowMs;
      this.#lines = 0;
    }
    const kind = this.#kinds.get(name) ?? { loggedAtMs: Number.NEGATIVE_INFINITY, events: 0 };
    this.#kinds.set(name, kind);
    kind.events += count;
    if (nowMs - kind.loggedAtMs < this.#intervalMs || this.#lines >= this.#maxLines) return 0;
    const { events } = kind;
    this.#lines++;
    kind.loggedAtMs = nowMs;
    kind.events = 0;
    return events;
  }
}

/**
 * Chooses which failures to log while a dependency is unavailable and every request fails: one of each kind per second, and at
 * most 20 lines per second, since a cause may be different each time. An isolated failure always has its line.
 */
export const oncePerSecond = (clock: Clock) => new OncePerInterval(clock, 1_000, 20);

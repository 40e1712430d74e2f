import type { Clock } from '../../core/index.ts';

const MINUTE_MS = 60_000;

/**
 * Decides when to log events that clients can cause as often as they like: each kind once per interval, with the number of events
 * since its last line. Kinds come from closed lists or from the configuration, never from clients.
 */
export class OncePerInterval {
  readonly #clock: Clock;
  readonly #intervalMs: number;
  readonly #kinds = new Map<string, { loggedAtMs: number; events: number }>();

  constructor(clock: Clock, intervalMs = MINUTE_MS) {
    this.#clock = clock;
    this.#intervalMs = intervalMs;
  }

  /**
   * Counts an event, or several. Returns how many of their kind occurred since the last line, to be logged now; 0 if it is too early
   * for a line.
   */
  count(name: string, count = 1): number {
    const nowMs = this.#clock.monotonicMs();
    const kind = this.#kinds.get(name) ?? { loggedAtMs: Number.NEGATIVE_INFINITY, events: 0 };
    this.#kinds.set(name, kind);
    kind.events += count;
    if (nowMs - kind.loggedAtMs < this.#intervalMs) return 0;
    const { events } = kind;
    kind.loggedAtMs = nowMs;
    kind.events = 0;
    return events;
  }
}

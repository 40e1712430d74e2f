import { type Clock, TwoGenerations } from '../../core/index.ts';
import type { Decision, Limit } from '../../limits/index.ts';

/** Most refusals remembered; a flood may come from many callers. */
const MAX_KNOWN = 50_000;
/** However long a key is exhausted, Redis is asked again after this: an operator may have reset it. */
const MAX_MS = 1_000;

interface Known {
  readonly decision: Decision;
  readonly limit: Limit;
  /** When the response came, and until when it surely holds, by the monotonic clock. */
  readonly atMs: number;
  readonly untilMs: number;
}

/**
 * Remembers keys that Redis has just refused. Until they can be free again, for a second at most, further requests are refused
 * without asking Redis, so that a flood costs no round trips. Only for keys of one caller: shared keys may change at any time.
 */
export class KnownRefusals {
  readonly #clock: Clock;
  readonly #known = new TwoGenerations<Known>(MAX_KNOWN);
  #generation = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get isEmpty(): boolean {
    return this.#known.size === 0;
  }

  /** To be handed to `note`: what was asked before a `forget` is not noted after it. */
  get generation(): number {
    return this.#generation;
  }

  /** Forgets everything, after numbers were changed, counters reset or restrictions lifted. */
  forget(): void {
    this.#generation++;
    this.#known.clear();
  }

  /** Notes a refusal by `limit` under `key`, which was asked for at `askedAtMs`. */
  note(key: string, limit: Limit, decision: Decision, askedAtMs: number, generation: number): void {
    if (generation !== this.#generation) return;
    // Redis decided some time between the question and the response: it ends as of the question, and is told as of the response.
    const untilMs = askedAtMs + Math.min(decision.retryAfterMs - limit.slackMs - 1, MAX_MS);
    const atMs = this.#clock.monotonicMs();
    if (untilMs <= atMs) return;
    this.#known.set(key, { decision, limit, atMs, untilMs });
  }

  /** The refusal as it is to be answered now, or null. */
  find(key: string, limit: Limit): Decision | null {
    const known = this.#known.get(key);
    if (known === undefined) return null;
    const nowMs = this.#clock.monotonicMs();
    if (
      nowMs >= known.untilMs ||
      known.limit.units !== limit.units ||
      known.limit.slackMs !== limit.slackMs
    ) {
      this.#known.delete(key);
      return null;
    }
    // Whole milliseconds, as stores count them.
    const goneMs = Math.floor(nowMs) - Math.floor(known.atMs);
    const { decision } = known;
    return {
      ...decision,
      resetAfterMs: Math.max(1, decision.resetAfterMs - goneMs),
      retryAfterMs: Math.max(1, decision.retryAfterMs - goneMs),
    };
  }
}

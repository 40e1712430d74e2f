import { type Clock, RecentMap } from '../../../core/index.ts';
import type { Decision, Limit } from '../../index.ts';

/** How many refusals are remembered: a flood may come from many callers. */
const MAX_KNOWN = 50_000;
/** Redis is asked again after this time, however long the key is exhausted: an operator may have reset it. */
const MAX_MS = 1_000;

interface Known {
  readonly decision: Decision;
  readonly limit: Limit;
  readonly cost: number;
  /** When the response arrived, and until when it certainly holds, on the monotonic clock. */
  readonly atMs: number;
  readonly untilMs: number;
}

/**
 * Remembers keys that Redis has just refused. Until they can admit again, for a second at most, further requests are refused
 * without asking Redis, so that a flood costs no round trips. Only for keys of a single caller: shared keys may change at any
 * time.
 */
export class KnownRefusals {
  readonly #clock: Clock;
  readonly #known = new RecentMap<Known>(MAX_KNOWN);
  #version = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get isEmpty(): boolean {
    return this.#known.size === 0;
  }

  /**
   * The version of this cache. Read it before asking and pass it to `note`, which ignores answers to questions before the last
   * `forget`.
   */
  get version(): number {
    return this.#version;
  }

  /** Forgets everything, after limits were changed, counters reset or restrictions lifted. */
  forget(): void {
    this.#version++;
    this.#known.clear();
  }

  /** Forgets one key, to which units were returned. */
  drop(key: string): void {
    this.#known.delete(key);
  }

  /** Records that `limit` refused a request of this cost under `key`. `askedAtMs`: when Redis was asked. */
  note(
    key: string,
    limit: Limit,
    cost: number,
    decision: Decision,
    askedAtMs: number,
    version: number,
  ): void {
    if (version !== this.#version) return;
    // Redis decided some time between the question and the response. To be safe, count the end from the question.
    const untilMs = askedAtMs + Math.min(decision.retryAfterMs - limit.slackMs - 1, MAX_MS);
    const atMs = this.#clock.monotonicMs();
    if (untilMs <= atMs) return;
    this.#known.set(key, { decision, limit, cost, atMs, untilMs });
  }

  /** Returns the refusal that holds now for a request of this cost, or `null`. */
  find(key: string, limit: Limit, cost: number): Decision | null {
    const known = this.#known.get(key);
    if (known === undefined) return null;
    const nowMs = this.#clock.monotonicMs();
    // A cheaper request, or one with another number, may be admitted: what is known may then no longer be true.
    const mayBeAdmitted =
      cost < known.cost || known.limit.units !== limit.units || known.limit.slackMs !== limit.slackMs;
    if (nowMs >= known.untilMs || mayBeAdmitted) {
      this.#known.delete(key);
      return null;
    }
    // A costlier request has to wait longer.
    if (cost > known.cost) return null;
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

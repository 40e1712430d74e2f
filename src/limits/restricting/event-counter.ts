import type { Clock } from '../../core/index.ts';
import { defineLimit, type LimitSet, MemoryStore, NO_LIMITS, type Quota } from '../counting/index.ts';

export interface EventCounterOptions {
  readonly clock: Clock;
  /** Most keys counted. Default 200,000. */
  readonly maxKeys?: number;
}

export const DEFAULT_MAX_EVENT_KEYS = 200_000;

/**
 * Counts events against a quota: the same windows, bounds and evictions as the limits of requests, under keys of one or two
 * parts. Off until it is given a quota.
 */
export class EventCounter {
  readonly #store: MemoryStore;
  #limits: LimitSet = NO_LIMITS;

  constructor({ clock, maxKeys = DEFAULT_MAX_EVENT_KEYS }: EventCounterOptions) {
    this.#store = new MemoryStore({ clock, maxKeys });
  }

  /** Sets the quota; null counts nothing. Counts stay as long as the period does not change. */
  use(quota: Quota | null): void {
    if (quota === null) this.#limits = NO_LIMITS;
    else
      this.#limits = {
        ...NO_LIMITS,
        caller: defineLimit({ role: 'caller', bucket: '', main: null, algorithm: 'window', quota }),
      };
  }

  /**
   * Counts one event. Returns 0 while the quota admits it, else the milliseconds until it would. Also returns 0 when the table
   * is full and the key has only the counter that all share then: one client must not pay for the others.
   */
  count(key: string, part: string): number {
    const { admitted, sharedKey, retryAfterMs } = this.#store.decide(this.#limits, key, part);
    return admitted || sharedKey ? 0 : retryAfterMs;
  }

  /** Forgets the events of a key. */
  forget(key: string, part: string): void {
    if (this.#limits.caller !== null) this.#store.reset(this.#limits.caller, key, part);
  }
}

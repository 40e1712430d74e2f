import type { Clock } from '../../core/index.ts';
import { defineLimit, type LimitSet, MemoryStore, NO_LIMITS, type Quota } from '../counting/index.ts';

export interface EventCounterOptions {
  readonly clock: Clock;
  /** Keys counted at most. Default 200,000. */
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

  /** The quota from now on, or null to count nothing. What is counted stays while the period does. */
  use(quota: Quota | null): void {
    if (quota === null) this.#limits = NO_LIMITS;
    else
      this.#limits = {
        ...NO_LIMITS,
        caller: defineLimit({ role: 'caller', bucket: '', main: null, algorithm: 'window', quota }),
      };
  }

  /**
   * Counts one event. 0 while the quota bears it; else milliseconds until it would. 0 too when the table is full and others
   * have spent the counter that all share then: nobody is to blame for them.
   */
  count(key: string, part: string): number {
    const { admitted, sharedKey, retryAfterMs } = this.#store.decide(this.#limits, key, part);
    return admitted || sharedKey ? 0 : retryAfterMs;
  }
}

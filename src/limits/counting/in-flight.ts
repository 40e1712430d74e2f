import { defineLimit, type Limit } from './limit-definition.ts';

/** The wait announced to a caller that has too many requests in flight: nobody knows when one ends. */
export const AT_ONCE_WAIT_MS = 1_000;

/**
 * Defines how many requests of one caller may be in flight at once in a bucket, for each main value. Its units are places, which come
 * back when requests end, and its period is the wait that is announced. It has no counter.
 */
export function defineConcurrency(bucket: string, main: string | null, most: number): Limit {
  const quota = { units: most, periodMs: AT_ONCE_WAIT_MS };
  const limit = defineLimit({ role: 'caller', bucket, main, algorithm: 'window', quota });
  return { ...limit, identity: JSON.stringify(['concurrent', bucket, main]) };
}

/** The place of a request among those of its caller that are in flight. */
export interface Place {
  /** Gives it back. May be called again. */
  leave(): void;
}

/** Counts the requests of each caller that are in flight. */
export interface InFlight {
  /** True if no more may be in flight. */
  isFull(limit: Limit, caller: string, main: string): boolean;
  /** How many are in flight. */
  count(limit: Limit, caller: string, main: string): number;
  /** Counts one more, even above the limit. */
  enter(limit: Limit, caller: string, main: string): Place;
}

/** Counts in this process. Holds only callers with something in flight. */
export class ProcessInFlight implements InFlight {
  readonly #counts = new Map<string, number>();

  isFull(limit: Limit, caller: string, main: string): boolean {
    return this.count(limit, caller, main) >= limit.units;
  }

  count(limit: Limit, caller: string, main: string): number {
    return this.#counts.get(keyOf(limit, caller, main)) ?? 0;
  }

  enter(limit: Limit, caller: string, main: string): Place {
    const key = keyOf(limit, caller, main);
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
    let isHeld = true;
    return {
      leave: () => {
        if (isHeld) this.#leave(key);
        isHeld = false;
      },
    };
  }

  #leave(key: string): void {
    const count = this.#counts.get(key) ?? 0;
    if (count <= 1) this.#counts.delete(key);
    else this.#counts.set(key, count - 1);
  }
}

/** No caller's key and no main value holds a NUL. */
function keyOf({ identity }: Limit, caller: string, main: string): string {
  return `${identity}\0${caller}\0${main}`;
}

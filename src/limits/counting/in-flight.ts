import { type NewPermits, ownPermits, type Permits } from '../../core/index.ts';
import { defineLimit, type Limit } from './limit-definition.ts';

/** The wait announced to a caller with too many requests in flight: nobody knows when one ends. */
export const AT_ONCE_WAIT_MS = 1_000;

/**
 * Defines how many requests of one caller may be in flight at once in a bucket, per main value. Its units are places, which are
 * returned when requests end, and its period is the announced wait. It has no counter.
 */
export function defineConcurrency(bucket: string, main: string | null, most: number): Limit {
  const quota = { units: most, periodMs: AT_ONCE_WAIT_MS };
  const limit = defineLimit({ role: 'caller', bucket, main, algorithm: 'window', quota });
  return { ...limit, identity: JSON.stringify(['concurrent', bucket, main]) };
}

/** A request's place among those of its caller that are in flight. */
export interface Place {
  /** Returns the place. Idempotent. */
  leave(): void;
}

/** How many requests of one caller are in flight in a bucket, for one main value. */
export interface InFlightCount {
  readonly bucket: string;
  readonly caller: string;
  readonly main: string;
  readonly count: number;
}

/** The counts that other threads reported, where there are none. */
export const NONE_ELSEWHERE = (): readonly InFlightCount[] => [];

/**
 * Counts the requests of each caller that are in flight, of all threads that share permits. Holds only callers with something in
 * flight.
 */
export class InFlight {
  readonly #newPermits: NewPermits;
  readonly #elsewhere: typeof NONE_ELSEWHERE;
  /** The requests in flight of this thread, by name. */
  readonly #held = new Map<string, { -readonly [Name in keyof InFlightCount]: InFlightCount[Name] }>();
  /** The permits of each limit, by its identity. */
  readonly #permits = new Map<string, Permits>();

  /** @param elsewhere the counts that other threads reported */
  constructor(newPermits = ownPermits, elsewhere = NONE_ELSEWHERE) {
    this.#newPermits = newPermits;
    this.#elsewhere = elsewhere;
  }

  /** The counts above 0: those that this thread knows by name, its own and those reported by other threads. */
  get counts(): Iterable<InFlightCount> {
    return [...this.#held.values(), ...this.#elsewhere()];
  }

  isFull(limit: Limit, caller: string, main: string): boolean {
    return this.count(limit, caller, main) >= limit.units;
  }

  count(limit: Limit, caller: string, main: string): number {
    return this.#of(limit).takenBy(keyOf(caller, main));
  }

  /** Counts one more, even above the limit. */
  enter(limit: Limit, caller: string, main: string): Place {
    const permits = this.#of(limit);
    const key = keyOf(caller, main);
    permits.take(key, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY);
    const name = `${limit.identity}\0${key}`;
    const held = this.#held.get(name) ?? { bucket: limit.bucket, caller, main, count: 0 };
    if (held.count++ === 0) this.#held.set(name, held);
    let isHeld = true;
    return {
      leave: () => {
        if (!isHeld) return;
        isHeld = false;
        permits.giveBack(key);
        if (--held.count === 0) this.#held.delete(name);
      },
    };
  }

  #of({ identity }: Limit): Permits {
    let permits = this.#permits.get(identity);
    if (permits === undefined) {
      permits = this.#newPermits(identity);
      this.#permits.set(identity, permits);
    }
    return permits;
  }
}

/** Adds up the requests in flight of each caller in each bucket, over all main values. */
export function callersInFlight({ counts }: Pick<InFlight, 'counts'>) {
  const sums = new Map<string, { readonly bucket: string; readonly caller: string; inFlight: number }>();
  for (const { bucket, caller, count } of counts) {
    const key = `${caller}\0${bucket}`;
    const sum = sums.get(key) ?? { bucket, caller, inFlight: 0 };
    sum.inFlight += count;
    sums.set(key, sum);
  }
  return [...sums.values()];
}

/** How many requests are in flight in a bucket that limits them per caller. */
export interface BucketInFlight {
  readonly bucket: string;
  readonly perCaller: number;
  readonly inFlight: number;
  /** How many callers have some in flight. */
  readonly callers: number;
}

/** Adds up the requests in flight in each of these buckets, except those that do not limit them. */
export function bucketsInFlight(
  buckets: readonly { readonly name: string; readonly concurrent: number | null }[],
  inFlight: Pick<InFlight, 'counts'>,
): BucketInFlight[] {
  const inBuckets = Map.groupBy(callersInFlight(inFlight), ({ bucket }) => bucket);
  return buckets.flatMap(({ name: bucket, concurrent: perCaller }) => {
    if (perCaller === null) return [];
    const callers = inBuckets.get(bucket) ?? [];
    const sum = callers.reduce((sum, { inFlight }) => sum + inFlight, 0);
    return [{ bucket, perCaller, inFlight: sum, callers: callers.length }];
  });
}

/** No caller's key and no main value contains a NUL. */
function keyOf(caller: string, main: string): string {
  return `${caller}\0${main}`;
}

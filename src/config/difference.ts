import { formatDuration } from '../core/index.ts';

/**
 * What a change means for the callers it affects:
 * - `stricter`: requests that passed may be refused
 * - `mixed`: stricter for some requests, looser for others
 * - `looser`: requests that were refused may pass
 * - `neutral`: neither
 */
export type Effect = 'stricter' | 'mixed' | 'looser' | 'neutral';

/** How one value differs from the one before; the subject is named elsewhere. */
export interface Difference {
  readonly effect: Effect;
  /** The share of what was allowed that still is: 0 for nothing, 1 for all of it, more for more. Orders changes of one effect. */
  readonly left: number;
  readonly text: string;
}

export function differ(effect: Effect, text: string, left = 1): Difference {
  return { effect, left, text };
}

/**
 * Compares numbers of which a lower one allows less; for others, swap the arguments. Returns `null` if they are equal.
 *
 * @param text what to say about a difference
 */
export function compareSizes(now: number, before: number, text: string): Difference | null {
  if (now === before) return null;
  const left = before === 0 ? Number.POSITIVE_INFINITY : now / before;
  return differ(now < before ? 'stricter' : 'looser', text, left);
}

/** Compares maxima as `compareSizes` does; `null` is no maximum. `format` says what each is: `max_body any, before 1KiB`. */
export function compareMaxima(
  key: string,
  now: number | null,
  before: number | null,
  format: (value: number | null) => string,
): Difference | null {
  const upTo = (max: number | null) => max ?? Number.POSITIVE_INFINITY;
  return compareSizes(upTo(now), upTo(before), `${key} ${format(now)}, before ${format(before)}`);
}

/** Compares two times of which the shorter one is stricter; `null` is any time. */
export function compareTimes(key: string, now: number | null, before: number | null): Difference | null {
  return compareMaxima(key, now, before, ms => (ms === null ? 'off' : formatDuration(ms)));
}

/**
 * Compares two ways to treat a request, of which one is stricter.
 *
 * @param now whether it is the stricter one
 * @param what the stricter one, in words
 */
export function compareStrictness(now: boolean, before: boolean, what: string): Difference | null {
  if (now === before) return null;
  return now ? differ('stricter', what, 0) : differ('looser', `no longer: ${what}`);
}

/** Compares values of which none allows more than another. */
export function compareNeutral(
  key: string,
  now: string | boolean,
  before: string | boolean,
): Difference | null {
  return now === before ? null : differ('neutral', `${key} ${now}, before ${before}`);
}

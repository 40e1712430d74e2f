/**
 * How many entries a table has that stands beside the counters of limits: `most` beside a million counters and more, fewer in
 * proportion, but up to a thousand as many as there are counters.
 */
export function besideCounters(most: number, limitKeys: number): number {
  return Math.min(most, Math.max(Math.ceil((most * limitKeys) / 1_000_000), Math.min(limitKeys, 1_000)));
}

/**
 * The number of entries of a table kept next to the counters of limits: `most` for a million counters or more, fewer in
 * proportion, but up to a thousand no fewer than counters.
 */
export function tableSizeFor(most: number, limitKeys: number): number {
  return Math.min(most, Math.max(Math.ceil((most * limitKeys) / 1_000_000), Math.min(limitKeys, 1_000)));
}

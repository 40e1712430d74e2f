/** Summarises several measurements of one thing. */
export interface Figure {
  readonly median: number;
  readonly lowest: number;
  readonly highest: number;
}

/** The figure of at least one value. */
export function figureOf(values: readonly number[]): Figure {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  const median = (at(sorted, Math.floor(middle)) + at(sorted, Math.ceil(middle))) / 2;
  return { median, lowest: at(sorted, 0), highest: at(sorted, sorted.length - 1) };
}

/** The figure of each member that several samples have. */
export function figuresOf<Key extends string>(
  samples: readonly Readonly<Record<Key, number>>[],
): Record<Key, Figure> {
  const keys = Object.keys(samples[0] ?? {}) as Key[];
  return Object.fromEntries(keys.map(key => [key, figureOf(samples.map(sample => sample[key]))])) as Record<
    Key,
    Figure
  >;
}

/** Returns the value below which the given share of the sorted values lies. */
export function percentile(sorted: Float64Array, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

function at(values: readonly number[], index: number): number {
  return values[index] ?? Number.NaN;
}

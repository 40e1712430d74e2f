import { Histogram, type Registry } from 'prom-client';

/** How to make a histogram, in the library's terms. */
export interface TallyHistogramOptions {
  readonly name: string;
  readonly help: string;
  readonly labelName: string;
  /** Upper bounds of the buckets, rising. */
  readonly buckets: readonly number[];
  readonly registers: Registry[];
}

/** Counts values by bucket. */
class Distribution {
  readonly #bounds: readonly number[];
  /** Values per bucket, not cumulative; the last bucket is for those above all bounds. */
  readonly counts: number[];
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.counts = Array.from({ length: bounds.length + 1 }, () => 0);
  }

  observe(value: number): void {
    let bucket = 0;
    while (value > (this.#bounds[bucket] ?? Number.POSITIVE_INFINITY)) bucket++;
    this.counts[bucket] = (this.counts[bucket] ?? 0) + 1;
    this.sum += value;
  }
}

/** A distribution for each value of a label: for histograms what `Tally` is for counters. */
export class TallyHistogram {
  readonly parts = new Map<string, Distribution>();
  readonly #bounds: readonly number[];

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
  }

  /** The distribution with this value of the label. */
  of(value: string): Distribution {
    const part = this.parts.get(value);
    if (part !== undefined) return part;
    const first = new Distribution(this.#bounds);
    this.parts.set(value, first);
    return first;
  }
}

/** Registers a histogram that shows, at each scrape, what the returned tally has observed since the start. */
export function tallyHistogram(options: TallyHistogramOptions): TallyHistogram {
  const { name, help, labelName, buckets, registers } = options;
  const tally = new TallyHistogram(buckets);
  const histogram = new Histogram({ name, help, labelNames: [labelName], buckets: [...buckets], registers });
  Object.assign(histogram, {
    // The registry calls this at each scrape. The published types lack it, but there is no other way to set counts.
    getForPromString: async () => {
      const values = [...tally.parts].flatMap(([value, part]) =>
        series(options, { [labelName]: value }, part),
      );
      return { name, help, type: 'histogram', aggregator: 'sum', values };
    },
  });
  return tally;
}

/** One distribution as series in the library's form: cumulative buckets, sum and count. */
function series(
  { name, buckets }: TallyHistogramOptions,
  sharedLabels: object,
  { counts, sum }: Distribution,
): object[] {
  let count = 0;
  const cumulative = counts.map((inBucket, i) => {
    count += inBucket;
    return { metricName: `${name}_bucket`, labels: { le: buckets[i] ?? '+Inf' }, sharedLabels, value: count };
  });
  return [
    ...cumulative,
    { metricName: `${name}_sum`, labels: {}, sharedLabels, value: sum },
    { metricName: `${name}_count`, labels: {}, sharedLabels, value: count },
  ];
}

import { Counter, type Registry } from 'prom-client';

/** How to make a counter, in the library's terms. */
export interface TallyOptions {
  readonly name: string;
  readonly help: string;
  /** Default none. */
  readonly labelNames?: readonly string[];
  readonly registers: Registry[];
}

/**
 * A count for each combination of label values, found by one look-up per label: `tally.of('api').of('200').count++`. For
 * events of every request: the library's own counters join the labels into a string each time, which takes eight times as long.
 */
export class Tally {
  count = 0;
  readonly parts = new Map<string, Tally>();

  /** The part with this value of the next label. */
  of(value: string): Tally {
    const part = this.parts.get(value);
    if (part !== undefined) return part;
    const first = new Tally();
    this.parts.set(value, first);
    return first;
  }
}

/**
 * Registers a counter that reports, at each scrape, what the returned tally has counted since the start. A series
 * starts at 0 once it was looked up: see `prepareSeries`.
 */
export function tallyCounter({ name, help, labelNames = [], registers }: TallyOptions): Tally {
  const tally = new Tally();
  const counter = new Counter({ name, help, labelNames, registers });
  Object.assign(counter, {
    // The registry calls this at each scrape. The published types lack it; `inc` takes 18 ms for 5,000 series, this 13.
    getForPromString: async () => {
      const values = [...series(tally, labelNames)].map(([labels, value]) => ({ labels, value }));
      return { name, help, type: 'counter', aggregator: 'sum', values };
    },
  });
  return tally;
}

function* series(
  tally: Tally,
  [name, ...names]: readonly string[],
  labels: Readonly<Record<string, string>> = {},
): Iterable<readonly [labels: Readonly<Record<string, string>>, count: number]> {
  if (name !== undefined) {
    // A label without a value is the same as none (Prometheus data model), and is left out.
    for (const [value, part] of tally.parts)
      yield* series(part, names, value === '' ? labels : { ...labels, [name]: value });
  } else {
    yield [labels, tally.count];
  }
}

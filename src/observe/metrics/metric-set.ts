import { Counter, Gauge, Registry } from 'prom-client';
import { METRICS, type MetricDeclaration, type MetricName, type MetricOf } from './declarations.ts';
import { type LabelModel, prepareSeries, type SeriesTree } from './label-model.ts';
import { type Tally, type TallyHistogram, tallyCounter, tallyHistogram } from './tally.ts';

/** Values that are kept elsewhere: one, or one for each combination of labels. */
type Reading = number | Iterable<readonly [labels: Readonly<Record<string, string>>, value: number]>;

const DECLARATIONS: Readonly<Record<MetricName, MetricDeclaration>> = METRICS;

/** Registers metrics as `METRICS` declares them, and shows their series from the start. */
export class MetricSet {
  readonly registry = new Registry();
  readonly #followers: ((model: LabelModel) => void)[] = [];

  /** Registers a counter that is counted here. */
  counter(name: MetricOf<'counter'>): Tally {
    const declaration = DECLARATIONS[name];
    const tally = tallyCounter(this.#optionsOf(name));
    this.#prepare(declaration, () => labelNamesOf(declaration), tally, 1);
    return tally;
  }

  /**
   * Registers a histogram.
   *
   * @param labelNames asked at each scrape and reload. Default: as declared.
   */
  histogram(name: MetricOf<'histogram'>, labelNames?: () => readonly string[]): TallyHistogram {
    const declaration = DECLARATIONS[name];
    const { buckets = [] } = declaration;
    const namesNow = labelNames ?? (() => labelNamesOf(declaration));
    const tally = tallyHistogram({ ...this.#optionsOf(name), buckets }, namesNow);
    // A series takes a line for each bucket and +Inf, the sum and the count.
    this.#prepare(declaration, namesNow, tally, buckets.length + 3);
    return tally;
  }

  /** Registers a gauge that is set here. */
  gauge(name: MetricOf<'gauge'>): Gauge<string> {
    const gauge = new Gauge<string>(this.#optionsOf(name));
    const { labels = {} } = DECLARATIONS[name];
    const names = Object.keys(labels);
    if (names.length === 0) return gauge;
    for (const row of combinations(labels))
      gauge.set(Object.fromEntries(names.map((label, i) => [label, row[i] ?? ''])), 0);
    return gauge;
  }

  /** Registers a metric that is read at each scrape. Values of the same labels add up in a counter. */
  read(name: MetricOf<'counter' | 'gauge'>, read: () => Reading): void {
    const options = this.#optionsOf(name);
    const values = () => {
      const now = read();
      return typeof now === 'number' ? [[{}, now] as const] : now;
    };
    if (DECLARATIONS[name].type === 'counter')
      new Counter<string>({
        ...options,
        collect() {
          this.reset();
          for (const [labels, value] of values()) this.inc(labels, value);
        },
      });
    else
      new Gauge<string>({
        ...options,
        collect() {
          this.reset();
          for (const [labels, value] of values()) this.set(labels, value);
        },
      });
  }

  /** Follows the configuration: shows the series that it makes possible, and drops those of what it no longer has. */
  use(model: LabelModel): void {
    for (const follow of this.#followers) follow(model);
  }

  #optionsOf(name: MetricName) {
    const declaration = DECLARATIONS[name];
    const { help } = declaration;
    return { name, help, labelNames: labelNamesOf(declaration), registers: [this.registry] };
  }

  #prepare<Part extends SeriesTree<Part>>(
    { labels = {}, series, configured }: MetricDeclaration,
    labelNames: () => readonly string[],
    root: Part,
    linesEach: number,
  ): void {
    if (series === undefined) prepareSeries(root, combinations(labels), -1, linesEach);
    else
      this.#followers.push(model => {
        const at = configured === undefined ? -1 : labelNames().indexOf(configured(model));
        prepareSeries(root, series(model), at, linesEach);
      });
  }
}

function labelNamesOf({ labels = {} }: MetricDeclaration): string[] {
  return Object.keys(labels);
}

/** Combines the values of all labels; nothing if one of them has no closed list. */
function combinations(labels: NonNullable<MetricDeclaration['labels']>): string[][] {
  return Object.values(labels).reduce<string[][]>(
    (rows, values) =>
      typeof values === 'string' ? [] : rows.flatMap(row => values.map(value => [...row, value])),
    [[]],
  );
}

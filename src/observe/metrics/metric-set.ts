import { AggregatorRegistry, Gauge, type Metric, Registry } from 'prom-client';
import { atOnce, type Steps, Turns } from '../../core/index.ts';
import { METRICS, type MetricDeclaration, type MetricName, type MetricOf } from './declarations.ts';
import { type LabelModel, prepareSeries, type SeriesTree } from './label-model.ts';

/**
 * A count for each combination of label values, found by one lookup per label: `tally.of('api').of('200').count++`. For
 * per-request events: the library's own counters join the labels into a string each time, which takes eight times as long.
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

  take(): number | null {
    const { count } = this;
    this.count = 0;
    return count === 0 ? null : count;
  }

  add(count: number): void {
    this.count += count;
  }
}

function* countsOf(tally: Tally, labelNames: readonly string[]): Iterable<Sample> {
  for (const [labels, { count }] of seriesOf(tally, labelNames)) yield { labels, value: count };
}

/** Yields the series of a tree with their labels. */
function* seriesOf<Part extends SeriesTree<Part>>(
  tree: Part,
  [name, ...names]: readonly string[],
  labels: Readonly<Record<string, string>> = {},
): Iterable<readonly [labels: Readonly<Record<string, string>>, series: Part]> {
  if (name === undefined) yield [labels, tree];
  // A label with an empty value is equivalent to a missing one (Prometheus data model), and is omitted.
  else
    for (const [value, part] of tree.parts)
      yield* seriesOf(part, names, value === '' ? labels : { ...labels, [name]: value });
}

/** Values per bucket, as in a `TallyHistogram`, and their sum. */
interface Distribution {
  readonly counts: readonly number[];
  readonly sum: number;
}

/** A distribution for each combination of label values: the equivalent of `Tally` for histograms. */
export class TallyHistogram {
  readonly parts = new Map<string, TallyHistogram>();
  sum = 0;
  /** Upper bounds of the buckets, ascending. */
  readonly bounds: readonly number[];
  /** Values per bucket, not cumulative; the last bucket is for those above all bounds. Created with the first value. */
  #counts: number[] | null = null;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
  }

  /** The part with this value of the next label. */
  of(value: string): TallyHistogram {
    const part = this.parts.get(value);
    if (part !== undefined) return part;
    const first = new TallyHistogram(this.bounds);
    this.parts.set(value, first);
    return first;
  }

  observe(value: number): void {
    const counts = this.#counts ?? zeros(this.bounds);
    this.#counts = counts;
    let bucket = 0;
    while (value > (this.bounds[bucket] ?? Number.POSITIVE_INFINITY)) bucket++;
    counts[bucket] = (counts[bucket] ?? 0) + 1;
    this.sum += value;
  }

  get counts(): readonly number[] {
    return this.#counts ?? zeros(this.bounds);
  }

  take(): Distribution | null {
    const taken = this.#counts === null ? null : { counts: this.#counts, sum: this.sum };
    this.#counts = null;
    this.sum = 0;
    return taken;
  }

  add({ counts, sum }: Distribution): void {
    this.#counts = this.counts.map((count, i) => count + (counts[i] ?? 0));
    this.sum += sum;
  }
}

function zeros(bounds: readonly number[]): number[] {
  return Array.from({ length: bounds.length + 1 }, () => 0);
}

function* distributionsOf(
  name: string,
  tally: TallyHistogram,
  labelNames: readonly string[],
): Iterable<Sample> {
  for (const [labels, part] of seriesOf(tally, labelNames)) yield* histogramSeries(name, labels, part);
}

/** One distribution as series in the library's form: cumulative buckets, sum and count. */
function histogramSeries(
  name: string,
  sharedLabels: Sample['labels'],
  { bounds, counts, sum }: TallyHistogram,
): Sample[] {
  let count = 0;
  const cumulative = counts.map((inBucket, i) => {
    count += inBucket;
    return { metricName: `${name}_bucket`, labels: { le: bounds[i] ?? '+Inf' }, sharedLabels, value: count };
  });
  return [
    ...cumulative,
    { metricName: `${name}_sum`, labels: {}, sharedLabels, value: sum },
    { metricName: `${name}_count`, labels: {}, sharedLabels, value: count },
  ];
}

interface Sample {
  /** Default: the name of the metric. */
  readonly metricName?: string;
  readonly labels: Readonly<Partial<Record<string, string | number>>>;
  readonly sharedLabels?: Sample['labels'];
  readonly value: number;
}

/** A metric in the library's form. Its series may be read one by one. */
interface ShownMetric {
  readonly name: string;
  readonly help: string;
  readonly type: unknown;
  readonly values: Iterable<Sample>;
}

/** The library's own metrics have `getForPromString` for a text, besides `get`. The published types lack it. */
async function inLibrarysForm(metric: Metric): Promise<ShownMetric> {
  const { getForPromString } = metric as { getForPromString?: () => Promise<ShownMetric> };
  return (await getForPromString?.call(metric)) ?? metric.get();
}

/** Prometheus' text format, one line per step: the library writes everything at once, which takes 0.1 s for 5,000 buckets. */
function* textOf(metrics: readonly ShownMetric[]): Steps<string> {
  const texts: string[] = [];
  for (const { name, help, type, values } of metrics) {
    const lines = [`# HELP ${name} ${escaped(help)}`, `# TYPE ${name} ${type}`];
    for (const sample of values) {
      lines.push(lineOf(name, sample));
      yield;
    }
    texts.push(lines.join('\n'));
  }
  return `${texts.join('\n\n')}\n`;
}

function lineOf(name: string, { metricName = name, labels, sharedLabels = {}, value }: Sample): string {
  const parts: string[] = [];
  for (const some of [labels, sharedLabels])
    for (const [label, of] of Object.entries(some))
      parts.push(`${label}="${escaped(`${of}`).replaceAll('"', '\\"')}"`);
  const shown = parts.length === 0 ? '' : `{${parts.join(',')}}`;
  return `${metricName}${shown} ${Number.isFinite(value) ? value : NOT_FINITE[`${value}`]}`;
}

const NOT_FINITE: Readonly<Record<string, string>> = { NaN: 'NaN', Infinity: '+Inf', '-Infinity': '-Inf' };

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}

/** Values that are stored elsewhere: one, or one for each combination of labels. */
type Reading = number | Iterable<readonly [labels: Readonly<Record<string, string>>, value: number]>;

/** Reads the values when the first one is needed. If labels repeat, uses the last value, or the sum. */
function* samplesOf(read: () => Reading, addsUp: boolean): Iterable<Sample> {
  const now = read();
  if (typeof now === 'number') return yield { labels: {}, value: now };
  const samples = new Map<string, Sample>();
  for (const [labels, value] of now) {
    const key = JSON.stringify(labels);
    samples.set(key, { labels, value: value + (addsUp ? (samples.get(key)?.value ?? 0) : 0) });
  }
  yield* samples.values();
}

/** A tree of series whose counts another thread adds to its own. */
interface Growing<Part, Amount> extends SeriesTree<Part> {
  /** Returns what this part has counted since the last call, and resets it; `null` if nothing. */
  take(): Amount | null;
  add(amount: Amount): void;
}

/** What the series of metrics have counted, by metric: label values and amounts. Whatever has no counts is left out. */
type Growth<Amount> = readonly (readonly [
  name: MetricName,
  series: readonly (readonly [labels: readonly string[], amount: Amount])[],
])[];

/** Takes what all series of these metrics have counted since the last call. */
function takeGrowth<Part extends Growing<Part, Amount>, Amount>(
  metrics: ReadonlyMap<MetricName, Part>,
): Growth<Amount> {
  return [...metrics].flatMap(([name, root]) => {
    const series: [labels: readonly string[], amount: Amount][] = [];
    const labels: string[] = [];
    const visit = (part: Part) => {
      const amount = part.take();
      if (amount !== null) series.push([[...labels], amount]);
      for (const [value, next] of part.parts) {
        labels.push(value);
        visit(next);
        labels.pop();
      }
    };
    visit(root);
    return series.length === 0 ? [] : [[name, series] as const];
  });
}

/** Adds what the series of another thread have counted. */
function addGrowth<Part extends Growing<Part, Amount>, Amount>(
  metrics: ReadonlyMap<MetricName, Part>,
  growth: Growth<Amount>,
): void {
  for (const [name, series] of growth)
    for (const [labels, amount] of series)
      labels.reduce((part, value) => part?.of(value), metrics.get(name))?.add(amount);
}

const DECLARATIONS: Readonly<Record<MetricName, MetricDeclaration>> = METRICS;

/** What the metrics of one thread have counted since the last `take`, by metric. */
export interface MetricGrowth {
  readonly counters: Growth<number>;
  readonly histograms: Growth<Distribution>;
}

/** The current values of metrics that each thread has, in the library's form. */
export type Levels = Awaited<ReturnType<Registry['getMetricsAsJSON']>>;

/** Merges the values of several threads. */
export function joinedLevels(levels: readonly Levels[]): Promise<Levels> {
  return AggregatorRegistry.aggregate([...levels]).getMetricsAsJSON();
}

/** Registers metrics as declared in `METRICS`, and shows their series from startup. */
export class MetricSet {
  readonly registry = new Registry();
  readonly #followers: ((model: LabelModel) => Steps<void>)[] = [];
  /** The configuration whose series are shown; `null` while they change. */
  #shown: LabelModel | null = null;
  readonly #counters = new Map<MetricName, Tally>();
  readonly #histograms = new Map<MetricName, TallyHistogram>();

  /** Registers a counter. A series is shown from 0 once it was looked up: see `prepareSeries`. */
  counter(name: MetricOf<'counter'>): Tally {
    const declaration = DECLARATIONS[name];
    const labelNames = labelNamesOf(declaration);
    const tally = new Tally();
    this.#counters.set(name, tally);
    this.#show(name, () => countsOf(tally, labelNames));
    this.#prepare(declaration, () => labelNames, tally, 1);
    return tally;
  }

  /**
   * Registers a histogram.
   *
   * @param labelNames read at each scrape and reload, which can add one. Default: as declared
   */
  histogram(name: MetricOf<'histogram'>, labelNames?: () => readonly string[]): TallyHistogram {
    const declaration = DECLARATIONS[name];
    const { buckets = [] } = declaration;
    const namesNow = labelNames ?? (() => labelNamesOf(declaration));
    const tally = new TallyHistogram(buckets);
    this.#histograms.set(name, tally);
    this.#show(name, () => distributionsOf(name, tally, namesNow()));
    // A series takes a line for each bucket and +Inf, the sum and the count.
    this.#prepare(declaration, namesNow, tally, buckets.length + 3);
    return tally;
  }

  gauge(name: MetricOf<'gauge'>): Gauge<string> {
    const { help, labels = {}, across: aggregator = 'sum' } = DECLARATIONS[name];
    const names = Object.keys(labels);
    const registers = [this.registry];
    const gauge = new Gauge<string>({ name, help, aggregator, labelNames: names, registers });
    if (names.length === 0) return gauge;
    for (const row of combinations(labels))
      gauge.set(Object.fromEntries(names.map((label, i) => [label, row[i] ?? ''])), 0);
    return gauge;
  }

  /** Registers a metric that is read at each scrape. Values of the same labels add up in a counter. */
  read(name: MetricOf<'counter' | 'gauge'>, read: () => Reading): void {
    const addsUp = DECLARATIONS[name].type === 'counter';
    this.#show(name, () => samplesOf(read, addsUp));
  }

  /** Applies the configuration: shows the series that it makes possible, and drops those that it no longer has. */
  *use(model: LabelModel): Steps<void> {
    if (model === this.#shown) return;
    this.#shown = null;
    for (const follow of this.#followers) yield* follow(model);
    this.#shown = model;
  }

  /** Takes what this thread has counted since the last call. */
  takeGrowth(): MetricGrowth {
    return { counters: takeGrowth(this.#counters), histograms: takeGrowth(this.#histograms) };
  }

  /** Adds what another thread has counted. */
  addGrowth({ counters, histograms }: MetricGrowth): void {
    addGrowth(this.#counters, counters);
    addGrowth(this.#histograms, histograms);
  }

  /** Reads the values that each thread has: its part of merged gauges, and the metrics of its JavaScript engine. */
  async levels(): Promise<Levels> {
    const names = this.registry.getMetricsAsArray().map(({ name }) => name);
    const read = names.filter(isLevel).map(async name => {
      const metric = await this.registry.getSingleMetric(name)?.get();
      if (metric === undefined) return [];
      // A mean over all threads would hide a slow one.
      const aggregator = metric.aggregator === 'average' ? ('max' as const) : metric.aggregator;
      return [{ ...metric, aggregator, values: [...metric.values] }];
    });
    return (await Promise.all(read)).flat();
  }

  /**
   * Metrics in Prometheus' text format, merged with the values of other threads. Written in slices: this thread may serve.
   *
   * @param names the names of the metrics; all if empty
   */
  async text(
    others: readonly Levels[],
    names: readonly string[],
    turns: Pick<Turns, 'slice'> = new Turns(),
  ): Promise<string> {
    const joined =
      others.length === 0 ? null : AggregatorRegistry.aggregate([await this.levels(), ...others]);
    const all = this.registry.getMetricsAsArray().map(({ name }) => name);
    const shown = all
      .filter(name => names.length === 0 || names.includes(name))
      .flatMap(name => joined?.getSingleMetric(name) ?? this.registry.getSingleMetric(name) ?? []);
    return turns.slice(textOf(await Promise.all(shown.map(inLibrarysForm))));
  }

  /** Registers a metric whose values are kept here. The library needs only its name, and this function for each scrape. */
  #show(name: MetricName, values: () => Iterable<Sample>): void {
    const { help, type, across: aggregator = 'sum' } = DECLARATIONS[name];
    const get = async () => ({ name, help, type, aggregator, values: values() });
    this.registry.registerMetric({ name, get } as unknown as Metric);
  }

  #prepare<Part extends SeriesTree<Part>>(
    { labels = {}, series, configured }: MetricDeclaration,
    labelNames: () => readonly string[],
    root: Part,
    linesEach: number,
  ): void {
    if (series === undefined) atOnce(prepareSeries(root, combinations(labels), -1, linesEach));
    else
      this.#followers.push(model => {
        const label = typeof configured === 'function' ? configured(model) : configured;
        const at = label === undefined ? -1 : labelNames().indexOf(label);
        return prepareSeries(root, series(model), at, linesEach);
      });
  }
}

/** Whether each thread has a part of this metric: yes for those of the engine, no for those of the process (`process_...`). */
function isLevel(name: string): boolean {
  const declaration = DECLARATIONS[name as MetricName] as MetricDeclaration | undefined;
  return declaration === undefined
    ? name.startsWith('nodejs_')
    : /^(sum|max)$/.test(declaration.across ?? '');
}

function labelNamesOf({ labels = {} }: MetricDeclaration): string[] {
  return Object.keys(labels);
}

/** Combines the values of all labels; returns nothing if one of them has no closed list. */
function combinations(labels: NonNullable<MetricDeclaration['labels']>): string[][] {
  return Object.values(labels).reduce<string[][]>(
    (rows, values) =>
      typeof values === 'string' ? [] : rows.flatMap(row => values.map(value => [...row, value])),
    [[]],
  );
}

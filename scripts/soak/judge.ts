import { type Sample, UNDER_WAY } from './samples.ts';

/** How one thing was at the rests after the warm-up. */
export interface Verdict {
  readonly name: string;
  readonly unit: 'MiB' | '';
  /** The lowest, the highest and the last value. */
  readonly lowest: number;
  readonly highest: number;
  readonly last: number;
  /** By which it grows from the first of these rests to the last, by the median of the slopes of all pairs (Theil-Sen). */
  readonly growth: number;
  readonly allowed: number;
  readonly returned: boolean;
}

interface Series {
  readonly name: string;
  readonly unit: 'MiB' | '';
  readonly of: (sample: Required<Sample>) => number | null | undefined;
  /** How far a value may lie above the lowest at any rest (a count), or how much it may grow over all of them (memory). */
  readonly allowed: number;
}

const MIB = 2 ** 20;
/** The rests that come before anything is judged: caches fill, code is compiled. */
const WARM_UP = 0.25;
/** Code is still being compiled throughout a run that is shorter: it allows memory three times as much. */
const SHORT_SECONDS = 300;
/** Of a standard normal distribution: growth by chance looks like this in one of twenty runs. */
const CHANCE = 1.64;

const SERIES: readonly Series[] = [
  { name: 'resident memory', unit: 'MiB', of: ({ resident }) => resident / MIB, allowed: 16 },
  { name: 'heap in use', unit: 'MiB', of: ({ rest }) => rest && rest.heapUsed / MIB, allowed: 4 },
  { name: 'memory outside the heap', unit: 'MiB', of: ({ rest }) => rest && rest.external / MIB, allowed: 4 },
  { name: 'descriptors', unit: '', of: ({ descriptors }) => descriptors, allowed: 6 },
  { name: 'handles', unit: '', of: ({ rest }) => rest?.handles, allowed: 6 },
  { name: 'timers', unit: '', of: ({ rest }) => rest?.timers, allowed: 8 },
];

/**
 * Says of each thing whether it returned. What counts one by one must be near its lowest value at each rest, and what is under way at 0.
 * Memory is never the same twice: it fails where its values rise more often than by chance (Mann-Kendall), and by more than is allowed
 * from the first to the last. Each thread is allowed as much.
 */
export function judge(samples: readonly Sample[], threads = 1): readonly Verdict[] {
  const rests = samples.filter(({ rest }) => rest !== null);
  const judged = rests.slice(Math.min(Math.ceil(rests.length * WARM_UP), Math.max(0, rests.length - 2)));
  const gauges = UNDER_WAY.map(
    (name): Series => ({ name, unit: '', of: ({ rest }) => rest?.gauges[name], allowed: 0 }),
  );
  const isShort = (samples.at(-1)?.at ?? 0) < SHORT_SECONDS;
  return [...SERIES, ...gauges].map(series => {
    const allowed = series.allowed * threads * (isShort && series.unit === 'MiB' ? 3 : 1);
    return verdictOf({ ...series, allowed }, judged);
  });
}

function verdictOf({ name, unit, of, allowed }: Series, rests: readonly Sample[]): Verdict {
  const values = rests.map(sample => of(sample) ?? Number.NaN);
  const [lowest, highest] = [Math.min(...values), Math.max(...values)];
  const { growth, rises } = trendOf(values);
  const isUnderWay = allowed === 0;
  const returned =
    unit === 'MiB' ? !(rises && growth > allowed) : highest <= (isUnderWay ? 0 : lowest + allowed);
  return { name, unit, lowest, highest, last: values.at(-1) ?? Number.NaN, growth, allowed, returned };
}

function trendOf(values: readonly number[]): { readonly growth: number; readonly rises: boolean } {
  const n = values.length;
  const slopes = values.flatMap((first, i) =>
    values.slice(i + 1).map((second, k) => (second - first) / (k + 1)),
  );
  if (slopes.length === 0) return { growth: 0, rises: false };
  const growth = (n - 1) * (slopes.toSorted((one, other) => one - other)[Math.floor(slopes.length / 2)] ?? 0);
  const score = slopes.reduce((sum, slope) => sum + Math.sign(slope), 0);
  return { growth, rises: (score - 1) / Math.sqrt((n * (n - 1) * (2 * n + 5)) / 18) >= CHANCE };
}

/** A table of Markdown. */
export function tableOf(verdicts: readonly Verdict[]): string {
  const digits = ({ unit }: Verdict, value: number) => value.toFixed(unit === 'MiB' ? 1 : 0);
  const rows = verdicts.map(verdict => {
    const { name, unit, lowest, highest, last, growth, returned } = verdict;
    const numbers = [lowest, highest, last, growth].map(value => digits(verdict, value));
    return `| ${unit === '' ? name : `${name}, ${unit}`} | ${numbers.join(' | ')} | ${returned ? 'yes' : '**no**'} |`;
  });
  return [
    '| At rest | lowest | highest | last | grows by | returned |',
    '|---|--:|--:|--:|--:|---|',
    ...rows,
  ].join('\n');
}

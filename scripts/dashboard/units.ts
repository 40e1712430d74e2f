import { scaleLinear } from 'd3-scale';

/** A value with its unit, as Grafana writes it. */
export function withUnit(value: number, unit: string, decimals?: number): string {
  switch (unit) {
    case 'percentunit':
      return `${rounded(value * 100, decimals)} %`;
    case 's':
      return duration(value);
    case 'bytes':
      return scaled(value, 1_024, ['B', 'KiB', 'MiB', 'GiB']);
    case 'Bps':
      return scaled(value, 1_000, ['B/s', 'kB/s', 'MB/s', 'GB/s']);
    case 'reqps':
      return `${rounded(value)} req/s`;
    default:
      return rounded(value, decimals);
  }
}

const DURATIONS = [
  [86_400, 'days'],
  [3_600, 'h'],
  [60, 'min'],
  [1, 's'],
] as const;

function duration(seconds: number): string {
  if (seconds === 0) return '0 s';
  const [size, name] = DURATIONS.find(([least]) => Math.abs(seconds) >= least) ?? [0.001, 'ms'];
  return `${rounded(seconds / size)} ${name}`;
}

function scaled(value: number, step: number, names: readonly string[]): string {
  let index = 0;
  while (value >= step && index < names.length - 1) {
    value /= step;
    index++;
  }
  return `${rounded(value)} ${names[index]}`;
}

function rounded(value: number, decimals?: number): string {
  if (decimals !== undefined) return value.toFixed(decimals);
  return String(Number(value.toPrecision(3)));
}

/** Round values from 0 to `highest`, round in the unit that they are shown in. */
export function ticksFor(highest: number, unit: string): number[] {
  const factor = factorOf(highest, unit);
  return scaleLinear([0, highest / factor], [0, 1])
    .ticks(4)
    .map(tick => tick * factor);
}

function factorOf(highest: number, unit: string): number {
  if (unit === 's') return DURATIONS.find(([least]) => highest >= least)?.[0] ?? 0.001;
  if (unit === 'bytes') return 1_024 ** Math.floor(Math.log2(Math.max(highest, 1)) / 10);
  return 1;
}

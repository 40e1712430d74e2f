import { filledIn, type Panel } from './dashboard.ts';

/** Times are seconds since the epoch. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** A line of a panel: its name in the legend, and a value for each step, null where there is none. */
export interface Line {
  readonly name: string;
  readonly values: readonly (number | null)[];
}

export const STEPS = 120;

/** Asks Prometheus for the lines of a panel, in the order of the legend. */
export async function linesOf(prometheus: string, { targets = [] }: Panel, span: Span): Promise<Line[]> {
  const lines = await Promise.all(
    targets.map(({ expr, legendFormat }) => ask(prometheus, expr, legendFormat, span)),
  );
  return lines.flat();
}

interface Matrix {
  readonly status: string;
  readonly error?: string;
  readonly data: {
    readonly result: readonly {
      readonly metric: Readonly<Record<string, string>>;
      readonly values: readonly (readonly [number, string])[];
    }[];
  };
}

async function ask(prometheus: string, expr: string, legend: string, { from, to }: Span): Promise<Line[]> {
  const step = (to - from) / STEPS;
  const query = new URLSearchParams({
    query: filledIn(expr, '30s'),
    start: String(from),
    end: String(to),
    step: String(step),
  });
  const matrix = (await (await fetch(`${prometheus}/api/v1/query_range?${query}`)).json()) as Matrix;
  if (matrix.status !== 'success') throw new Error(`${matrix.error}: ${expr}`);
  return matrix.data.result
    .map(({ metric, values }) => {
      const byStep = new Map(values.map(([at, value]) => [Math.round((at - from) / step), Number(value)]));
      return {
        name: legend.replaceAll(/\{\{(\w+)\}\}/g, (_all, label: string) => metric[label] ?? '').trim(),
        values: Array.from({ length: STEPS + 1 }, (_, i) => finite(byStep.get(i))),
      };
    })
    .toSorted((one, other) => one.name.localeCompare(other.name, 'en', { numeric: true }));
}

function finite(value: number | undefined): number | null {
  return value === undefined || !Number.isFinite(value) ? null : value;
}

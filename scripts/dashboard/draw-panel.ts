import { scaleLinear } from 'd3-scale';
import { area, line as lineOf } from 'd3-shape';
import type { Panel } from './dashboard.ts';
import { type Line, type Span, STEPS } from './queries.ts';
import { ticksFor, withUnit } from './units.ts';

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** Grafana's classic palette. */
const COLORS = [
  '#73bf69',
  '#f2cc0c',
  '#8ab8ff',
  '#ff780a',
  '#f2495c',
  '#5794f2',
  '#b877d9',
  '#c8f2c2',
  '#ffee52',
  '#ffa6b0',
];
const NAMED: Readonly<Record<string, string>> = {
  green: '#73bf69',
  orange: '#ff9830',
  red: '#f2495c',
  text: '#ccccdc',
};
const LEGEND_LINE = 16;

/** A panel with its lines as SVG. */
export function drawPanel(panel: Panel, box: Box, lines: readonly Line[], span: Span): string {
  const frame = `<rect class="panel" x="${box.x}" y="${box.y}" width="${box.width}" height="${box.height}" rx="3"/>
<text class="title" x="${box.x + 10}" y="${box.y + 19}">${escaped(panel.title)}</text>`;
  const content = panel.type === 'stat' ? drawStat(panel, box, lines) : drawSeries(panel, box, lines, span);
  return `${frame}\n${content}`;
}

function drawStat({ fieldConfig }: Panel, { x, y, width, height }: Box, lines: readonly Line[]): string {
  const values = lines[0]?.values ?? [];
  const last = values.findLast(value => value !== null) ?? null;
  const { unit = 'short', decimals, thresholds } = fieldConfig?.defaults ?? {};
  const step = thresholds?.steps.findLast(({ value }) => value === null || (last ?? 0) >= value);
  const color = NAMED[step?.color ?? 'text'] ?? COLORS[0];
  const top = Math.max(...values.map(value => value ?? 0), 1e-9);
  const place = (value: number): number => y + height - 4 - ((height - 66) * value) / top;
  const spark = area<number | null>()
    .defined(value => value !== null)
    .x((_value, i) => x + 1 + ((width - 2) * i) / STEPS)
    .y0(y + height - 1)
    .y1(value => place(value ?? 0))([...values]);
  const text = last === null ? 'no data' : withUnit(last, unit, decimals);
  return `<path d="${compact(spark)}" fill="${color}" fill-opacity="0.15"/>
<text class="stat" x="${x + width / 2}" y="${y + 56}" fill="${color}">${escaped(text)}</text>`;
}

function drawSeries({ fieldConfig }: Panel, box: Box, lines: readonly Line[], span: Span): string {
  const { unit = 'short', max, custom } = fieldConfig?.defaults ?? {};
  const stacked = custom?.stacking.mode === 'normal';
  const legend = drawLegend(lines, box);
  const plot = {
    left: box.x + 66,
    right: box.x + box.width - 12,
    top: box.y + 34,
    bottom: box.y + box.height - legend.height - 24,
  };
  const layers = stacked ? stack(lines) : lines.map(({ values }) => ({ base: values.map(() => 0), values }));
  const highest = Math.max(...layers.flatMap(({ values }) => values.map(value => value ?? 0)), 0);
  const y = scaleLinear([0, max ?? (highest === 0 ? 1 : highest * 1.05)], [plot.bottom, plot.top]);
  const x = (i: number): number => plot.left + ((plot.right - plot.left) * i) / STEPS;
  const grid = ticksFor(y.domain()[1] ?? 1, unit).map(
    tick => `<path class="grid" d="M${plot.left} ${y(tick).toFixed(1)}H${plot.right}"/>
<text class="axis end" x="${plot.left - 6}" y="${(y(tick) + 4).toFixed(1)}">${escaped(withUnit(tick, unit))}</text>`,
  );
  const drawn = layers.map(({ base, values }, index) =>
    drawLayer(values, base, COLORS[index % COLORS.length] ?? '', x, y, stacked),
  );
  return [...grid, ...timeAxis(plot, span), ...drawn.toReversed(), legend.text].join('\n');
}

function drawLayer(
  values: readonly (number | null)[],
  base: readonly (number | null)[],
  color: string,
  x: (i: number) => number,
  y: (value: number) => number,
  stacked: boolean,
): string {
  const isThere = (value: number | null): boolean => value !== null;
  const fill = area<number | null>()
    .defined(isThere)
    .x((_value, i) => x(i))
    .y0((_value, i) => y(base[i] ?? 0))
    .y1(value => y(value ?? 0))([...values]);
  const stroke = lineOf<number | null>()
    .defined(isThere)
    .x((_value, i) => x(i))
    .y(value => y(value ?? 0))([...values]);
  return `<path d="${compact(fill)}" fill="${color}" fill-opacity="${stacked ? 0.3 : 0.08}"/><path class="line" d="${compact(stroke)}" stroke="${color}"/>`;
}

/** Each line upon those before it. */
function stack(lines: readonly Line[]): { readonly base: number[]; readonly values: (number | null)[] }[] {
  let below = Array.from({ length: STEPS + 1 }, () => 0);
  return lines.map(({ values }) => {
    const base = below;
    below = base.map((value, i) => value + (values[i] ?? 0));
    const top = below;
    return { base, values: values.map((value, i) => (value === null ? null : (top[i] ?? 0))) };
  });
}

function timeAxis(plot: { left: number; right: number; bottom: number }, { from, to }: Span): string[] {
  return [0, 1 / 3, 2 / 3, 1].map(share => {
    const at = plot.left + (plot.right - plot.left) * share;
    const anchor = share === 0 ? 'start' : share === 1 ? 'end' : 'middle';
    const minutes = (((to - from) * (share - 1)) / 60).toFixed(1).replace('.0', '');
    return `<text class="axis" text-anchor="${anchor}" x="${at.toFixed(1)}" y="${plot.bottom + 15}">${share === 1 ? 'now' : `${minutes} min`}</text>`;
  });
}

function drawLegend(
  lines: readonly Line[],
  { x, y, width, height }: Box,
): { readonly text: string; readonly height: number } {
  let [column, row] = [0, 0];
  const places = lines.slice(0, COLORS.length).map(({ name }) => {
    const needed = 30 + name.length * (name === name.toUpperCase() ? 8 : 6.4);
    if (column > 0 && column + needed > width - 20) {
      column = 0;
      row += 1;
    }
    const place = { name, column, row };
    column += needed;
    return place;
  });
  const rows = row + 1;
  const top = y + height - 10 - (rows - 1) * LEGEND_LINE;
  const text = places.map(
    (
      place,
      i,
    ) => `<path class="key" stroke="${COLORS[i]}" d="M${x + 10 + place.column} ${top - 4 + place.row * LEGEND_LINE}h12"/>
<text class="axis" x="${x + 26 + place.column}" y="${top + place.row * LEGEND_LINE}">${escaped(place.name)}</text>`,
  );
  if (lines.length === 0)
    return {
      text: `<text class="none" x="${x + width / 2}" y="${y + height / 2 + 8}">no data</text>`,
      height: 6,
    };
  return { text: text.join('\n'), height: rows * LEGEND_LINE };
}

/** Whole pixels are enough for a picture. */
function compact(path: string | null): string {
  return (path ?? '').replaceAll(/\d+\.\d+/g, number => String(Math.round(Number(number))));
}

export function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

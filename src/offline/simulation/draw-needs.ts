import { BLUE, DARK, GRID, lineThrough, ORANGE, round, svgOf, textAt } from './svg.ts';

/** One panel of the picture: the needs of callers, and the quotas for comparison. */
export interface NeedPanel {
  readonly title: string;
  /** The need of each caller, at least 1, ascending. */
  readonly needs: Uint32Array;
  /** The suggested quota; `null` if there is none. */
  readonly suggested: number | null;
  /** The quota in limits.yaml; `null` if there is none. */
  readonly now: number | null;
}

interface Mark {
  readonly x: number;
  readonly units: number;
  readonly colour: string;
  readonly dash: string;
}

const COLUMNS = 2;
const PANEL_WIDTH = 400;
const PANEL_HEIGHT = 210;
const HEAD = 44;
/** Margins of the plot within its panel. */
const [LEFT, TOP, RIGHT, BOTTOM] = [56, 40, 26, 26];
const WITHIN = PANEL_WIDTH - LEFT - RIGHT;
const DEPTH = PANEL_HEIGHT - TOP - BOTTOM;
/** Maximum panels: a longer picture is useless. */
const MAX_PANELS = 60;
const MAX_TITLE = 50;
/** Labels of the grid: shares of callers, in percent. The lowest is the finest that `weir suggest` reports. */
const SHARES = [100, 10, 1, 0.1];

const LEGEND = [
  { name: 'callers who need more than that', colour: DARK, x: 12 },
  { name: 'suggested', colour: ORANGE, x: 262 },
  { name: 'now', colour: BLUE, x: 372 },
];

/** Draws, for each limit, the share of callers who need more than a number, on logarithmic axes. Contains no text from the log. */
export function renderNeeds(panels: readonly NeedPanel[]): string {
  const shown = panels.slice(0, MAX_PANELS);
  const height = HEAD + Math.max(1, Math.ceil(shown.length / COLUMNS)) * PANEL_HEIGHT;
  const legend = LEGEND.map(
    ({ name, colour, x }) =>
      `<rect x="${x}" y="12" width="12" height="12" fill="${colour}"/>${textAt(x + 18, 22, name)}`,
  );
  const left = panels.length - shown.length;
  const more = left === 0 ? [] : [textAt(788, 22, `${left} more are not drawn`, 'text-anchor="end"')];
  const drawn = shown.map((panel, i) => {
    const [x, y] = [(i % COLUMNS) * PANEL_WIDTH, HEAD + Math.floor(i / COLUMNS) * PANEL_HEIGHT];
    return `<g transform="translate(${x} ${y})">\n${panelOf(panel).join('\n')}\n</g>`;
  });
  const label = 'The share of callers who need more than a number, for each limit';
  return svgOf(COLUMNS * PANEL_WIDTH, height, label, [...legend, ...more, ...drawn]);
}

function panelOf({ title, needs, suggested, now }: NeedPanel): string[] {
  const top = Math.max(2, needs.at(-1) ?? 1, suggested ?? 1, now ?? 1);
  const x = (units: number) => LEFT + (Math.log(Math.max(1, units)) / Math.log(top)) * WITHIN;
  return [
    textAt(LEFT, 16, short(title), 'font-weight="bold"'),
    ...shareGrid(),
    ...ticks(top).map(units =>
      textAt(x(units), PANEL_HEIGHT - 10, units.toLocaleString('en'), 'text-anchor="middle"'),
    ),
    lineThrough(stepsOf(needs, x), DARK),
    ...marks([
      ...(suggested === null ? [] : [{ x: x(suggested), units: suggested, colour: ORANGE, dash: '' }]),
      ...(now === null ? [] : [{ x: x(now), units: now, colour: BLUE, dash: '6 3' }]),
    ]),
  ];
}

function shareGrid(): string[] {
  return SHARES.flatMap(share => {
    const at = round(yOf(share / 100));
    return [
      `<line x1="${LEFT}" x2="${PANEL_WIDTH - RIGHT}" y1="${at}" y2="${at}" stroke="${GRID}"/>`,
      textAt(LEFT - 6, at + 4, `${share} %`, 'text-anchor="end"'),
    ];
  });
}

/** Draws quotas as vertical lines, with their values above. */
function marks(numbers: readonly Mark[]): string[] {
  const [left, right] = numbers.toSorted((a, b) => a.x - b.x);
  const areClose = left !== undefined && right !== undefined && right.x - left.x < 44;
  return numbers.map(number => {
    const { x, units, colour, dash } = number;
    const [anchor, shift] = !areClose ? ['middle', 0] : number === left ? ['end', 3] : ['start', -3];
    const more = `fill="${colour}" text-anchor="${anchor}"`;
    const label = textAt(x + shift, TOP - 5, units.toLocaleString('en'), more);
    return `${lineThrough(`${round(x)},${TOP} ${round(x)},${TOP + DEPTH}`, colour, dash)}${label}`;
  });
}

/** A falling curve: at each number it drops by the share of callers who need no more. At most one step a pixel. */
function stepsOf(needs: Uint32Array, x: (units: number) => number): string {
  const points = [`${LEFT},${round(yOf(needs.length === 0 ? 0 : 1))}`];
  let lastX = LEFT;
  for (let i = 0; i < needs.length; i++) {
    const units = needs[i] ?? 0;
    if (needs[i + 1] === units) continue;
    const at = x(units);
    if (at - lastX < 1 && i + 1 < needs.length && points.length > 1) continue;
    points.push(`${round(at)},${points.at(-1)?.split(',')[1]}`);
    points.push(`${round(at)},${round(yOf((needs.length - i - 1) / needs.length))}`);
    lastX = at;
  }
  return points.join(' ');
}

/** The height for a share of callers, from 1 down to 0. Zero is below the last grid line. */
function yOf(share: number): number {
  const decades = SHARES.length - 1;
  const down = share === 0 ? decades + 0.15 : Math.min(decades + 0.15, -Math.log10(share));
  return TOP + (down / (decades + 0.15)) * DEPTH;
}

/** Labels of the axis from 1 to `top`: 1, 2, 5, 10, 20, 50 and so on; above 100, only powers of ten. */
function ticks(top: number): number[] {
  const factors = top > 100 ? [1] : [1, 2, 5];
  const powers = Array.from({ length: Math.floor(Math.log10(top)) + 1 }, (_, i) => 10 ** i);
  return powers.flatMap(power => factors.map(factor => factor * power)).filter(units => units <= top);
}

function short(title: string): string {
  return title.length <= MAX_TITLE ? title : `${title.slice(0, MAX_TITLE - 1)}…`;
}

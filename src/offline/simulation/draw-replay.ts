import { BLUE, GREY, GRID, lineThrough, ORANGE, round, svgOf } from './svg.ts';
import type { Point, ReplayTally } from './tally.ts';

const WIDTH = 800;
const HEIGHT = 300;
const LEFT = 60;
const TOP = 50;
const BOTTOM = 40;
const RIGHT = 20;
const WITHIN = WIDTH - LEFT - RIGHT;

const SERIES = [
  { name: 'requests', colour: GREY, fill: 0, dash: '', of: ({ requests }: Point) => requests },
  { name: 'refused after', colour: ORANGE, fill: 0.15, dash: '', of: ({ after }: Point) => after },
  // Dashed and on top, so that both lines show where they are equal.
  { name: 'refused before', colour: BLUE, fill: 0, dash: '6 3', of: ({ before }: Point) => before },
] as const;

/** Draws requests and refusals per second over time, as SVG. Contains no text from the log. */
export function renderReplay({
  points,
  pointMs,
  startMs,
  endMs,
}: Pick<ReplayTally, 'points' | 'pointMs' | 'startMs' | 'endMs'>): string {
  const shown = withoutStub(points, pointMs, endMs - startMs);
  const perSecond = (count: number, i: number) =>
    (count * 1_000) / Math.min(pointMs, Math.max(1_000, endMs - startMs - i * pointMs));
  const step = niceStep(Math.max(1, ...shown.map(({ requests }, i) => perSecond(requests, i))));
  const steps = Math.max(1, ...shown.map(({ requests }, i) => Math.ceil(perSecond(requests, i) / step)));
  const x = (i: number) => LEFT + ((i + 0.5) / Math.max(1, shown.length)) * WITHIN;
  const y = (value: number) => round(HEIGHT - BOTTOM - (value / (steps * step)) * (HEIGHT - TOP - BOTTOM));
  const lines = SERIES.map(({ colour, fill, dash, of }) => {
    const path = shown.map((point, i) => `${round(x(i))},${y(perSecond(of(point), i))}`).join(' ');
    const area = `<polygon points="${round(x(0))},${y(0)} ${path} ${round(x(shown.length - 1))},${y(0)}" fill="${colour}" fill-opacity="${fill}"/>`;
    const line = lineThrough(path, colour, dash);
    return fill === 0 ? line : `${area}${line}`;
  });
  const legend = SERIES.map(
    ({ name, colour }, i) =>
      `<rect x="${LEFT + i * 150}" y="22" width="12" height="12" fill="${colour}"/><text x="${LEFT + 18 + i * 150}" y="32">${name}</text>`,
  );
  const grid = Array.from({ length: steps + 1 }, (_, i) => {
    const at = y(i * step);
    return `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${at}" y2="${at}" stroke="${GRID}"/><text x="${LEFT - 8}" y="${at + 4}" text-anchor="end">${(i * step).toLocaleString('en')}</text>`;
  });
  return svgOf(WIDTH, HEIGHT, 'Requests and refusals per second', [
    '<text x="8" y="14">per second</text>',
    ...legend,
    ...grid,
    ...lines,
    ...times(startMs, endMs),
  ]);
}

/** Drops the last point if it covers too little time for a rate. */
function withoutStub(points: readonly Point[], pointMs: number, wholeMs: number): readonly Point[] {
  const lastMs = wholeMs - (points.length - 1) * pointMs;
  return points.length > 1 && lastMs < pointMs / 2 ? points.slice(0, -1) : points;
}

/** Labels of the time axis: date and time at both ends, the time of day between. */
function times(startMs: number, endMs: number): string[] {
  const textOf = (part: number) => new Date(startMs + part * (endMs - startMs)).toISOString();
  const label = (part: number, anchor: string, text: string) =>
    `<text x="${LEFT + part * WITHIN}" y="${HEIGHT - 14}" text-anchor="${anchor}">${text}</text>`;
  return [
    label(0, 'start', textOf(0).slice(0, 19).replace('T', ' ')),
    ...[0.4, 0.6].map(part => label(part, 'middle', textOf(part).slice(11, 19))),
    label(1, 'end', `${textOf(1).slice(0, 19).replace('T', ' ')} UTC`),
  ];
}

/** The distance between about four grid lines: 1, 2, 2.5 or 5 times a power of ten, as a whole number. */
function niceStep(top: number): number {
  const power = 10 ** Math.floor(Math.log10(top / 4));
  const factor = [1, 2, 2.5, 5].find(candidate => candidate * power >= top / 4) ?? 10;
  return Math.max(1, Math.ceil(factor * power));
}

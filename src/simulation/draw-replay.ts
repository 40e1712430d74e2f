import type { Point, Tally } from './tally.ts';

const WIDTH = 800;
const HEIGHT = 300;
const LEFT = 60;
const TOP = 50;
const BOTTOM = 40;
const RIGHT = 20;

const SERIES = [
  { name: 'requests', colour: '#9aa5b1', of: ({ requests }: Point) => requests },
  { name: 'refused before', colour: '#2f6fde', of: ({ before }: Point) => before },
  { name: 'refused after', colour: '#d9480f', of: ({ after }: Point) => after },
] as const;

/** Draws requests and refusals over time as SVG, per second. Holds no text from the log. */
export function drawReplay({
  points,
  pointMs,
  startMs,
  endMs,
}: Pick<Tally, 'points' | 'pointMs' | 'startMs' | 'endMs'>): string {
  const perSecond = (count: number) => (count * 1_000) / pointMs;
  const top = niceCeiling(Math.max(1, ...points.map(({ requests }) => perSecond(requests))));
  const x = (i: number) => LEFT + ((i + 0.5) / Math.max(1, points.length)) * (WIDTH - LEFT - RIGHT);
  const y = (value: number) => HEIGHT - BOTTOM - (value / top) * (HEIGHT - TOP - BOTTOM);
  const lines = SERIES.map(({ colour, of }) => {
    const path = points.map((point, i) => `${round(x(i))},${round(y(perSecond(of(point))))}`).join(' ');
    return `<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="1.5"/>`;
  });
  const legend = SERIES.map(
    ({ name, colour }, i) =>
      `<rect x="${LEFT + i * 150}" y="22" width="12" height="12" fill="${colour}"/><text x="${LEFT + 18 + i * 150}" y="32">${name}</text>`,
  );
  const grid = [0, 0.25, 0.5, 0.75, 1].map(part => {
    const at = round(y(part * top));
    return `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${at}" y2="${at}" stroke="#d0d7de"/><text x="${LEFT - 8}" y="${at + 4}" text-anchor="end">${round(part * top)}</text>`;
  });
  const time = (ms: number) => new Date(ms).toISOString().slice(0, 19).replace('T', ' ');
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12" fill="#1f2933" role="img" aria-label="Requests and refusals per second">`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#ffffff"/>`,
    '<text x="8" y="14">per second</text>',
    ...legend,
    ...grid,
    ...lines,
    `<text x="${LEFT}" y="${HEIGHT - 14}">${time(startMs)}</text>`,
    `<text x="${WIDTH - RIGHT}" y="${HEIGHT - 14}" text-anchor="end">${time(endMs)} UTC</text>`,
    '</svg>\n',
  ].join('\n');
}

/** The next of 1, 2 and 5 times a power of ten. */
function niceCeiling(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5, 10].find(factor => factor * power >= value) ?? 10) * power;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

import type { Sample } from './samples.ts';

const WIDTH = 760;
const PLOT = { left: 56, right: 744, top: 66, height: 180 };

/** Colours readable on white and on black pages; the reader's preference decides. */
const STYLE = `
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .title { font-size: 16px; font-weight: 600 } .small { font-size: 11px; fill: #59636e } .end { text-anchor: end }
  .grid { stroke: #d1d9e0; fill: none } path { fill: none } .load { stroke: #d4a72c } .rest { stroke: #0969da; stroke-width: 2 }
  .heap { stroke: #1a7f37; stroke-width: 2 } .counts { stroke: #8250df; stroke-width: 2 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .small { fill: #9198a1 } .grid { stroke: #3d444d }
  }`;

interface Line {
  readonly kind: 'load' | 'rest' | 'heap' | 'counts';
  readonly label: string;
  readonly points: readonly (readonly [number, number])[];
}

/** Memory over time, and below it what is counted one by one. */
export function curveOf(samples: readonly Sample[], title: string): string {
  const rests = samples.flatMap(sample => (sample.rest === null ? [] : [{ ...sample, rest: sample.rest }]));
  const end = Math.max(1, ...samples.map(({ at }) => at));
  const memory: Line[] = [
    { kind: 'load', label: 'resident under load', points: samples.map(s => [s.at, s.resident / 2 ** 20]) },
    { kind: 'rest', label: 'resident at rest', points: rests.map(s => [s.at, s.resident / 2 ** 20]) },
    { kind: 'heap', label: 'heap at rest', points: rests.map(s => [s.at, s.rest.heapUsed / 2 ** 20]) },
  ];
  const counts: Line[] = [
    { kind: 'load', label: 'descriptors under load', points: samples.map(s => [s.at, s.descriptors]) },
    { kind: 'rest', label: 'descriptors at rest', points: rests.map(s => [s.at, s.descriptors]) },
    { kind: 'heap', label: 'handles at rest', points: rests.map(s => [s.at, s.rest.handles]) },
    { kind: 'counts', label: 'timers at rest', points: rests.map(s => [s.at, s.rest.timers]) },
  ];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} 560" width="${WIDTH}" height="560" role="img">`,
    `<title>${title}</title><style>${STYLE}</style>`,
    `<text class="title" x="12" y="26">${title}</text>`,
    ...plotOf(memory, 'MiB', PLOT.top, end),
    ...plotOf(counts, 'open', PLOT.top + 250, end),
    '</svg>',
    '',
  ].join('\n');
}

function plotOf(lines: readonly Line[], unit: string, top: number, end: number): string[] {
  const highest = Math.max(1, ...lines.flatMap(({ points }) => points.map(([, value]) => value)));
  const scale = PLOT.height / highest;
  const bottom = top + PLOT.height;
  const x = (at: number) => (PLOT.left + ((PLOT.right - PLOT.left) * at) / end).toFixed(1);
  const y = (value: number) => (bottom - value * scale).toFixed(1);
  return [
    `<text class="small" x="12" y="${top - 10}">${unit}</text>`,
    ...[0, 0.25, 0.5, 0.75, 1].map(
      part =>
        `<path class="grid" d="M${PLOT.left} ${y(part * highest)}H${PLOT.right}"/><text class="small end" x="${PLOT.left - 6}" y="${Number(y(part * highest)) + 4}">${Math.round(part * highest)}</text>`,
    ),
    ...lines.map(
      ({ kind, points }) =>
        `<path class="${kind}" d="M${points.map(([at, value]) => `${x(at)} ${y(value)}`).join('L')}"/>`,
    ),
    `<text class="small" x="${PLOT.left}" y="${bottom + 18}">0</text>`,
    `<text class="small end" x="${PLOT.right}" y="${bottom + 18}">${end < 600 ? `${Math.round(end)} s` : `${Math.round(end / 60)} min`}</text>`,
    ...lines.map(
      ({ kind, label }, i) =>
        `<path class="${kind}" d="M${PLOT.left + i * 172} ${bottom + 34}h16"/><text class="small" x="${PLOT.left + 22 + i * 172}" y="${bottom + 38}">${label}</text>`,
    ),
  ];
}

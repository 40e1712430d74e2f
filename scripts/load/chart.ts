import type { LoadResult, Second } from './run.ts';

const WIDTH = 760;
const PLOT = { left: 56, right: 744, top: 66, bottom: 260 };

/** Colours readable on white and on black pages; the reader's preference decides. */
const STYLE = `
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .title { font-size: 16px; font-weight: 600 } .small { font-size: 11px; fill: #59636e } .end { text-anchor: end }
  .grid { stroke: #d1d9e0; fill: none } .ok { fill: #2da44e } .limited { fill: #bf8700 } .other { fill: #cf222e }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .small { fill: #9198a1 } .grid { stroke: #3d444d }
  }`;

const KINDS = [
  ['ok', '2xx'],
  ['limited', '429'],
  ['other', 'other'],
] as const;

/** Responses per second as SVG, with the figures of the run. */
export function chartOf(result: LoadResult): string {
  // The last second is not a whole one.
  const seconds = result.timeline.slice(0, Math.max(1, Math.floor(result.seconds)));
  const highest = Math.max(1, ...seconds.map(({ ok, limited, other }) => ok + limited + other));
  const top = roundUp(highest);
  const { p50, p90, p99, max } = result.latencyMs;
  const { ok, limited, responses } = result;
  const figures = [
    `${responses} responses: ${share(ok, responses)} 2xx, ${share(limited, responses)} 429`,
    `p50 ${p50} ms, p90 ${p90} ms, p99 ${p99} ms, max ${max} ms`,
    result.buckets.length === 0 ? 'no bucket' : result.held ? 'limits held to the unit' : 'LIMITS NOT HELD',
  ];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} 320" width="${WIDTH}" height="320" role="img">`,
    `<title>Responses per second</title><style>${STYLE}</style>`,
    `<text class="title" x="12" y="26">${escaped(`Responses per second: ${result.url}`)}</text>`,
    `<text class="small" x="12" y="46">${escaped(figures.join(' · '))}</text>`,
    ...[0, 0.25, 0.5, 0.75, 1].map(part => gridLine(part * top, yOf(part * top, top))),
    ...seconds.flatMap((second, i) => bar(second, i, seconds.length, top)),
    `<text class="small" x="${PLOT.left}" y="${PLOT.bottom + 18}">0 s</text>`,
    `<text class="small end" x="${PLOT.right}" y="${PLOT.bottom + 18}">${seconds.length} s</text>`,
    ...KINDS.map(
      ([kind, name], i) =>
        `<rect class="${kind}" x="${PLOT.left + i * 90}" y="294" width="12" height="12"/><text x="${PLOT.left + 18 + i * 90}" y="305">${name}</text>`,
    ),
    '</svg>',
    '',
  ].join('\n');
}

function bar(second: Second, index: number, count: number, top: number): string[] {
  const width = (PLOT.right - PLOT.left) / count;
  let below = 0;
  return KINDS.filter(([kind]) => second[kind] > 0).map(([kind]) => {
    const from = yOf(below, top);
    below += second[kind];
    const y = yOf(below, top);
    const [x, wide] = [PLOT.left + index * width, Math.max(0.5, width - (width > 4 ? 1 : 0))];
    return `<rect class="${kind}" x="${x.toFixed(1)}" y="${y.toFixed(1)}" width="${wide.toFixed(1)}" height="${(from - y).toFixed(1)}"/>`;
  });
}

function gridLine(value: number, y: number): string {
  return `<path class="grid" d="M${PLOT.left} ${y.toFixed(1)}H${PLOT.right}"/><text class="small end" x="${PLOT.left - 6}" y="${(y + 4).toFixed(1)}">${Number(value.toPrecision(3))}</text>`;
}

function yOf(value: number, top: number): number {
  return PLOT.bottom - ((PLOT.bottom - PLOT.top) * value) / top;
}

/** To one of 1, 2, 4 or 8 times a power of ten, so that quarters are round. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * ([1, 2, 4, 8].find(factor => factor * power >= value) ?? 10);
}

function share(count: number, of: number): string {
  return of === 0 ? '0 %' : `${((100 * count) / of).toFixed(1)} %`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

// node scripts/draw-architecture.ts draws docs/images/architecture.svg for the README: what stands around a gateway, and what a request
// meets in it.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const WIDTH = 912;
const HEIGHT = 436;
const STYLE = `
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .title { font-size: 16px; font-weight: 600 } .name { font-weight: 600 }
  .small { font-size: 12px; fill: #59636e } .end { text-anchor: end } .middle { text-anchor: middle }
  .box { fill: #f6f8fa; stroke: #8c959f } .weir { fill: #ddf4ff; stroke: #0969da; stroke-width: 1.5 }
  .way { stroke: #0969da; stroke-width: 2; fill: none } .side { stroke: #8c959f; stroke-width: 1.5; fill: none }
  .number { fill: #0969da } .digit { fill: #ffffff; font-size: 11px; text-anchor: middle }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .small { fill: #9198a1 }
    .box { fill: #151b23; stroke: #656c76 } .weir { fill: #121d2f; stroke: #4493f8 }
    .way { stroke: #4493f8 } .number { fill: #4493f8 } .digit { fill: #0d1117 }
  }`;

/** What a request meets in a gateway, in this order, and the status of a request that gets no further. */
const STEPS = [
  ['The request can be read in one way only', '400'],
  ['There is room for it', '503'],
  ['Its address is not restricted', '429'],
  ['A route matches host, path and method', '404, 405'],
  ['Its token says who calls', ''],
  ['All its limits admit it, or none is charged', '429'],
  ['Its caller may use the route', '401, 403'],
  ['It is forwarded; bodies stream both ways', '502, 504'],
] as const;

/** A box with a name and lines below it. */
interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly name: string;
  readonly lines: readonly string[];
}

const CLIENTS: Box = {
  ...{ x: 8, y: 96, width: 170, name: 'Clients' },
  lines: ['browsers, apps, bots,', 'other services', 'HTTP/1.1, HTTP/2, TLS', 'WebSocket', 'gRPC, gRPC-Web'],
};
const SERVICES: Box = {
  ...{ x: 734, y: 96, width: 170, name: 'Your services' },
  lines: [
    'HTTP/1.1, HTTP/2, TLS',
    'WebSocket, gRPC',
    'each at one address',
    'or balanced over',
    'several, with checks',
  ],
};
/** What stands below a gateway, and whether the arrow leads to it. */
const AROUND: readonly (Box & { readonly to: boolean })[] = [
  {
    ...{ x: 8, y: 352, width: 215, name: 'gateway.yaml, limits.yaml', to: false },
    lines: ['errors at once, by line;', 'reloaded while it serves'],
  },
  {
    ...{ x: 235, y: 352, width: 215, name: 'OpenID Connect provider', to: true },
    lines: ['sign-in, keys, revocations;', 'Keycloak or another'],
  },
  {
    ...{ x: 462, y: 352, width: 215, name: 'Redis, optional', to: true },
    lines: ['one limit over several', 'gateways, exact to the unit'],
  },
  {
    ...{ x: 689, y: 352, width: 215, name: 'Metrics, log, traces', to: true },
    lines: ['alerts, dashboard,', 'status page, admin API'],
  },
];
const [WEIR_X, WEIR_Y, WEIR_WIDTH, WEIR_HEIGHT] = [252, 12, 408, 300];

function boxOf({ x, y, width, name, lines }: Box): string {
  return [
    `<rect class="box" x="${x}" y="${y}" width="${width}" height="${36 + lines.length * 18}" rx="6"/>`,
    `<text class="name" x="${x + 12}" y="${y + 24}">${name}</text>`,
    ...lines.map((line, row) => `<text class="small" x="${x + 12}" y="${y + 44 + row * 18}">${line}</text>`),
  ].join('\n');
}

function stepOf([what, status]: (typeof STEPS)[number], row: number): string {
  const y = WEIR_Y + 66 + row * 29;
  return [
    `<circle class="number" cx="${WEIR_X + 26}" cy="${y}" r="9"/>`,
    `<text class="digit" x="${WEIR_X + 26}" y="${y + 4}">${row + 1}</text>`,
    `<text x="${WEIR_X + 46}" y="${y + 5}">${what}</text>`,
    `<text class="small end" x="${WEIR_X + WEIR_WIDTH - 16}" y="${y + 5}">${status}</text>`,
  ].join('\n');
}

/** An arrow along a path. `both`: it has a head at each end. */
function arrow(path: string, kind: 'way' | 'side', both = false): string {
  return `<path class="${kind}" d="${path}" marker-end="url(#${kind})"${both ? ` marker-start="url(#${kind})"` : ''}/>`;
}

function headOf(kind: 'way' | 'side'): string {
  return `<marker id="${kind}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="${kind === 'way' ? 5 : 6}" markerHeight="6" orient="auto-start-reverse"><path class="${kind}" d="M1 1L7 4L1 7"/></marker>`;
}

const middle = CLIENTS.y + 60;
const picture = [
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img">`,
  '<title>What stands around a gateway, and what a request meets in it</title>',
  `<style>${STYLE}</style>`,
  `<defs>${headOf('way')}${headOf('side')}</defs>`,
  boxOf(CLIENTS),
  boxOf(SERVICES),
  ...AROUND.map(boxOf),
  `<rect class="weir" x="${WEIR_X}" y="${WEIR_Y}" width="${WEIR_WIDTH}" height="${WEIR_HEIGHT}" rx="8"/>`,
  `<text class="title" x="${WEIR_X + 16}" y="${WEIR_Y + 32}">Weir</text>`,
  `<text class="small end" x="${WEIR_X + WEIR_WIDTH - 16}" y="${WEIR_Y + 32}">else the answer is</text>`,
  ...STEPS.map(stepOf),
  arrow(`M${CLIENTS.x + CLIENTS.width + 6} ${middle}H${WEIR_X - 6}`, 'way', true),
  arrow(`M${WEIR_X + WEIR_WIDTH + 6} ${middle}H${SERVICES.x - 6}`, 'way', true),
  ...AROUND.map(({ x, y, width, to }) => {
    const center = Math.min(Math.max(x + width / 2, WEIR_X + 30), WEIR_X + WEIR_WIDTH - 30);
    const [at, from] = [x + width / 2, WEIR_Y + WEIR_HEIGHT + 4];
    const way = to ? `M${center} ${from}L${at} ${y - 4}` : `M${at} ${y - 4}L${center} ${from}`;
    return arrow(way, 'side');
  }),
  '</svg>\n',
];
writeFileSync(join(import.meta.dirname, '../docs/images/architecture.svg'), picture.join('\n'));

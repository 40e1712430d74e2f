import { type Panel, readPanels } from './dashboard.ts';
import { drawPanel, escaped } from './draw-panel.ts';
import { linesOf, type Span } from './queries.ts';

const COLUMN = 56;
const UNIT = 27;
const GAP = 8;
const HEAD = 56;
const MARGIN = 12;

const STYLE = `
  text { font: 12px system-ui, -apple-system, 'Segoe UI', sans-serif; fill: #ccccdc }
  .page { fill: #111217 } .panel { fill: #181b1f; stroke: #2c3235 }
  .name { font-size: 22px; font-weight: 600 } .how { fill: #8e8e9b }
  .title { font-size: 13px; font-weight: 600 } .row { font-size: 15px; font-weight: 600 }
  .stat { font-size: 27px; font-weight: 600; text-anchor: middle }
  .axis { font-size: 11px; fill: #9d9da8 } .end { text-anchor: end } .none { fill: #6e6e78; text-anchor: middle }
  .grid { stroke: #2c3235; fill: none } .line { fill: none; stroke-width: 1.5 } .key { stroke-width: 3; fill: none }`;

/** The whole dashboard, from what this Prometheus has of the span. */
export async function drawDashboard(prometheus: string, span: Span, how: string): Promise<string> {
  const panels = readPanels();
  const drawn: string[] = [];
  for (const panel of panels) {
    const box = boxOf(panel);
    drawn.push(
      panel.type === 'row'
        ? `<text class="row" x="${box.x + 2}" y="${box.y + 19}">${escaped(panel.title)}</text>`
        : drawPanel(panel, box, await linesOf(prometheus, panel, span), span),
    );
  }
  const width = 24 * COLUMN + 2 * MARGIN;
  const height = Math.max(...panels.map(panel => boxOf(panel).y + boxOf(panel).height)) + MARGIN;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    '<title>The dashboard of a gateway under load</title>',
    `<style>${STYLE}</style>`,
    `<rect class="page" width="${width}" height="${height}"/>`,
    `<text class="name" x="${MARGIN + 2}" y="32">Weir</text><text class="how" x="${MARGIN + 68}" y="31">${escaped(how)}</text>`,
    ...drawn,
    '</svg>',
    '',
  ].join('\n');
}

function boxOf({ gridPos: { x, y, w, h } }: Panel) {
  return {
    x: MARGIN + x * COLUMN + GAP / 2,
    y: HEAD + y * UNIT,
    width: w * COLUMN - GAP,
    height: h * UNIT - GAP,
  };
}

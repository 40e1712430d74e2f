import type { Figure } from '../measure/figures.ts';
import { figureText } from './numbers.ts';
import type { Column, Result } from './result.ts';

const WIDTH = 720;
const NAME_WIDTH = 190;
const VALUE_WIDTH = 140;
const BAR_WIDTH = WIDTH - NAME_WIDTH - VALUE_WIDTH;
const BAR_HEIGHT = 18;
const ROW_HEIGHT = 30;
const HEAD_HEIGHT = 58;

/** Colours readable on white and on black pages; the reader's preference decides. */
const STYLE = `
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .title { font-size: 16px; font-weight: 600 }
  .how { font-size: 11px; fill: #59636e }
  .ours { fill: #0969da } .theirs { fill: #9aa4af }
  .spread { stroke: #1f2328; stroke-width: 1.5; fill: none }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .how { fill: #9198a1 }
    .ours { fill: #4493f8 } .theirs { fill: #656c76 }
    .spread { stroke: #e6edf3 }
  }`;

interface Bar {
  readonly name: string;
  readonly figure: Figure;
}

/** Draws the first column of a result as SVG: a bar for each median, with a line from the lowest to the highest value. */
export function chartOf({ title, columns, rows, how }: Result): string | null {
  const column = columns[0];
  if (column === undefined) return null;
  const bars = rows.flatMap(({ name, figures }) => {
    const figure = figures[column.id];
    return figure === undefined ? [] : [{ name, figure }];
  });
  if (bars.length === 0) return null;
  const height = HEAD_HEIGHT + bars.length * ROW_HEIGHT + 8;
  const scale = BAR_WIDTH / Math.max(...bars.map(({ figure }) => figure.highest));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img">`,
    `<title>${escaped(`${title}: ${column.label}`)}</title>`,
    `<style>${STYLE}</style>`,
    `<text class="title" x="8" y="24">${escaped(`${title}: ${column.label}, less is better`)}</text>`,
    `<text class="how" x="8" y="43">${escaped(how)}</text>`,
    ...bars.map((bar, row) => barOf(bar, column, scale, HEAD_HEIGHT + row * ROW_HEIGHT)),
    '</svg>',
    '',
  ].join('\n');
}

function barOf({ name, figure }: Bar, column: Column, scale: number, top: number): string {
  const [middle, baseline] = [top + BAR_HEIGHT / 2, top + BAR_HEIGHT / 2 + 4.5];
  const at = (value: number): string => (NAME_WIDTH + value * scale).toFixed(1);
  const kind = name.startsWith('Weir') ? 'ours' : 'theirs';
  const ends = [figure.lowest, figure.highest].map(value => `M${at(value)} ${middle - 4}v8`).join('');
  return [
    `<text x="${NAME_WIDTH - 8}" y="${baseline}" text-anchor="end">${escaped(name)}</text>`,
    `<rect class="${kind}" x="${NAME_WIDTH}" y="${top}" width="${(Math.max(0, figure.median) * scale).toFixed(1)}" height="${BAR_HEIGHT}"/>`,
    `<path class="spread" d="M${at(figure.lowest)} ${middle}H${at(figure.highest)}${ends}"/>`,
    `<text x="${NAME_WIDTH + BAR_WIDTH + 8}" y="${baseline}">${figureText(figure, column.digits)}</text>`,
  ].join('\n');
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

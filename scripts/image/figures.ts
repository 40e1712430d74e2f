import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../manifest.ts';

const DOCUMENT = join(ROOT, 'docs/container.md');
/** How far a size may be from the documented one. */
const TOLERANCE = 0.1;

/** What the image takes. */
export interface Figures {
  readonly imageBytes: number;
  /** Of Weir in it. */
  readonly applicationBytes: number;
  /** Processor time until the gateway was ready. */
  readonly startMs: number;
  /** Resident memory at rest. */
  readonly restBytes: number;
}

/** The rows of the table in docs/container.md. */
export function rowsOf({ imageBytes, applicationBytes, startMs, restBytes }: Figures): string[] {
  return [
    `| Image, uncompressed | ${megabytes(imageBytes)} |`,
    `| Weir in it | ${megabytes(applicationBytes)} |`,
    `| Processor time until it is ready | ${(startMs / 1_000).toFixed(2)} s |`,
    `| Resident at rest | ${megabytes(restBytes)} |`,
  ];
}

/** Writes the figures to docs/container.md. */
export function writeFigures(figures: Figures): void {
  let text = readFileSync(DOCUMENT, 'utf8');
  for (const row of rowsOf(figures)) text = text.replace(lineLike(row, text), () => row);
  writeFileSync(DOCUMENT, text);
}

/** Sizes that are far from those in docs/container.md. Times and memory differ between machines: they have limits instead. */
export function outdatedSizes(figures: Figures): string[] {
  const text = readFileSync(DOCUMENT, 'utf8');
  return rowsOf(figures)
    .slice(0, 2)
    .filter(row => {
      const [documented, measured] = [numberIn(lineLike(row, text)), numberIn(row)];
      return Math.abs(documented - measured) > measured * TOLERANCE;
    });
}

/** The row of the same name in the document. */
function lineLike(row: string, text: string): string {
  const start = row.slice(0, row.lastIndexOf(' | ', row.length - 3) + 3);
  const line = text.split('\n').find(each => each.startsWith(start));
  if (line === undefined) throw new Error(`docs/container.md has no row "${start}"`);
  return line;
}

function numberIn(row: string): number {
  return Number(/([\d.]+) \w+ \|$/.exec(row)?.[1]);
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(bytes < 10e6 ? 1 : 0)} MB`;
}

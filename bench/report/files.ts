import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { chartOf } from './chart.ts';
import { withResults } from './markdown.ts';
import type { Report } from './result.ts';

const BENCH = join(import.meta.dirname, '..');

/** Writes results.json and a chart for each result with processor times. */
export async function writeResults(report: Report, directory: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, 'results.json'), `${JSON.stringify(report, null, 2)}\n`);
  for (const result of report.results) {
    const chart = result.columns[0]?.id === 'cpu' ? chartOf(result) : null;
    if (chart !== null) await writeFile(join(directory, `${result.id}.svg`), chart);
  }
}

/** What was written last. */
export async function readResults(directory: string): Promise<Report> {
  return JSON.parse(await readFile(join(directory, 'results.json'), 'utf8'));
}

/** Puts the tables of a full run into bench/README.md. */
export async function writeReadme(report: Report): Promise<void> {
  const file = join(BENCH, 'README.md');
  await writeFile(file, withResults(await readFile(file, 'utf8'), report));
}

export const RESULTS = join(BENCH, 'results');

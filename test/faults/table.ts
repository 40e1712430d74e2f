import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { CHECKOUT } from '../support/documents.ts';
import { type Counts, KINDS, type Kind, type Outcome } from './account.ts';

/** What clients saw of a fault, by what they sent. */
export type Seen = Readonly<Record<Kind, Counts>>;

const FILE = join(CHECKOUT, 'docs/operations.md');
const PLACE =
  /(<!-- faults: WEIR_WRITE=1 npm run test:faults -->\n\n\|[^\n]*\n\|[^\n]*\n)(.*?)(\n<!-- end -->)/s;
const WORDS: Readonly<Record<string, string>> = {
  cut: 'cut off',
  broken: 'broken',
  unconnected: 'no connection',
};

/** The rows of the document by the name of the fault, which is their first cell. Behind it are those of `KINDS`, and more. */
export function documentedRows(): Map<string, string[]> {
  const lines = PLACE.exec(readFileSync(FILE, 'utf8'))?.[2]?.split('\n').filter(Boolean) ?? [];
  const rows = lines.map(line => line.slice(2, -2).split(' | '));
  return new Map(rows.map(row => [row[0] ?? '', row]));
}

/**
 * Expects that the document has a row of this fault that tells no other ends than these. With WEIR_WRITE, writes what clients saw;
 * all else of a row is written by hand.
 */
export function tell(name: string, seen: Seen, mayEnd: readonly Outcome[] = []): void {
  if (process.env['WEIR_WRITE']) write(name, seen);
  const row = documentedRows().get(name);
  const cells = row?.slice(1, 1 + KINDS.length) ?? ['no row of this fault'];
  expect(cells, name).toEqual(cells.map(() => expect.stringMatching(/^(–|\d.*)$/)));
  const ends = cells.flatMap(cell => Array.from(cell.matchAll(/; ([^:]+): /g), ([, end]) => end));
  expect(mayEnd.map(end => WORDS[end] ?? end)).toEqual(expect.arrayContaining(ends));
}

function write(name: string, seen: Seen): void {
  const rows = documentedRows();
  rows.get(name)?.splice(1, KINDS.length, ...KINDS.map(kind => inWords(seen[kind])));
  const lines = Array.from(rows.values(), cells => `| ${cells.join(' | ')} |`);
  const text = readFileSync(FILE, 'utf8');
  writeFileSync(
    FILE,
    text.replace(PLACE, (_, begin, __, end) => `${begin}${lines.join('\n')}\n${end}`),
  );
}

/** "990 of 1,000; 502: 7; broken: 3", or "1,000" where all were answered */
function inWords({ answered = 0, ...others }: Counts): string {
  const number = (count: number) => count.toLocaleString('en');
  const ends = Object.entries(others);
  const all = ends.reduce((sum, [, count]) => sum + count, answered);
  if (all === 0) return '–';
  if (all === answered) return number(all);
  const each = ends.map(([end, count]) => `; ${WORDS[end] ?? end}: ${number(count)}`);
  return `${number(answered)} of ${number(all)}${each.join('')}`;
}

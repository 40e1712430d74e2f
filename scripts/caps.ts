// npm run caps: fills the caps of a gateway one after another, as hostile and slow clients do, and writes what one client takes to
// docs/memory.md. With a word behind it, prints only the rows that have it. With --all, fills every cap of one gateway at once.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Filled, fill } from './caps/fill.ts';
import { fillAll } from './caps/fill-all.ts';
import { CONNECTIONS_AND_REQUESTS } from './caps/fillings.ts';
import { TABLES } from './caps/tables.ts';
import { ROOT } from './manifest.ts';

const DOCUMENT = join(ROOT, 'docs/memory.md');
const PLACE = /(<!-- caps: npm run caps -->\n\n).*?(\n\n<!-- end -->)/s;
const HEAD = [
  '| Protocol | A client that | Cap, and its default | KiB each | of it objects | MiB, all |',
  '|---|---|---|--:|--:|--:|',
];

if (process.argv.includes('--all')) process.exit((await fillAll()) ? 0 : 1);
const FILLINGS = [...CONNECTIONS_AND_REQUESTS, ...TABLES];
const word = process.argv[2];
if (word !== undefined && !FILLINGS.some(filling => namesOf(filling).includes(word))) {
  const isAsked = word === '--help';
  if (!isAsked) console.error(`caps: no row has "${word}"\n`);
  console.log(
    'npm run caps [-- WORD]: all rows, written to docs/memory.md, or those with the word, only printed\nnpm run caps -- --all: fills every cap at once, in a control group of 512 MiB with two workers\n',
  );
  for (const filling of FILLINGS) console.log(`  ${namesOf(filling)}`);
  process.exit(isAsked ? 0 : 64);
}
const rows: string[] = [];
for (const filling of FILLINGS) {
  if (word !== undefined && !namesOf(filling).includes(word)) continue;
  const row = rowOf(await fill(filling));
  process.stdout.write(`${row}\n`);
  rows.push(row);
}
if (word === undefined) {
  const text = readFileSync(DOCUMENT, 'utf8');
  const table = [...HEAD, ...rows].join('\n');
  writeFileSync(
    DOCUMENT,
    text.replace(PLACE, (_, begin: string, end: string) => `${begin}${table}${end}`),
  );
}
process.exit();

function namesOf({ protocol, what }: Filled['filling']): string {
  return `${protocol} ${what}`;
}

function rowOf({ filling, count, before, after, objects }: Filled): string {
  const { protocol, what, cap, most } = filling;
  const each = (after - before) / count;
  const kib = (bytes: number) => Math.max(0, bytes / 1024).toFixed(bytes < 4_096 ? 1 : 0);
  const all = most === null ? '' : ((each * most) / 2 ** 20).toFixed(0);
  const bound = cap === null ? 'fixed' : `\`${cap}\``;
  const upTo = most === null ? '' : `, ${most.toLocaleString('en')}`;
  return `| ${protocol} | ${what} | ${bound}${upTo} | ${kib(each)} | ${kib(objects / count)} | ${all} |`.replace(
    '|  |',
    '| |',
  );
}

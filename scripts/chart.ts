// Writes what is generated of the chart: `npm run chart` after a change of scripts/chart/values.ts or of the configuration's
// schemas. With --check it writes nothing and fails if a file is not up to date.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { chartReadme } from './chart/readme.ts';
import { chartSchema } from './chart/schema.ts';
import { ROOT } from './manifest.ts';

const FILES = {
  'helm/weir/values.schema.json': () => `${JSON.stringify(chartSchema(), null, 2)}\n`,
  'helm/weir/README.md': chartReadme,
};

const isCheck = process.argv.includes('--check');
for (const [name, make] of Object.entries(FILES)) await update(name, make());

async function update(name: string, text: string): Promise<void> {
  const path = join(ROOT, name);
  const present = await readFile(path, 'utf8').catch(() => '');
  if (present === text) return;
  if (isCheck) {
    console.error(`${name} is not up to date: npm run chart`);
    process.exitCode = 1;
    return;
  }
  await writeFile(path, text);
  console.log(`wrote ${name}`);
}

import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { tempFolder } from '../support/temp.ts';

test('a gateway returns to where it was after clients of all protocols, abuse, reloads and faults', async () => {
  const folder = await tempFolder();
  const words = ['scripts/soak.ts', '--seconds', '20', '--seed', '1', '--out', folder];
  const run = await promisify(execFile)(process.execPath, words).catch(failed => failed);
  expect(run.stdout).toContain('Everything returned.');
  expect(run.code ?? 0).toBe(0);
  expect(await readFile(join(folder, 'soak.svg'), 'utf8')).toContain('</svg>');
});

import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { getHeapCodeStatistics, getHeapSpaceStatistics } from 'node:v8';
import { expect, test } from 'vitest';
import { collectInMainThread, collectWhatStartingLeft } from '../../../../src/process/workers/heap.ts';
import { tempFolder } from '../../../support/temp.ts';

const HEAP = join(import.meta.dirname, '../../../../src/process/workers/heap.ts');
const bytecode = () => getHeapCodeStatistics().bytecode_and_metadata_size;

const youngMib = () =>
  (getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.physical_space_size ?? 0) /
  2 ** 20;

test('what starting took of the young generation is given back at once, and code finds no collector', () => {
  let kept: object[] = [];
  for (let count = 0; count < 1_000_000; count++) {
    kept.push({ count });
    if (kept.length > 300_000) kept = kept.slice(100_000);
  }
  kept = [];
  expect(youngMib()).toBeGreaterThanOrEqual(8);
  collectWhatStartingLeft();
  expect(youngMib()).toBeLessThan(4);
  expect(globalThis).not.toHaveProperty('gc');
});

test('beside workers, functions that do not run lose their bytecode, and run again when they are called', () => {
  const functions = Array.from(
    { length: 1_000 },
    (_, n) => new Function('a', `return ${'a + '.repeat(100)}${n}`),
  );
  for (const each of functions) each(1);
  const before = bytecode();
  collectInMainThread();
  expect(bytecode()).toBeLessThan(before / 2);
  expect(functions[2]?.(1)).toBe(102);
});

test('Node.js gives back the compiled code that it has read', async () => {
  const folder = await tempFolder();
  const script = join(folder, 'script.mjs');
  writeFileSync(
    script,
    `(await import(${JSON.stringify(HEAP)})).collectWhatStartingLeft();\nconsole.log('serves');\n`,
  );
  const env = {
    ...process.env,
    NODE_COMPILE_CACHE: join(folder, 'cache'),
    NODE_DEBUG_NATIVE: 'COMPILE_CACHE',
  };
  const run = () => spawnSync(process.execPath, [script], { env, encoding: 'utf8' });
  run();
  const { stdout, stderr } = run();
  expect(stdout).toContain('serves');
  // At its end, it does so in any case.
  expect(stderr.match(/Clear deserialized cache/g)).toHaveLength(2);
});

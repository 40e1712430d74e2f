import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { play } from './play.ts';

const MAIN = join(import.meta.dirname, 'main.ts');

test('a seed has one history, in one process after another', async () => {
  const first = await play(2031);
  expect(first.findings).toEqual([]);
  const other = await play(2032);
  expect(other.digest).not.toBe(first.digest);
  expect((await play(2031)).digest).toBe(first.digest);
  const { stdout } = await promisify(execFile)(process.execPath, [MAIN, '--seed', '2031']);
  expect(stdout.trim().split('\n').at(-1)).toMatch(
    new RegExp(`^seed 2031 commit [0-9a-f]+ history ${first.digest}$`),
  );
});

test('twenty worlds break no rule', async () => {
  for (let seed = 1; seed <= 20; seed++) {
    const { findings, digest } = await play(seed);
    expect({ seed, digest, findings }).toEqual({ seed, digest, findings: [] });
  }
});

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { seedOfRun } from '../support/runs.ts';
import { play } from '../world/play.ts';

const MAIN = join(import.meta.dirname, '../world/main.ts');

test('a seed has one history, in a new process, too', async () => {
  const seed = seedOfRun();
  const { digest } = await play(seed);
  const { stdout } = await promisify(execFile)(process.execPath, [MAIN, '--seed', String(seed)]);
  expect(stdout.trim().split('\n').at(-1)).toMatch(
    new RegExp(`^seed ${seed} commit [0-9a-f]+ history ${digest}$`),
  );
});

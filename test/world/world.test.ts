import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { runs, seedOfRun } from '../support/runs.ts';
import { play } from './play.ts';

const MAIN = join(import.meta.dirname, 'main.ts');
const WORLDS = runs(20, 1);

test(`no rule is broken in ${WORLDS} of the worlds, and each seed has one history: the last in a new process, too`, async () => {
  const first = seedOfRun();
  const histories = new Map<string, number>();
  let last = '';
  for (let seed = first; seed < first + WORLDS; seed++) {
    const { findings, digest } = await play(seed);
    expect({ seed, digest, findings }).toEqual({ seed, digest, findings: [] });
    histories.set(digest, seed);
    last = digest;
  }
  expect(histories.size).toBe(WORLDS);
  const seed = first + WORLDS - 1;
  const { stdout } = await promisify(execFile)(process.execPath, [MAIN, '--seed', String(seed)]);
  expect(stdout.trim().split('\n').at(-1)).toMatch(
    new RegExp(`^seed ${seed} commit [0-9a-f]+ history ${last}$`),
  );
});

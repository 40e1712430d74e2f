import { expect, test } from 'vitest';
import { runs, seedOfRun } from '../support/runs.ts';
import { play } from './play.ts';

const WORLDS = runs(20, 1);

// one-history.test.ts plays one once more, in a new process.
test(`no rule is broken in ${WORLDS} of the worlds, and each seed has a history of its own`, async () => {
  const first = seedOfRun();
  const histories = new Set<string>();
  for (let seed = first; seed < first + WORLDS; seed++) {
    const { findings, digest } = await play(seed);
    expect({ seed, digest, findings }).toEqual({ seed, digest, findings: [] });
    histories.add(digest);
  }
  expect(histories.size).toBe(WORLDS);
});

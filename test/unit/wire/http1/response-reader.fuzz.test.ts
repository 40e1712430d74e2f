import { expect, test } from 'vitest';
import { fuzzReader } from '../../../support/fuzz/reader-fuzz.ts';
import { WHOLE_READINGS } from '../../../support/fuzz/whole-runs.ts';
import { areWhole, runs, seedOfRun } from '../../../support/runs.ts';

const READINGS = runs(WHOLE_READINGS, 600);

test(`of ${READINGS} answers, mutated or not, ours is never another than undici and Node's client (and Go's, in test:long) read, nor another when they come split`, async () => {
  const run = { seed: seedOfRun(), cases: READINGS, withGo: areWhole };
  const result = await fuzzReader({ ...run, everySplitOfOneIn: 8 });
  expect(result.findings).toEqual([]);
  expect(result.cases).toBe(READINGS);
  // Otherwise the cases would prove little: all readers accept most of them, and reject some.
  expect(result.accepted).toBeGreaterThan(0.5 * result.cases);
  expect(result.refused).toBeGreaterThan(0.1 * result.cases);
  expect(Object.values(result.stricterGo).reduce((sum, count) => sum + count, 0)).toBeLessThan(
    0.01 * result.cases,
  );
  // A reader that refuses what others take is strict, one that often does so is wrong.
  expect(result.stricter).toBeLessThan(0.05 * result.cases);
});

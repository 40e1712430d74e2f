import { expect, it } from 'vitest';
import { fuzzProofs } from '../../../../support/fuzz/proof-fuzz.ts';
import { runs, seedOfRun } from '../../../../support/runs.ts';

const CASES = runs(4_000);

it('no proof is taken that jose refuses, whatever is wrong with it', async () => {
  const { cases, findings, taken, refused } = await fuzzProofs({ seed: seedOfRun(), cases: CASES });
  expect(findings).toEqual([]);
  expect(cases).toBe(CASES);
  expect(taken).toBeGreaterThan(CASES / 5);
  expect(refused).toBeGreaterThan(CASES / 5);
});

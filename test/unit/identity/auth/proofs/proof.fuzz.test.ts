import { expect, it } from 'vitest';
import { fuzzProofs } from '../../../../support/fuzz/proof-fuzz.ts';

it('no proof is taken that jose refuses, whatever is wrong with it', async () => {
  const { cases, findings, taken, refused } = await fuzzProofs({ seed: 9_449, cases: 1_500 });
  expect(findings).toEqual([]);
  expect(cases).toBe(1_500);
  expect(taken).toBeGreaterThan(300);
  expect(refused).toBeGreaterThan(300);
});

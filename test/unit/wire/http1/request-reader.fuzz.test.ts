import { expect, test } from 'vitest';
import { fuzzRequests } from '../../../support/fuzz/request-fuzz.ts';
import { WHOLE_CONVERSATIONS } from '../../../support/fuzz/whole-runs.ts';
import { areWhole, runs, seedOfRun } from '../../../support/runs.ts';

const CONVERSATIONS = runs(WHOLE_CONVERSATIONS, 600);

test(`of ${CONVERSATIONS} conversations, mutated or not, our connections see no request that Node's server (and Go's, in test:long) does not see, and none otherwise, however the bytes come`, async () => {
  const result = await fuzzRequests({ seed: seedOfRun(), cases: CONVERSATIONS, withGo: areWhole });
  expect(result.findings).toEqual([]);
  expect(result.cases).toBe(CONVERSATIONS);
  // Else the cases would prove little: most are requests to both, and some are not.
  expect(result.accepted).toBeGreaterThan(0.5 * result.cases);
  if (areWhole) expect(result.acceptedWithGo).toBeGreaterThan(0.4 * result.cases);
  expect(result.refused).toBeGreaterThan(0.1 * result.cases);
  // Where another server is wrong there is nothing to compare with: those must be few.
  expect(Object.values(result.quirks).reduce((sum, count) => sum + count, 0)).toBeLessThan(
    0.01 * result.cases,
  );
});

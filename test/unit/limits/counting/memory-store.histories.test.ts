import fc from 'fast-check';
import { test } from 'vitest';
import { runs, seedOfRun } from '../../../support/runs.ts';
import { History } from '../history.ts';

const HISTORIES = runs(2_500, 60);
const STEPS = 200;

// Each step is one number, so that half a million of them are made quickly and shrink well.
const number = fc.noBias(fc.nat({ max: 2 ** 40 }));
const history = fc.record({
  configuration: number,
  steps: fc.array(number, { minLength: STEPS, maxLength: STEPS, size: 'max' }),
});

test(`in ${HISTORIES} histories of ${STEPS} steps the store decides as a naive limiter does`, () => {
  fc.assert(
    fc.property(history, ({ configuration, steps }) => new History(configuration).run(steps)),
    { seed: seedOfRun(), numRuns: HISTORIES, endOnFailure: false },
  );
});

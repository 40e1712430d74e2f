import { expect, test } from 'vitest';
import type { Outcome, PlayOptions } from './play.ts';
import { shrink } from './shrink.ts';

const STEPS = Array.from({ length: 20 }, (_, i) => ({
  ...{ number: i + 1, atMs: i, what: `step ${i + 1}` },
  run: () => {},
}));

/** A world whose rule `rule` is broken by these steps together, and another rule if none of them happens. */
function brokenBy(...numbers: readonly number[]) {
  return async (seed: number, { takes = () => true }: PlayOptions = {}): Promise<Outcome> => {
    const taken = STEPS.filter(takes).map(({ number }) => number);
    const isBroken = numbers.every(number => taken.includes(number));
    const isOther = !numbers.some(number => taken.includes(number));
    const findings = isBroken || isOther ? [{ oracle: isBroken ? 'rule' : 'other', what: '', atMs: 0 }] : [];
    return { seed, findings, steps: STEPS, digest: '', events: 0, requests: 0, lastedMs: 0 };
  };
}

test.each([[[7]], [[3, 4]], [[1, 11, 20]], [[2, 5, 9, 10, 16, 17]]])(
  'shrinking leaves the steps %j that break the rule together, and no others',
  async numbers => {
    const outcome = await shrink(1, () => {}, brokenBy(...numbers));
    expect(outcome.steps.map(({ number }) => number)).toEqual(numbers);
    expect(outcome.findings[0]?.oracle).toBe('rule');
  },
);

test('a world that breaks no rule is not shrunk', async () => {
  const told: number[] = [];
  const whole = async (seed: number) => ({ ...(await brokenBy(1)(seed)), findings: [] });
  expect((await shrink(1, steps => told.push(steps), whole)).steps).toHaveLength(STEPS.length);
  expect(told).toEqual([]);
});

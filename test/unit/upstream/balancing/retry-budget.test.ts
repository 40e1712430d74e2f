import { expect, it } from 'vitest';
import { alone, thisMachine } from '../../../../src/core/index.ts';
import { RetryBudget } from '../../../../src/upstream/balancing/retry-budget.ts';

function granted(budget: RetryBudget, nowMs: number): number {
  let count = 0;
  while (count < 1_000 && budget.take(nowMs)) count++;
  return count;
}

it('allows ten retries in ten seconds however few requests there are', () => {
  const budget = new RetryBudget('api', alone(thisMachine));
  budget.sent(5_000);
  expect(granted(budget, 5_000)).toBe(10);
  expect(granted(budget, 9_999)).toBe(0);
  expect(granted(budget, 15_000)).toBe(10);
});

it('allows a fifth of the requests of the last ten seconds', () => {
  const budget = new RetryBudget('api', alone(thisMachine));
  for (let i = 0; i < 200; i++) budget.sent(5_000 + i * 10);
  expect(granted(budget, 7_000)).toBe(40);
});

it('forgets old requests', () => {
  const budget = new RetryBudget('api', alone(thisMachine));
  for (let i = 0; i < 200; i++) budget.sent(5_000);
  expect(granted(budget, 15_000)).toBe(10);
});

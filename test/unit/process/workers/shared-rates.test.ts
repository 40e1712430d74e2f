import { expect, test } from 'vitest';
import { ownRates } from '../../../../src/core/index.ts';
import { SharedRates } from '../../../../src/process/workers/shared-rates.ts';
import { RetryBudget } from '../../../../src/upstream/balancing/retry-budget.ts';
import { Random } from '../../../support/random.ts';
import { threadsOf } from '../../../support/shared-memory.ts';

/** The budget of an upstream, as each of so many threads has it. */
function budgetsOf(upstreams: readonly string[], threads: number): readonly RetryBudget[][] {
  const rates = threadsOf(threads).map(memory => new SharedRates(memory).named);
  return rates.map(named => upstreams.map(upstream => new RetryBudget(upstream, named)));
}

test('what three threads send and send again adds up to one budget, as if one thread did it all', () => {
  const random = new Random(5);
  const threads = budgetsOf(['api', 'files'], 3);
  const own = ['api', 'files'].map(upstream => new RetryBudget(upstream, ownRates));
  let nowMs = 5_000;
  let refused = 0;
  for (let step = 0; step < 20_000; step++) {
    if (random.chance(0.1)) nowMs += random.below(random.chance(0.01) ? 20_000 : 400);
    const [thread, upstream] = [random.pick(threads), random.below(2)];
    if (random.chance(0.7)) {
      thread[upstream]?.sent(nowMs);
      own[upstream]?.sent(nowMs);
    } else {
      const isAllowed = own[upstream]?.take(nowMs);
      expect(thread[upstream]?.take(nowMs)).toBe(isAllowed);
      if (isAllowed === false) refused++;
    }
  }
  expect(refused).toBeGreaterThan(1_000);
});

test('upstreams for whose names there is no room have a budget in each thread', () => {
  const upstreams = Array.from({ length: 2_049 }, (_, n) => `upstream ${n}`);
  const [one = [], two = []] = budgetsOf(upstreams, 2);
  const [known, last] = [0, 2_048];
  for (let n = 0; n < 10; n++) expect(one[known]?.take(1_000)).toBe(true);
  for (const budget of one) budget.sent(1_000);
  for (let n = 0; n < 10; n++) expect(two[last]?.take(1_000)).toBe(true);
  expect([known, last].map(at => two[at]?.take(1_000))).toEqual([false, false]);
  expect([known, last].map(at => one[at]?.take(1_000))).toEqual([false, true]);
});

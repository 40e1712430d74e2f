import { expect, test } from 'vitest';
import { alone, thisMachine } from '../../../../src/core/index.ts';
import { SharedRates } from '../../../../src/process/workers/shared-rates.ts';
import { RetryBudget } from '../../../../src/upstream/balancing/retry-budget.ts';
import { Random } from '../../../support/random.ts';
import { threadsOf } from '../../../support/shared-memory.ts';

/** The budget of an upstream, as each of so many threads has it. */
function budgetsOf(upstreams: readonly string[], threads: number): readonly RetryBudget[][] {
  const parts = threadsOf(threads + 1).map(memory => ({ memory, rates: new SharedRates(memory).named }));
  // The first one is that of the main thread, which sends nothing.
  return parts.slice(1).map(part => upstreams.map(upstream => new RetryBudget(upstream, part)));
}

test('what three threads send and send again adds up to one budget, as if one thread did it all', () => {
  const random = new Random(5);
  const threads = budgetsOf(['api', 'files'], 3);
  const own = ['api', 'files'].map(upstream => new RetryBudget(upstream, alone(thisMachine)));
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
  const upstreams = Array.from({ length: 1_025 }, (_, n) => `upstream ${n}`);
  const [one = [], two = []] = budgetsOf(upstreams, 2);
  for (let n = 0; n < 10; n++) for (const at of [1_023, 1_024]) expect(two[at]?.take(1_000)).toBe(true);
  expect([1_023, 1_024].map(at => two[at]?.take(1_000))).toEqual([false, false]);
  expect([1_023, 1_024].map(at => one[at]?.take(1_000))).toEqual([false, true]);
});

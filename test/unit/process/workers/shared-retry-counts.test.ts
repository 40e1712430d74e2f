import { expect, test } from 'vitest';
import { SharedRetryCounts } from '../../../../src/process/workers/shared-retry-counts.ts';
import { ownRetryCounts, RetryBudget } from '../../../../src/upstream/balancing/retry-budget.ts';
import { Random } from '../../../support/random.ts';
import { threadsOf } from '../../../support/shared-memory.ts';

/** The budget of an upstream, as each of so many threads has it. */
function budgetsOf(upstreams: readonly string[], threads: number): readonly RetryBudget[][] {
  const counts = threadsOf(threads).map(memory => new SharedRetryCounts(memory));
  return counts.map(({ named }) => upstreams.map(upstream => new RetryBudget(named(upstream))));
}

test('what three threads send and send again adds up to one budget, as if one thread did it all', () => {
  const random = new Random(5);
  const threads = budgetsOf(['api', 'files'], 3);
  const alone = ['api', 'files'].map(upstream => new RetryBudget(ownRetryCounts(upstream)));
  let nowMs = 5_000;
  let refused = 0;
  for (let step = 0; step < 20_000; step++) {
    if (random.chance(0.1)) nowMs += random.below(random.chance(0.01) ? 20_000 : 400);
    const [thread, upstream] = [random.pick(threads), random.below(2)];
    if (random.chance(0.7)) {
      thread[upstream]?.sent(nowMs);
      alone[upstream]?.sent(nowMs);
    } else {
      const isAllowed = alone[upstream]?.take(nowMs);
      expect(thread[upstream]?.take(nowMs)).toBe(isAllowed);
      if (isAllowed === false) refused++;
    }
  }
  expect(refused).toBeGreaterThan(1_000);
});

test('more names of upstreams than there is room for share one budget', () => {
  const [one = [], two = []] = budgetsOf(
    Array.from({ length: 1_026 }, (_, n) => `upstream ${n}`),
    2,
  );
  for (const budget of one) budget.sent(1_000);
  for (let n = 0; n < 10; n++) expect(two[1_024]?.take(1_000)).toBe(true);
  expect([one[1_025]?.take(1_000), one[1_023]?.take(1_000)]).toEqual([false, true]);
});

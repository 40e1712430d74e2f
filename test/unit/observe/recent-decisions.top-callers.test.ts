import { expect, it } from 'vitest';
import { TopCallers } from '../../../src/observe/recent-decisions.ts';
import { usedBytes } from '../../support/memory.ts';

const HOUR_MS = 3_600_000;

const namesIn = (top: TopCallers) => top.list().map(({ caller }) => caller);

it('the list of top callers counts each caller in each bucket, and lists the most frequent first', () => {
  const top = new TopCallers(8);
  top.note('a', 'user', 'user:one', 1_000);
  top.note('b', 'user', 'user:one', 1_500);
  top.note('b', 'user', 'user:one', 2_000);
  const entry = { restricted: 0, why: 'admitted', caller: 'user:one', callerClass: 'user' };
  expect(top.list()).toEqual([
    { ...entry, bucket: 'b', count: 2, maxCount: 2, sinceMs: 1_500, lastMs: 2_000 },
    { ...entry, bucket: 'a', count: 1, maxCount: 1, sinceMs: 1_000, lastMs: 1_000 },
  ]);
});

it('the list of top callers keeps the frequent ones in a flood of others, and holds no more than it may', () => {
  const top = new TopCallers(8);
  for (let n = 0; n < 10_000; n++) {
    top.note('all', 'address', `192.0.2.${n}`, n);
    if (n % 4 === 0) top.note('all', 'address', 'often', n);
    if (n % 5 === 0) top.note('all', 'address', 'also', n);
  }
  expect(top.list()).toHaveLength(8);
  expect(namesIn(top).slice(0, 2)).toEqual(['often', 'also']);
});

it.each([0, 7, 90])(
  'the list of top callers gives bounds that hold, with parts of others after %i',
  share => {
    const [top, other] = [new TopCallers(5), new TopCallers(5)];
    const real = new Map<string, number>();
    let random = 1;
    for (let n = 0; n < 5_000; n++) {
      random = (random * 48_271) % 2_147_483_647;
      const caller = `c${Math.floor(Math.sqrt(random % 400))}`;
      real.set(caller, (real.get(caller) ?? 0) + 1);
      (share > 0 && random % 3 === 0 ? other : top).note('all', 'user', caller, n);
      if (n % share === 0) top.add(other.take());
    }
    top.add(other.take());
    expect(other.list()).toEqual([]);
    for (const { caller, count, maxCount } of top.list()) {
      expect(count).toBeLessThanOrEqual(real.get(caller) ?? 0);
      expect(maxCount).toBeGreaterThanOrEqual(real.get(caller) ?? 0);
    }
  },
);

it('the list of top callers forgets callers after an hour without news, and gives their places to others', () => {
  const top = new TopCallers(2);
  top.note('all', 'user', 'old', 0);
  top.note('all', 'user', 'new', HOUR_MS);
  top.sweep(HOUR_MS + 1);
  expect(namesIn(top)).toEqual(['new']);
  top.note('all', 'user', 'next', HOUR_MS + 2);
  expect(top.list().map(({ maxCount }) => maxCount)).toEqual([1, 1]);
  expect(namesIn(top)).toEqual(['next', 'new']);
});

it('the list of top callers keeps the requests that callers came with no longer than to the next sweep', () => {
  const top = new TopCallers(50);
  const before = usedBytes();
  for (let n = 10; n < 60; n++) {
    const head = Buffer.alloc(500_000, `user:a-caller-number-${n} `).toString('latin1');
    top.note('all', 'user', head.slice(0, 23), 0);
  }
  top.sweep(1);
  expect(usedBytes() - before).toBeLessThan(5_000_000);
  top.note('all', 'user', 'user:a-caller-number-17', 2);
  expect(top.list()[0]).toMatchObject({ caller: 'user:a-caller-number-17', count: 2 });
});

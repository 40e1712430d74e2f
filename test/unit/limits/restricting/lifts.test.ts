import { beforeEach, expect, test } from 'vitest';
import { Lifts } from '../../../../src/limits/restricting/lifts.ts';
import { usedBytes } from '../../../support/memory.ts';

const MAX_LIFTS = 100_000;

let lifts: Lifts;

beforeEach(() => {
  lifts = new Lifts();
});

const isHeld = (digest: string) => lifts.of(digest, 0) > 0;

test('a lift has a higher count than all that is known of its client, and is remembered a minute longer than all of it', () => {
  const restricted = [
    { lifts: 3, untilMs: 9_000 },
    { lifts: 5, untilMs: 4_000 },
  ];
  expect(lifts.add('a', restricted, 1_000)).toEqual({ digest: 'a', count: 6, forMs: 68_000 });
  expect(lifts.learn({ digest: 'a', count: 9, forMs: 500_000 }, 1_000)).toBe(true);
  expect(lifts.add('a', restricted, 2_000)).toEqual({ digest: 'a', count: 10, forMs: 559_000 });
});

test('a lift elsewhere is news only if more were lifted than is known', () => {
  const learn = (count: number) => lifts.learn({ digest: 'a', count, forMs: 1_000 }, 0);
  expect([learn(2), learn(2), learn(1), learn(3), lifts.of('a', 0)]).toEqual([true, false, false, true, 3]);
});

test('a lift counts and is told to others until the millisecond of its end', () => {
  lifts.learn({ digest: 'a', count: 4, forMs: 1_000 }, 500);
  expect([lifts.of('a', 1_499), lifts.of('b', 1_499)]).toEqual([4, 0]);
  expect([...lifts.running(1_499)]).toEqual([{ digest: 'a', count: 4, forMs: 1 }]);
  expect([lifts.of('a', 1_500), [...lifts.running(1_500)]]).toEqual([0, []]);
});

test('a sweep drops each lift at its own end, and no other', () => {
  const learn = (digest: string, forMs: number) => lifts.learn({ digest, count: 1, forMs }, 0);
  learn('a', 1_000);
  learn('c', 3_000);
  learn('b', 2_000);
  const left = (nowMs: number) => {
    lifts.sweep(nowMs);
    return ['a', 'b', 'c', 'd'].filter(isHeld).join('');
  };
  expect([999, 1_000, 1_999, 2_000].map(left)).toEqual(['abc', 'bc', 'bc', 'c']);
  learn('d', 2_500);
  expect([2_500, 3_000].map(left)).toEqual(['c', '']);
});

test('a lift that is renewed takes no place from another and becomes the youngest, whatever was swept meanwhile', () => {
  const learn = (n: number, count = 1) => lifts.learn({ digest: `digest${n}`, count, forMs: 5_000 }, 0);
  const held = () => [0, 1, 2, 3].filter(n => isHeld(`digest${n}`));
  for (let n = 0; n < MAX_LIFTS; n++) learn(n);
  // The oldest is renewed, and one that is not.
  for (const n of [0, 2]) learn(n, 2);
  expect(held()).toEqual([0, 1, 2, 3]);
  learn(MAX_LIFTS);
  expect(held()).toEqual([0, 2, 3]);
  lifts.sweep(1);
  learn(MAX_LIFTS + 1);
  expect(held()).toEqual([0, 2]);
});

test('lifts that are over leave no memory behind', () => {
  const before = usedBytes();
  for (let n = 0; n < 40_000; n++) {
    lifts.learn({ digest: `digest${n}`, count: 1, forMs: 50 }, n);
    lifts.sweep(n);
  }
  expect(usedBytes() - before).toBeLessThan(1_000_000);
});

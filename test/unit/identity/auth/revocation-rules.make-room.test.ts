import { expect, test, vi } from 'vitest';
import { makeRoom } from '../../../../src/identity/auth/revocation-rules.ts';

/** Entries by the moment at which they are over, the first over first. */
const entries = (...moments: number[]) => new Map(moments.map(moment => [`until ${moment}`, moment]));
const isOver = (moment: number) => moment <= 10;

test('expired entries go, even if there is room', () => {
  const map = entries(9, 10, 11, 12);
  const evicted = vi.fn();
  makeRoom(map, 100, isOver, evicted);
  expect([...map.values()]).toEqual([11, 12]);
  expect(evicted).not.toHaveBeenCalled();
});

test('without room for one more, the oldest goes and is counted', () => {
  const map = entries(9, 11, 12, 13);
  const evicted = vi.fn();
  makeRoom(map, 3, isOver, evicted);
  expect([...map.values()]).toEqual([12, 13]);
  expect(evicted).toHaveBeenCalledTimes(1);
});

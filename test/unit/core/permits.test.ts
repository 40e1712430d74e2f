import { expect, test } from 'vitest';
import { ProcessPermits } from '../../../src/core/index.ts';

test('a key gets as many permits as its share, and one more for each returned', () => {
  const permits = new ProcessPermits();
  const take = () => permits.take('a', 9, 2);
  expect([take(), take(), take()]).toEqual([null, null, 'share taken']);
  permits.giveBack('a');
  expect(take()).toBe(null);
  expect([permits.taken, permits.takenBy('a')]).toEqual([2, 2]);
});

test('all keys together get no more than the maximum, and what is refused counts nowhere', () => {
  const permits = new ProcessPermits();
  for (const key of ['a', 'b']) permits.take(key, 2, 2);
  expect(permits.take('c', 2, 2)).toBe('full');
  permits.giveBack('a');
  expect([permits.takenBy('a'), permits.takenBy('c'), permits.take('c', 2, 2)]).toEqual([0, 0, null]);
});

test('both caps are named where both are met', () => {
  const permits = new ProcessPermits();
  permits.take('a', 1, 1);
  expect(permits.take('a', 1, 1)).toBe('both');
});

test('a cap of 0 lets nothing pass', () => {
  expect(new ProcessPermits().take('a', 1, 0)).toBe('share taken');
});

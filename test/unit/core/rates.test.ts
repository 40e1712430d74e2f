import { expect, it } from 'vitest';
import { RecentCount } from '../../../src/core/rates.ts';

it('counts for at least its time less one slot, and not longer than its time', () => {
  const count = new RecentCount(5, 250);
  count.add(10_100);
  expect(count.total(11_100)).toBe(1);
  expect(count.total(11_249)).toBe(1);
  expect(count.total(11_250)).toBe(0);
});

it('forgets each slot by itself', () => {
  const count = new RecentCount(10, 1_000);
  for (const atMs of [1_000, 1_500, 4_000, 9_999]) count.add(atMs);
  expect([10_999, 11_000, 13_999, 14_000, 20_000].map(nowMs => count.total(nowMs))).toEqual([4, 2, 2, 1, 0]);
});

it('has forgotten everything after a long time, whatever the slots held', () => {
  const count = new RecentCount(3, 100);
  for (let atMs = 0; atMs < 300; atMs += 10) count.add(atMs);
  expect(count.total(299)).toBe(30);
  expect(count.total(1e9)).toBe(0);
  count.add(1e9);
  expect(count.total(1e9)).toBe(1);
});

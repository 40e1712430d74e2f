import { expect, test } from 'vitest';
import { placesForCounters, tableSizeFor } from '../../../../src/limits/index.ts';

test('a table beside the counters has its full size from a million counters on, and the same part of it below', () => {
  expect(tableSizeFor(200_000, 5_000_000)).toBe(200_000);
  expect(tableSizeFor(200_000, 1_000_000)).toBe(200_000);
  expect(tableSizeFor(200_000, 100_000)).toBe(20_000);
});

test('a small table has as many entries as there are counters, up to a thousand', () => {
  expect(tableSizeFor(200_000, 1_001)).toBe(1_000);
  expect(tableSizeFor(200_000, 1_000)).toBe(1_000);
  expect(tableSizeFor(200_000, 1)).toBe(1);
});

test('restrictions by operators always find room', () => {
  const places = { operator: 10_000, principal: 5_000, address: 10_000, webhook: 5_000 };
  expect(placesForCounters(100_000)).toEqual(places);
  expect(placesForCounters(1).operator).toBe(10_000);
});

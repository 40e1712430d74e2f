import { getHeapSpaceStatistics } from 'node:v8';
import { expect, test } from 'vitest';
import { collectWhatStartingLeft } from '../../../src/workers/heap.ts';

const youngMib = () =>
  (getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.physical_space_size ?? 0) /
  2 ** 20;

test('what starting took of the young generation is given back at once, and code finds no collector', () => {
  let kept: object[] = [];
  for (let count = 0; count < 1_000_000; count++) {
    kept.push({ count });
    if (kept.length > 300_000) kept = kept.slice(100_000);
  }
  kept = [];
  expect(youngMib()).toBeGreaterThan(8);
  collectWhatStartingLeft();
  expect(youngMib()).toBeLessThan(4);
  expect(globalThis).not.toHaveProperty('gc');
});

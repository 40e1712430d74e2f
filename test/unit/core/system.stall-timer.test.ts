import { expect, test } from 'vitest';
import { StallTimer } from '../../../src/core/index.ts';

test('a wait counts from the first sweep that sees it', () => {
  const timer = new StallTimer();
  expect(timer.waitedMs(1_000, false)).toBe(0);
  expect(timer.waitedMs(1_500, false)).toBe(500);
  timer.begin();
  expect(timer.waitedMs(9_000, false)).toBe(0);
});

test('a wait starts over whenever something moves', () => {
  const timer = new StallTimer();
  timer.waitedMs(1_000, false);
  expect(timer.waitedMs(1_500, true)).toBe(0);
  expect(timer.waitedMs(1_600, false)).toBe(100);
});

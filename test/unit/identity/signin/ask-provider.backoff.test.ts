import { expect, test } from 'vitest';
import { refreshDelayMs, retryDelayMs } from '../../../../src/identity/signin/ask-provider.ts';

test('the wait doubles from half a second to 15 seconds and stays there', () => {
  expect([1, 2, 3, 4, 5, 6, 7, 100, 5_000].map(failures => retryDelayMs(failures, 0))).toEqual([
    500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000, 15_000,
  ]);
});

test('jitter takes up to half of the wait, and a tenth of a refresh', () => {
  expect(retryDelayMs(1, 0.5)).toBe(375);
  expect(retryDelayMs(9, 0.999_999)).toBeGreaterThan(7_500);
  expect(refreshDelayMs(600_000, 0)).toBe(600_000);
  expect(refreshDelayMs(600_000, 0.5)).toBe(570_000);
});

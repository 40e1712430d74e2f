import { expect, test } from 'vitest';
import { ProcessPermits } from '../../../src/gateway/permits.ts';

test('a key gets as many permits as its cap, and one more for each returned', () => {
  const permits = new ProcessPermits();
  expect([permits.take('a', 2), permits.take('a', 2), permits.take('a', 2)]).toEqual([true, true, false]);
  permits.giveBack('a');
  expect(permits.take('a', 2)).toBe(true);
});

test('keys are independent of each other', () => {
  const permits = new ProcessPermits();
  permits.take('a', 1);
  expect(permits.take('b', 1)).toBe(true);
});

test('a cap of 0 lets nothing pass', () => {
  expect(new ProcessPermits().take('a', 0)).toBe(false);
});

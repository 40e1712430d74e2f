import { expect, test } from 'vitest';
import { oldAtMs } from '../../../../src/edge/server/client-connection.ts';

test('a connection is old at its age, give or take a tenth', () => {
  expect(oldAtMs(500, 1_000, 0)).toBe(1_400);
  expect(oldAtMs(500, 1_000, 0.5)).toBe(1_500);
  expect(oldAtMs(500, 1_000, 0.999)).toBeCloseTo(1_599.8);
});

test('without an age it never is', () => {
  expect(oldAtMs(500, null, 0)).toBe(Number.POSITIVE_INFINITY);
});

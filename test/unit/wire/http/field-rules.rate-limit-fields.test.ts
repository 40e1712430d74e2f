import { expect, test } from 'vitest';
import { policyItem, serviceLimitItem } from '../../../../src/wire/http/index.ts';
import { policiesIn, serviceLimitsIn } from '../../../support/rate-limit-policies.ts';

const LONGEST = `9${'Az.-_0'.repeat(10)}Zz`;

test.each([
  ['messages.write', 5, 5_000, 5],
  ['0', 1, 1_000, 1],
  ['messages.write/resource', 65_535, 64_800_000, 64_800],
  [LONGEST, 65_535, 64_800_000, 64_800],
])('the policy of %s is an item of RateLimit-Policy', (name, units, periodMs, w) => {
  expect(policiesIn(policyItem(name, units, periodMs))).toEqual([{ name, q: units, w }]);
});

test.each([
  [5_000, 5],
  [4_999.2, 5],
  [4_000.001, 5],
  [1, 1],
  [64_800_000, 64_800],
  // The window may close before the response goes out, and clients divide by it.
  [0, 1],
  [-3_000, 1],
])('a window of %d ms is told as %d s', (windowMs, t) => {
  const item = serviceLimitItem({ name: LONGEST, remaining: 0, windowMs, partition: null });
  expect(serviceLimitsIn(item)).toEqual([{ name: LONGEST, r: 0, t }]);
});

test('the partition is told in bytes', () => {
  const partition = '00ff10fbeffe3e3f0123456789abcdef';
  const item = serviceLimitItem({ name: 'b', remaining: 65_534, windowMs: 1_000, partition });
  expect(serviceLimitsIn(item)).toEqual([{ name: 'b', r: 65_534, t: 1, pk: partition }]);
});

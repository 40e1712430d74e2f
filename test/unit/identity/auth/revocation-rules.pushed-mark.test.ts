import { expect, it } from 'vitest';
import { PushedMark } from '../../../../src/identity/auth/revocation-rules.ts';

it('has taken back a mark only while the newest push is lower', () => {
  const pushed = new PushedMark();
  expect(pushed.hasTakenBack(5)).toBe(false);
  for (const [order, markS] of [5, 10].entries()) pushed.take({ markS, order }, 0);
  expect([5, 10].map(markS => pushed.hasTakenBack(markS))).toEqual([false, false]);
  pushed.take({ markS: 3, order: 2 }, 0);
  expect([3, 5, 10, 11].map(markS => pushed.hasTakenBack(markS))).toEqual([false, true, true, false]);
});

it('knows a hundred marks that were taken back, those that were pushed last', () => {
  const pushed = new PushedMark();
  for (let order = 0; order <= 100; order++) pushed.take({ markS: 1_000 - order, order }, 0);
  expect([1_000, 901].map(markS => pushed.hasTakenBack(markS))).toEqual([true, true]);
  // A push that comes late makes 1,000 the last of them, and the newest one adds 900.
  pushed.take({ markS: 1_000, order: 50 }, 0);
  pushed.take({ markS: 1, order: 101 }, 0);
  expect([1_000, 999, 998, 900].map(markS => pushed.hasTakenBack(markS))).toEqual([true, false, true, true]);
});

import { describe, expect, test } from 'vitest';
import { addRateFields, rateReport, seconds } from '../../../../src/gateway/responses/own-fields.ts';
import { type Decision, UNLIMITED } from '../../../../src/limits/index.ts';

const decision = (change: Partial<Decision> = {}): Decision => ({
  ...UNLIMITED,
  role: 'caller',
  limit: 5,
  remaining: 4,
  resetAtMs: 1_700_000_000_007,
  resetAfterMs: 4_999,
  retryAfterMs: 0,
  ...change,
});

const rendered = (atMs: number, change: Partial<Decision> = {}) => {
  const fields: string[] = [];
  addRateFields(fields, rateReport(decision(change), 'abc', 'user', 1_000), atMs);
  return Object.fromEntries(fields.flatMap((name, i) => (i % 2 === 0 ? [[name, fields[i + 1]]] : [])));
};

test('the six fields of a bucket', () => {
  expect(rendered(1_000)).toEqual({
    'X-RateLimit-Limit': '5',
    'X-RateLimit-Remaining': '4',
    'X-RateLimit-Reset': '1700000000.007',
    'X-RateLimit-Reset-After': '4.999',
    'X-RateLimit-Bucket': 'abc',
    'X-RateLimit-Scope': 'user',
  });
});

describe('Reset-After', () => {
  test('is measured from when the response goes out', () => {
    expect(rendered(3_000)['X-RateLimit-Reset-After']).toBe('2.999');
  });

  test('is rounded up to the millisecond', () => {
    expect(rendered(1_000.2)['X-RateLimit-Reset-After']).toBe('4.999');
  });

  test.each([5_999, 6_000, 9_000])('is at least a millisecond when the window closed %i ms ago', atMs => {
    expect(rendered(atMs)['X-RateLimit-Reset-After']).toBe('0.001');
  });

  test('is at least a millisecond if the store says 0', () => {
    expect(rendered(1_000, { resetAfterMs: 0 })['X-RateLimit-Reset-After']).toBe('0.001');
  });
});

test('Reset does not move with the response', () => {
  expect(rendered(9_000)['X-RateLimit-Reset']).toBe('1700000000.007');
});

test('a report keeps its numbers when the store writes the next decision over its object', () => {
  const reused = { ...decision() };
  const report = rateReport(reused, 'abc', 'user', 0);
  reused.limit = 99;
  reused.remaining = 98;
  expect(report).toMatchObject({ limit: 5, remaining: 4 });
});

test.each([
  [0, '0.000'],
  [1, '0.001'],
  [12, '0.012'],
  [123, '0.123'],
  [1_000, '1.000'],
  [64_800_000, '64800.000'],
  [253_402_300_799_999, '253402300799.999'],
])('%i ms are written as %s', (ms, text) => {
  expect(seconds(ms)).toBe(text);
});

import { describe, expect, test } from 'vitest';
import { RESTRICTION_REASONS } from '../../../../src/core/index.ts';
import {
  addressRestricted,
  bucketRefused,
  callerRestricted,
  globallyRefused,
  webhookRestricted,
} from '../../../../src/gateway/responses/rate-limit-error.ts';

const GLOBAL = ['X-RateLimit-Global', 'true', 'X-RateLimit-Scope', 'global'];
const NO_STORE = ['Cache-Control', 'no-store'];

test('a global refusal has three fields of the family and no others', () => {
  const error = globallyRefused(1_234);
  expect(error.fields).toEqual(['Retry-After', '2', ...GLOBAL, ...NO_STORE]);
  expect(JSON.parse(error.body)).toEqual({ message: expect.any(String), retry_after: 1.234, global: true });
});

test("a bucket's refusal leaves its scope to the bucket headers", () => {
  const error = bucketRefused(1, 'shared');
  expect(error.fields).toEqual(['Retry-After', '1', ...NO_STORE]);
  expect(JSON.parse(error.body)).toEqual({ message: expect.any(String), retry_after: 0.001, global: false });
});

test('every refusal can be written as an error object as well', () => {
  const made = [
    bucketRefused(1_000, 'user'),
    globallyRefused(1_000),
    addressRestricted(1_000, 'invalid_requests'),
    callerRestricted(1_000, 'ignored_refusals'),
  ];
  for (const { errorObject, body } of made)
    expect(JSON.parse(errorObject)).toEqual({ ...JSON.parse(body), code: 8, details: [] });
});

const RESTRICTIONS = [
  ...RESTRICTION_REASONS.flatMap(reason => [
    addressRestricted(1_234, reason),
    callerRestricted(1_234, reason),
  ]),
  webhookRestricted(1_234),
];

describe('restrictions', () => {
  test('of an address go out without Via, others with it', () => {
    expect(addressRestricted(1_000, 'invalid_requests').via).toBe(false);
    expect(callerRestricted(1_000, 'ignored_refusals').via).toBe(true);
    expect(webhookRestricted(1_000).via).toBe(true);
  });

  test('have code 8', () => {
    for (const error of RESTRICTIONS) expect(JSON.parse(error.body).code).toBe(8);
  });

  test('by an operator accuse the client of nothing', () => {
    const message = 'This client is restricted for a time. Try again after the wait.';
    for (const made of [addressRestricted, callerRestricted]) {
      const error = made(1_000, 'operator');
      expect([error.message, JSON.parse(error.body).message]).toEqual([message, message]);
    }
  });

  test('of a webhook are shared and not global', () => {
    const error = webhookRestricted(1_000);
    expect(error.fields).toEqual(['Retry-After', '1', 'X-RateLimit-Scope', 'shared', ...NO_STORE]);
    expect(JSON.parse(error.body).global).toBe(false);
  });

  test('are marked so that they do not count against their sender', () => {
    expect(addressRestricted(1, 'invalid_requests').restrictedBy).toBe('address');
    expect(globallyRefused(1).restrictedBy).toBeNull();
  });
});

test.each([
  [0, 1, 0.001],
  [-7, 1, 0.001],
  [0.2, 1, 0.001],
  [999, 1, 0.999],
  [1_000, 1, 1],
  [1_000.1, 2, 1.001],
  [64_800_000, 64_800, 64_800],
  [65_535_001, 65_536, 65_535.001],
  [2_678_400_000, 2_678_400, 2_678_400],
  [2_678_400_001, 2_678_401, 2_678_400.001],
  // October in Berlin, from its first moment.
  [2_682_000_000, 2_682_000, 2_682_000],
  [2_764_800_001, 2_764_800, 2_764_800],
])('a wait of %d ms is %i s in the header and %d in the body', (ms, header, body) => {
  const error = globallyRefused(ms);
  expect(error.fields.slice(0, 2)).toEqual(['Retry-After', String(header)]);
  expect(JSON.parse(error.body).retry_after).toBe(body);
});

test('every body is ASCII, so that a character is a byte', () => {
  for (const { body } of [...RESTRICTIONS, globallyRefused(1_234)]) expect(body).toMatch(/^[\x20-\x7e]+$/);
});

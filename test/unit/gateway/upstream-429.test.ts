import { describe, expect, test } from 'vitest';
import { contractScope, rewritten429 } from '../../../src/gateway/upstream-429.ts';

const NOW_MS = Date.parse('2026-01-01T00:00:00Z');
const wait = (value: string | null) =>
  JSON.parse(rewritten429(value === null ? [] : ['retry-after', value], 'user', NOW_MS).body).retry_after;

describe("an upstream's 429 speaks the contract", () => {
  test.each(['user', 'shared', 'global'] as const)('with scope %s and a whole number of seconds', scope => {
    expect(contractScope(['Retry-After', '7', 'X-RateLimit-Scope', scope])).toBe(scope);
    expect(contractScope(['retry-after', '65535', 'x-ratelimit-scope', scope])).toBe(scope);
  });

  test.each([
    ['no Retry-After', ['X-RateLimit-Scope', 'user']],
    ['no scope', ['Retry-After', '7']],
    ['a scope that is none', ['Retry-After', '7', 'X-RateLimit-Scope', 'User']],
    ['no wait', ['Retry-After', '0', 'X-RateLimit-Scope', 'user']],
    ['a fraction', ['Retry-After', '1.5', 'X-RateLimit-Scope', 'user']],
    ['a date', ['Retry-After', 'Thu, 01 Jan 2026 00:00:05 GMT', 'X-RateLimit-Scope', 'user']],
    ['more than clients can keep', ['Retry-After', '65536', 'X-RateLimit-Scope', 'user']],
  ])('not with %s', (_, fields) => {
    expect(contractScope(fields)).toBeNull();
  });
});

describe('the wait of a rewritten one', () => {
  test.each([
    ['3', 3],
    ['2.1', 3],
    ['0', 1],
    ['999999999999', 65_535],
    ['Thu, 01 Jan 2026 00:00:05 GMT', 5],
    ['Thu, 01 Jan 2015 00:00:05 GMT', 1],
    ['soon', 1],
    ['-5', 1],
    ['', 1],
    [null, 1],
  ])('Retry-After %s is %i s', (value, seconds) => {
    expect(wait(value)).toBe(seconds);
  });

  test('is told in both places', () => {
    const error = rewritten429(['Retry-After', '3'], 'shared', NOW_MS);
    expect(error.fields).toEqual(['Retry-After', '3', 'Cache-Control', 'no-store']);
    expect(error.scope).toBe('shared');
    expect(JSON.parse(error.body)).toMatchObject({ retry_after: 3, global: false });
  });
});

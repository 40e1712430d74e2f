import { describe, expect, test } from 'vitest';
import {
  bodyFollowsContract,
  contractHead,
  keptFieldsOf,
  meantScope,
  rewritten429,
} from '../../../../src/gateway/responses/upstream-429.ts';

const NOW_MS = Date.parse('2026-01-01T00:00:00Z');
const wait = (value: string | null) =>
  JSON.parse(rewritten429(value === null ? [] : ['retry-after', value], NOW_MS).body).retry_after;

const HASH = '0123456789abcdef0123456789abcdef';
const JSON_TYPE = ['Content-Type', 'application/json'];
const USER = ['X-RateLimit-Scope', 'user', ...JSON_TYPE];
const GLOBAL = ['X-RateLimit-Scope', 'global', 'X-RateLimit-Global', 'true', ...JSON_TYPE];

describe("the head of an upstream's 429 follows the contract", () => {
  test.each([
    ['user', USER],
    ['shared', ['x-ratelimit-scope', 'shared', 'content-type', 'application/json']],
    ['global', GLOBAL],
  ] as const)('with scope %s and a whole number of seconds', (scope, fields) => {
    expect(contractHead(['Retry-After', '1', ...fields])).toMatchObject({ scope, retryAfterS: 1 });
    expect(contractHead(['retry-after', '2764800', ...fields])).toMatchObject({
      scope,
      retryAfterS: 2_764_800,
    });
  });

  test('whatever its other fields say', () => {
    const more = [
      ...[
        'X-RateLimit-Limit',
        '1000000000',
        'X-RateLimit-Remaining',
        '1000000000',
        'X-RateLimit-Bucket',
        HASH,
      ],
      ...['X-RateLimit-Reset', '1767225600.000', 'X-RateLimit-Reset-After', '0.001', 'Server', 'x'],
    ];
    expect(contractHead(['Retry-After', '7', ...USER, ...more])?.scope).toBe('user');
  });

  test.each([
    ['no Retry-After', USER],
    ['no scope', ['Retry-After', '7', ...JSON_TYPE]],
    ['a scope that is none', ['Retry-After', '7', 'X-RateLimit-Scope', 'User', ...JSON_TYPE]],
    ['two scopes', ['Retry-After', '7', 'X-RateLimit-Scope', 'shared', ...USER]],
    ['no type', ['Retry-After', '7', 'X-RateLimit-Scope', 'user']],
    [
      'a type in capitals',
      ['Retry-After', '7', 'X-RateLimit-Scope', 'user', 'Content-Type', 'Application/JSON'],
    ],
    [
      'another type',
      ['Retry-After', '7', 'X-RateLimit-Scope', 'user', 'Content-Type', 'application/json; charset=utf-8'],
    ],
    ['no wait', ['Retry-After', '0', ...USER]],
    ['two waits', ['Retry-After', '7', ...USER, 'Retry-After', '9']],
    ['a fraction', ['Retry-After', '1.5', ...USER]],
    ['a date', ['Retry-After', 'Thu, 01 Jan 2026 00:00:05 GMT', ...USER]],
    ['more than any quota', ['Retry-After', '2764801', ...USER]],
    ['a coded body', ['Retry-After', '7', 'Content-Encoding', 'br', ...USER]],
    ['no Global on scope global', ['Retry-After', '7', 'X-RateLimit-Scope', 'global', ...JSON_TYPE]],
    ['Global on another scope', ['Retry-After', '7', 'X-RateLimit-Global', 'true', ...USER]],
    ['a Global that says false', ['Retry-After', '7', ...GLOBAL.with(3, 'false')]],
    ['a negative Remaining', ['Retry-After', '7', 'X-RateLimit-Remaining', '-1', ...USER]],
    ['a Reset-After of 0', ['Retry-After', '7', 'X-RateLimit-Reset-After', '0.000', ...USER]],
    ['a Reset-After with an exponent', ['Retry-After', '7', 'X-RateLimit-Reset-After', '1e3', ...USER]],
    ['a Reset-After without three decimals', ['Retry-After', '7', 'X-RateLimit-Reset-After', '6.5', ...USER]],
    ['a Reset-After below a millisecond', ['Retry-After', '7', 'X-RateLimit-Reset-After', '0.0001', ...USER]],
    ['a Limit beyond any quota', ['Retry-After', '7', 'X-RateLimit-Limit', '1000000001', ...USER]],
    ['a Remaining beyond any quota', ['Retry-After', '7', 'X-RateLimit-Remaining', '1000000001', ...USER]],
    [
      'a Remaining above its Limit',
      ['Retry-After', '7', 'X-RateLimit-Limit', '5', 'X-RateLimit-Remaining', '6', ...USER],
    ],
    ['a Bucket that is no hash', ['Retry-After', '7', 'X-RateLimit-Bucket', 'theirs', ...USER]],
    ['two Buckets', ['Retry-After', '7', 'X-RateLimit-Bucket', HASH, 'x-ratelimit-bucket', HASH, ...USER]],
    ['a field that the family lacks', ['Retry-After', '7', 'X-RateLimit-Foo', '1', ...USER]],
    ['a field in another spelling', ['Retry-After', '7', 'X_RateLimit_Limit', '5', ...USER]],
    ['a Limit of 0', ['Retry-After', '7', 'X-RateLimit-Limit', '0', ...USER]],
  ])('not with %s', (_, fields) => {
    expect(contractHead(fields)).toBeNull();
  });
});

test('a body follows the contract if it has a message, and the wait and global of its head', () => {
  const body = (wait: number | string, more = '') =>
    `{"message":"","retry_after":${wait},"global":true${more}}`;
  const head = { scope: 'global', retryAfterS: 1 } as const;
  expect(bodyFollowsContract(body(0.001, ',"code":8'), head)).toBe(true);
  expect(bodyFollowsContract(body(1), head)).toBe(true);
  for (const wait of [0, 1e-9, '0.0009', 1.001, 9])
    expect(bodyFollowsContract(body(wait), head), `${wait}`).toBe(false);
  expect(bodyFollowsContract(body(1), { scope: 'shared', retryAfterS: 1 })).toBe(false);
});

test.each([
  ['nothing', ''],
  ['no JSON', '<h1>slow down</h1>'],
  ['a list', '[]'],
  ['a string', '"slow down"'],
  ['null', 'null'],
  ['no message', '{"retry_after":1,"global":false}'],
  ['no wait', '{"message":"m","global":false}'],
  ['a wait in quotes', '{"message":"m","retry_after":"1","global":false}'],
  ['a negative wait', '{"message":"m","retry_after":-1,"global":false}'],
  ['an endless wait', '{"message":"m","retry_after":1e999,"global":false}'],
  ['no global', '{"message":"m","retry_after":1}'],
  ['another global', '{"message":"m","retry_after":1,"global":true}'],
  ['bytes that are not UTF-8', '{"message":"\xff","retry_after":1,"global":false}'],
  ['a byte order mark', '\xef\xbb\xbf{"message":"m","retry_after":1,"global":false}'],
  ['members that are inherited', '{"__proto__":{"message":"m","retry_after":1,"global":false}}'],
])('a body does not follow the contract that holds %s', (_, body) => {
  expect(bodyFollowsContract(body, { scope: 'user', retryAfterS: 1 })).toBe(false);
});

test('the scope that one is counted by is what the upstream says, else shared', () => {
  const scopes = ['user', 'shared', 'global', 'User', ''].map(text =>
    meantScope(['x-ratelimit-scope', text]),
  );
  expect(scopes).toEqual(['user', 'shared', 'global', 'shared', 'shared']);
  expect(meantScope([])).toBe('shared');
});

describe('the wait of a rewritten one', () => {
  test.each([
    ['3', 3],
    ['2.1', 3],
    ['0', 1],
    ['80000', 80_000],
    ['999999999999', 2_764_800],
    ['Thu, 01 Jan 2026 00:00:05 GMT', 5],
    ['Thu, 01 Jan 2015 00:00:05 GMT', 1],
    ['soon', 1],
    ['-5', 1],
    ['', 1],
    [null, 1],
  ])('Retry-After %s is %i s', (value, seconds) => {
    expect(wait(value)).toBe(seconds);
  });

  test('is in the header and in the body', () => {
    const error = rewritten429(['Retry-After', '3'], NOW_MS);
    expect(error.fields).toEqual(['Retry-After', '3', 'Cache-Control', 'no-store']);
    expect(error.scope).toBe('shared');
    expect(JSON.parse(error.body)).toMatchObject({ retry_after: 3, global: false });
  });
});

test('a rewritten one keeps the fields that do not describe the body', () => {
  const ofBody = ['Content-Type', 'ETAG', 'Retry-After', 'Content-Language', 'last-modified', 'Expires'];
  const theirs = [...ofBody.flatMap(name => [name, 'x']), 'Set-Cookie', 'a=b', 'Link', '<x>'];
  expect(keptFieldsOf(theirs)).toEqual(['Set-Cookie', 'a=b', 'Link', '<x>']);
});

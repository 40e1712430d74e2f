import { describe, expect, test } from 'vitest';
import {
  askOnce,
  askTimes,
  BUCKET_FIELDS,
  fieldOf,
  rateFieldsOf,
  rateOf,
  refusalOf,
  startLimited,
} from '../support/limits.ts';
import type { WireFields } from '../support/wire/index.ts';

const limits = {
  global: { user: '10000/1s', address: '10000/1s' },
  buckets: { reads: { user: '5/60s' } },
  routes: { 'GET /things': 'reads' },
};

const refusing = (fields: WireFields, body: string | Buffer = '') =>
  startLimited(limits, {
    upstream: exchange => exchange.answer(429, fields, body),
    routes: [{ path: '/passing', upstream_429: 'pass' }],
  });

const SPEAKS = [
  ...['Retry-After', '7', 'X-RateLimit-Scope', 'user', 'X-RateLimit-Limit', '3'],
  ...['X-RateLimit-Bucket', 'theirs', 'Content-Type', 'application/json'],
];

describe("an upstream's 429 that speaks the contract", () => {
  test('passes with its own headers and body', async () => {
    const front = await refusing(SPEAKS, '{"message":"theirs"}');
    const answer = await askOnce(front, 'GET /things', front.issuer.bearer());
    expect(answer.status).toBe(429);
    expect(answer.body.toString()).toBe('{"message":"theirs"}');
    expect(rateFieldsOf(answer)).toEqual([
      ...['retry-after', 'x-ratelimit-bucket', 'x-ratelimit-limit', 'x-ratelimit-scope'],
    ]);
    expect(fieldOf(answer, 'x-ratelimit-bucket')).toBe('theirs');
    expect(fieldOf(answer, 'via')).toBe('1.1 weir');
  });
});

describe("an upstream's 429 of another kind", () => {
  const foreign = [
    'Retry-After',
    '2.5',
    'Content-Type',
    'text/html',
    'ETag',
    '"e"',
    'X-RateLimit-Limit',
    '9',
  ];

  test("becomes the contract's, with the headers of the request that was admitted", async () => {
    const front = await refusing(foreign, '<h1>slow down</h1>');
    const answer = await askOnce(front, 'GET /things', front.issuer.bearer());
    expect(refusalOf(answer)).toEqual({ message: expect.any(String), retry_after: 3, global: false });
    expect(rateOf(answer)).toMatchObject({ limit: 5, remaining: 4, scope: 'user' });
    expect(fieldOf(answer, 'etag')).toBeUndefined();
    expect(fieldOf(answer, 'via')).toBe('1.1 weir');
  });

  test('has a scope and no bucket headers on a route without a bucket', async () => {
    const front = await refusing(foreign);
    const answer = await askOnce(front, 'GET /other', front.issuer.bearer());
    expect(refusalOf(answer)).toMatchObject({ global: false, retry_after: 3 });
    expect(rateFieldsOf(answer).filter(name => name !== 'retry-after')).toEqual([]);
  });

  test('answers HEAD with the headers of GET', async () => {
    const front = await refusing(foreign);
    const bearer = front.issuer.bearer();
    const get = await askOnce(front, 'GET /things', bearer);
    const headAnswer = await askOnce(front, 'HEAD /things', bearer);
    expect(headAnswer.body).toHaveLength(0);
    for (const name of ['content-length', 'content-type', 'retry-after'])
      expect(fieldOf(headAnswer, name)).toBe(fieldOf(get, name));
  });

  test('keeps the connection to the upstream when its body is small, and gives it up when it is not', async () => {
    const small = await refusing(foreign, 'x'.repeat(60_000));
    await askTimes(small, 3, 'GET /things', small.issuer.bearer());
    expect(small.upstream.connections).toHaveLength(1);
    const large = await refusing(foreign, Buffer.alloc(4_000_000));
    const answers = await askTimes(large, 3, 'GET /things', large.issuer.bearer());
    expect(answers.map(answer => refusalOf(answer)['retry_after'])).toEqual([3, 3, 3]);
    expect(large.upstream.connections).toHaveLength(3);
  });

  test('passes as it is where the route says so', async () => {
    const front = await refusing(foreign, '<h1>slow down</h1>');
    const answer = await askOnce(front, 'GET /passing', front.issuer.bearer());
    expect(answer.body.toString()).toBe('<h1>slow down</h1>');
    expect(fieldOf(answer, 'retry-after')).toBe('2.5');
    expect(BUCKET_FIELDS.filter(name => fieldOf(answer, name) !== undefined)).toEqual([]);
  });
});

import { expect, test } from 'vitest';
import { bareGateway, type Sending } from '../../../support/bare-gateway.ts';
import { fieldOf, rateOf, refusalOf, statusesOf } from '../../../support/rate-fields.ts';
import { policiesIn, serviceLimitsIn } from '../../../support/rate-limit-policies.ts';

const ALICE: Sending = { as: true };
const limits = {
  headers: ['x-ratelimit', 'ratelimit'],
  global: { user: ['50/1s', '60/1h'] },
  buckets: { api: { user: ['3/1s', '4/1h'] } },
  routes: { '/api': 'api' },
};

test('every response of a list tells all of its windows, and describes the one that counts now', async () => {
  const bare = await bareGateway(limits);
  const [first, ...others] = await bare.askTimes(4, 'GET /api', ALICE);
  expect(policiesIn(fieldOf(first, 'ratelimit-policy'))).toEqual([
    { name: 'api/1s', q: 3, w: 1 },
    { name: 'api/1h', q: 4, w: 3_600 },
    { name: 'global/1s', q: 50, w: 1 },
    { name: 'global/1h', q: 60, w: 3_600 },
  ]);
  expect(serviceLimitsIn(fieldOf(first, 'ratelimit'))).toEqual([{ name: 'api/1s', r: 2, t: 1 }]);
  expect(rateOf(first)).toMatchObject({ limit: 3, remaining: 2 });
  const last = others.at(-1);
  expect(statusesOf(others)).toEqual([200, 200, 429]);
  expect(rateOf(last)).toMatchObject({ limit: 3, remaining: 0 });
  bare.clock.advance(1_000);
  const [fourth, refused] = await bare.askTimes(2, 'GET /api', ALICE);
  expect(rateOf(fourth)).toMatchObject({ limit: 4, remaining: 0 });
  expect(serviceLimitsIn(fieldOf(refused, 'ratelimit'))).toEqual([{ name: 'api/1h', r: 0, t: 3_599 }]);
  expect(fieldOf(refused, 'retry-after')).toBe('3599');
  expect(rateOf(refused).bucket).toBe(rateOf(first).bucket);
});

test('of the global windows the one with the longest wait is told', async () => {
  const bare = await bareGateway({ global: { user: ['2/1s', '2/1h'] } });
  const [, , refused] = await bare.askTimes(3, 'GET /other', ALICE);
  expect(refused?.status).toBe(429);
  expect(fieldOf(refused, 'retry-after')).toBe('3600');
  expect(refusalOf(refused)).toMatchObject({ global: true, retry_after: 3_600 });
});

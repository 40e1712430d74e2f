import { expect, test } from 'vitest';
import {
  askOnce,
  askTimes,
  BUCKET_FIELDS,
  fieldOf,
  GLOBAL_FIELDS,
  rateFieldsOf,
  rateOf,
  refusalOf,
  startLimited,
  statusesOf,
} from '../support/limits.ts';

const buckets = {
  buckets: { reads: { main: 'id', user: '3/60s', bot: '7/60s' } },
  routes: { 'GET /things/{id}': 'reads' },
};

/** The body of a 429 of a limit. */
const refusalBy = (global: boolean) => ({
  message: 'You are being rate limited.',
  retry_after: expect.any(Number),
  global,
});

test('responses of a limited route count down to 0, and the next is refused with its wait', async () => {
  const front = await startLimited(buckets, {
    upstream: exchange =>
      exchange.answer(500, ['X-RateLimit-Limit', '99', 'x-ratelimit-bucket', 'theirs', 'Via', '1.1 a']),
  });
  const responses = await askTimes(front, 4, 'GET /things/1', front.issuer.bearer());
  expect(statusesOf(responses)).toEqual([500, 500, 500, 429]);
  expect(responses.map(response => rateOf(response).remaining)).toEqual([2, 1, 0, 0]);
  expect(responses.map(response => rateOf(response).limit)).toEqual([3, 3, 3, 3]);
  expect(new Set(responses.map(response => rateOf(response).reset)).size).toBe(1);
  expect(rateFieldsOf(responses[0])).toEqual(BUCKET_FIELDS);
  const refused = responses[3];
  expect(rateFieldsOf(refused)).toEqual(['retry-after', ...BUCKET_FIELDS]);
  expect(refusalOf(refused)).toEqual(refusalBy(false));
  expect(fieldOf(refused, 'via')).toBe('1.1 weir');
  expect(front.upstream.requests).toHaveLength(3);
  const bot = await askOnce(front, 'GET /things/1', front.issuer.bearer({ client_id: 'robot' }));
  expect(rateOf(bot)).toMatchObject({ limit: 7, remaining: 6 });
});

test('responses carry them when the upstream fails after admission', async () => {
  const front = await startLimited(buckets, { upstream: ({ connection }) => connection.reset() });
  const response = await askOnce(front, 'GET /things/1', front.issuer.bearer());
  expect(response.status).toBe(502);
  expect(rateOf(response).remaining).toBe(2);
});

test('the global limit refuses with exactly its three headers, and says nothing of a bucket', async () => {
  const front = await startLimited({ ...buckets, global: { user: '2/60s', address: '3/60s' } });
  const responses = await askTimes(front, 3, 'GET /things/1', front.issuer.bearer());
  expect(statusesOf(responses)).toEqual([200, 200, 429]);
  const refused = responses[2];
  expect(rateFieldsOf(refused)).toEqual(GLOBAL_FIELDS);
  expect(fieldOf(refused, 'x-ratelimit-global')).toBe('true');
  expect(fieldOf(refused, 'x-ratelimit-scope')).toBe('global');
  expect(fieldOf(refused, 'via')).toBe('1.1 weir');
  expect(refusalOf(refused)).toEqual(refusalBy(true));
  expect((await askOnce(front, 'GET /a', front.issuer.bearer({ sub: 'bob' }))).status).toBe(200);
  expect(statusesOf(await askTimes(front, 4, 'GET /open/a'))).toEqual([200, 200, 200, 429]);
});

import { describe, expect, test } from 'vitest';
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
import { head } from '../support/requests.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

/** Every name of a response that says anything about limits. */
const WITH_WAIT = ['retry-after', ...BUCKET_FIELDS];

const limits = {
  global: { user: '1000/1s', address: '1000/1s' },
  buckets: { reads: { main: 'id', user: '3/60s', bot: '7/60s' } },
  routes: { 'GET /things/{id}': 'reads' },
};

describe('responses of a limited route', () => {
  test('count down to 0 on the last admitted request, and the next is refused', async () => {
    const front = await startLimited(limits);
    const responses = await askTimes(front, 4, 'GET /things/1', front.issuer.bearer());
    expect(statusesOf(responses)).toEqual([200, 200, 200, 429]);
    expect(responses.map(response => rateOf(response).remaining)).toEqual([2, 1, 0, 0]);
    expect(responses.map(response => rateOf(response).limit)).toEqual([3, 3, 3, 3]);
    expect(front.upstream.requests).toHaveLength(3);
  });

  test('have the same Reset and bucket throughout a window, and a falling Reset-After', async () => {
    const clock = new FrozenClock(Date.now());
    const front = await startLimited(limits, {
      clock,
      upstream: exchange => {
        clock.advance(500);
        return exchange.answer(200);
      },
    });
    const closesMs = clock.epochMs() + 60_000;
    const responses = await askTimes(front, 4, 'GET /things/1', front.issuer.bearer());
    const rates = responses.map(rateOf);
    expect(new Set(rates.map(rate => rate.reset)).size).toBe(1);
    expect(new Set(rates.map(rate => rate.bucket)).size).toBe(1);
    expect(Math.abs((rates[0]?.reset ?? 0) * 1_000 - closesMs)).toBeLessThan(5);
    expect(rates.map(rate => rate.resetAfter)).toEqual([59.5, 59, 58.5, 58.5]);
  });

  test('carry the six headers, and a refusal its wait beside them', async () => {
    const front = await startLimited(limits);
    const responses = await askTimes(front, 4, 'GET /things/1', front.issuer.bearer());
    expect(rateFieldsOf(responses[0])).toEqual(BUCKET_FIELDS);
    const refused = responses[3];
    expect(rateFieldsOf(refused)).toEqual(WITH_WAIT);
    expect(refusalOf(refused)).toEqual({
      message: 'You are being rate limited.',
      retry_after: expect.any(Number),
      global: false,
    });
    expect(fieldOf(refused, 'via')).toBe('1.1 weir');
  });

  test('differ by class of caller: bots have a limit of their own', async () => {
    const front = await startLimited(limits);
    const user = await askOnce(front, 'GET /things/1', front.issuer.bearer());
    const bot = await askOnce(front, 'GET /things/1', front.issuer.bearer({ client_id: 'robot' }));
    expect(rateOf(user).limit).toBe(3);
    expect(rateOf(bot).limit).toBe(7);
    expect(rateOf(bot).bucket).toBe(rateOf(user).bucket);
  });

  test('carry them in place of those of the upstream', async () => {
    const front = await startLimited(limits, {
      upstream: exchange =>
        exchange.answer(500, ['X-RateLimit-Limit', '99', 'x-ratelimit-bucket', 'theirs', 'Via', '1.1 a']),
    });
    const response = await askOnce(front, 'GET /things/1', front.issuer.bearer());
    expect(response.status).toBe(500);
    expect(rateOf(response).limit).toBe(3);
  });

  test('carry them when the upstream fails after admission', async () => {
    const front = await startLimited(limits, { upstream: ({ connection }) => connection.reset() });
    const response = await askOnce(front, 'GET /things/1', front.issuer.bearer());
    expect(response.status).toBe(502);
    expect(rateOf(response).remaining).toBe(2);
  });

  test('have a Reset-After above 0 when the window closed while the upstream worked', async () => {
    const clock = new FrozenClock(Date.now());
    const front = await startLimited(
      { ...limits, buckets: { reads: { main: 'id', user: '3/1s' } } },
      {
        clock,
        upstream: exchange => {
          clock.advance(1_050);
          return exchange.answer(200);
        },
      },
    );
    const response = await askOnce(front, 'GET /things/1', front.issuer.bearer());
    expect(rateOf(response)).toMatchObject({ resetAfter: 0.001, remaining: 2 });
  });

  test('to HEAD draw on the bucket of GET', async () => {
    const front = await startLimited(limits);
    const bearer = front.issuer.bearer();
    const get = await askOnce(front, 'GET /things/1', bearer);
    const headResponse = await askOnce(front, 'HEAD /things/1', bearer);
    expect(rateOf(headResponse)).toMatchObject({ remaining: 1, bucket: rateOf(get).bucket });
  });
});

describe('no headers of a bucket are sent', () => {
  test('on a route without one', async () => {
    const front = await startLimited(limits);
    const response = await askOnce(front, 'GET /other', front.issuer.bearer());
    expect(response.status).toBe(200);
    expect(rateFieldsOf(response)).toEqual([]);
  });

  test('on a 401, and a request without a token draws on no bucket', async () => {
    const front = await startLimited(limits);
    const refused = await askTimes(front, 5, 'GET /things/1');
    expect(statusesOf(refused)).toEqual([401, 401, 401, 401, 401]);
    expect(refused.flatMap(rateFieldsOf)).toEqual([]);
    const response = await askOnce(front, 'GET /things/1', front.issuer.bearer());
    expect(rateOf(response).remaining).toBe(2);
  });

  test('on a 400 and a 404 of the gateway', async () => {
    const front = await startLimited(limits, {
      config: { routes: [{ path: '/things/**', upstream: 'api' }] },
    });
    const bearer = front.issuer.bearer();
    for (const [target, status] of [
      ['GET /things//1', 400],
      ['GET /nowhere', 404],
    ] as const) {
      const response = await askOnce(front, target, bearer);
      expect(response.status).toBe(status);
      expect(rateFieldsOf(response)).toEqual([]);
    }
  });
});

describe('the global limit', () => {
  const tight = { ...limits, global: { user: '2/60s', address: '3/60s' } };

  test('refuses with exactly its three headers, and says nothing of a bucket', async () => {
    const front = await startLimited(tight);
    const responses = await askTimes(front, 3, 'GET /things/1', front.issuer.bearer());
    expect(statusesOf(responses)).toEqual([200, 200, 429]);
    const refused = responses[2];
    expect(rateFieldsOf(refused)).toEqual(GLOBAL_FIELDS);
    expect(fieldOf(refused, 'x-ratelimit-global')).toBe('true');
    expect(fieldOf(refused, 'x-ratelimit-scope')).toBe('global');
    expect(fieldOf(refused, 'via')).toBe('1.1 weir');
    expect(refusalOf(refused)).toEqual({
      message: 'You are being rate limited.',
      retry_after: expect.any(Number),
      global: true,
    });
  });

  test('holds for all tokens of a principal together, and for each principal alone', async () => {
    const front = await startLimited(tight);
    const { issuer } = front;
    expect(statusesOf(await askTimes(front, 2, 'GET /a', issuer.bearer({ jti: '1' })))).toEqual([200, 200]);
    expect(statusesOf(await askTimes(front, 1, 'GET /b', issuer.bearer({ jti: '2' })))).toEqual([429]);
    expect(statusesOf(await askTimes(front, 1, 'GET /b', issuer.bearer({ sub: 'bob' })))).toEqual([200]);
  });

  test('is that of the address without an Authorization header', async () => {
    const front = await startLimited(tight);
    expect(statusesOf(await askTimes(front, 4, 'GET /open/a'))).toEqual([200, 200, 200, 429]);
    const elsewhere = await front.gateway.ask(head('GET /open/a'), { localAddress: '127.0.0.9' });
    expect(elsewhere.status).toBe(200);
  });

  test('is exhausted without drawing on a bucket, and the other way round', async () => {
    const clock = new FrozenClock(Date.now());
    const front = await startLimited({ ...limits, global: { user: '4/2s' } }, { clock });
    const bearer = front.issuer.bearer();
    // The bucket refuses the fourth, which draws on nothing: one of the global limit's four is left.
    expect(statusesOf(await askTimes(front, 4, 'GET /things/1', bearer))).toEqual([200, 200, 200, 429]);
    expect(statusesOf(await askTimes(front, 2, 'GET /other', bearer))).toEqual([200, 429]);
    // Refused by the global limit, these take nothing from their bucket.
    const refused = await askOnce(front, 'GET /things/2', bearer);
    expect(rateFieldsOf(refused)).toEqual(GLOBAL_FIELDS);
    const wait = Number(refusalOf(refused)['retry_after']);
    clock.advance(wait * 1_000);
    const admitted = await askOnce(front, 'GET /things/2', bearer);
    expect(rateOf(admitted).remaining).toBe(2);
  });

  test('does not apply to a route that is exempt', async () => {
    const front = await startLimited(tight, {
      routes: [{ path: '/free/**', global_limit: 'exempt' }],
    });
    const responses = await askTimes(front, 6, 'GET /free/a', front.issuer.bearer());
    expect(statusesOf(responses)).toEqual([200, 200, 200, 200, 200, 200]);
  });
});

test('a 429 says one wait in its body and its header, however much later the header is written', async () => {
  let nowMs = 1_000;
  // Whoever asks for the time again finds that it has gone on.
  const clock = { epochMs: () => Date.now(), monotonicMs: () => (nowMs += 2.3) };
  const front = await startLimited(
    { buckets: { things: { user: '1/60s' } }, routes: { '/things': 'things' } },
    { clock },
  );
  const responses = await askTimes(front, 5, 'GET /things', front.issuer.bearer());
  for (const response of responses.slice(1))
    expect(refusalOf(response)['retry_after']).toBe(rateOf(response).resetAfter);
});

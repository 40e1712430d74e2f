import { describe, expect, test } from 'vitest';
import { askOnce, askTimes, rateOf, refusalOf, startLimited, statusesOf } from '../support/limits.ts';
import { head } from '../support/requests.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

const plenty = { user: '10000/1s', bot: '10000/1s', address: '10000/1s' };

describe('a bucket with a main parameter', () => {
  const limits = {
    global: plenty,
    buckets: { messages: { main: 'channel', user: '2/60s' } },
    routes: { '/channels/{channel}/messages/**': 'messages' },
  };

  test('has a quota for each of its values', async () => {
    const front = await startLimited(limits);
    const bearer = front.issuer.bearer();
    expect(statusesOf(await askTimes(front, 3, 'GET /channels/1/messages', bearer))).toEqual([200, 200, 429]);
    const other = await askOnce(front, 'GET /channels/2/messages', bearer);
    expect(other.status).toBe(200);
    expect(rateOf(other).bucket).not.toBe(
      rateOf(await askOnce(front, 'GET /channels/1/messages', bearer)).bucket,
    );
  });

  test('sends all callers the same hash', async () => {
    const front = await startLimited(limits);
    const one = await askOnce(front, 'GET /channels/1/messages', front.issuer.bearer());
    const two = await askOnce(front, 'GET /channels/1/messages', front.issuer.bearer({ sub: 'bob' }));
    expect(rateOf(one).bucket).toBe(rateOf(two).bucket);
    expect(rateOf(two).remaining).toBe(1);
  });

  test.each([
    '/channels/%31/messages',
    '/channels/1/messages/',
    '/CHANNELS/1/Messages',
    '/channels/1/messages/7',
    '/channels/1/messages?id=2',
  ])('counts another spelling as the same value: %s', async path => {
    const front = await startLimited(limits);
    const bearer = front.issuer.bearer();
    await askTimes(front, 2, 'GET /channels/1/messages', bearer);
    expect((await askOnce(front, `GET ${path}`, bearer)).status).toBe(429);
  });

  test('refuses a value that is not UTF-8', async () => {
    const front = await startLimited(limits);
    const response = await askOnce(front, 'GET /channels/%C3%28/messages', front.issuer.bearer());
    expect(response.status).toBe(400);
    expect(front.upstream.requests).toHaveLength(0);
  });

  test('keeps a value of 8,000 characters apart from another', async () => {
    const front = await startLimited(limits);
    const bearer = front.issuer.bearer();
    const long = 'a'.repeat(7_999);
    expect(statusesOf(await askTimes(front, 3, `GET /channels/${long}b/messages`, bearer))).toEqual([
      200, 200, 429,
    ]);
    expect((await askOnce(front, `GET /channels/${long}c/messages`, bearer)).status).toBe(200);
  });
});

test('the hash leaves the main value out where clients add it themselves', async () => {
  const front = await startLimited({
    global: plenty,
    bucket_hash: 'route',
    buckets: { reads: { main: 'id', user: '1/60s' } },
    routes: { '/things/{id}': 'reads' },
  });
  const bearer = front.issuer.bearer();
  const [one, two] = [
    await askOnce(front, 'GET /things/1', bearer),
    await askOnce(front, 'GET /things/2', bearer),
  ];
  expect(statusesOf([one, two])).toEqual([200, 200]);
  expect(rateOf(one).bucket).toBe(rateOf(two).bucket);
});

describe('the scope of a bucket', () => {
  const limits = {
    global: plenty,
    buckets: {
      one: { user: '1/60s' },
      several: { user: '1/60s' },
      said: { user: '1/60s', scope: 'user' },
    },
    routes: {
      'GET /one': 'one',
      'GET /several': 'several',
      'POST /several': 'several',
      'GET /said': 'said',
      'POST /said': 'said',
    },
  };

  test('is user where one line of the map names it', async () => {
    const front = await startLimited(limits);
    const responses = await askTimes(front, 2, 'GET /one', front.issuer.bearer());
    expect(responses.map(response => rateOf(response).scope)).toEqual(['user', 'user']);
  });

  test('is shared where several do, and they draw on one quota', async () => {
    const front = await startLimited(limits);
    const bearer = front.issuer.bearer();
    expect(rateOf(await askOnce(front, 'GET /several', bearer)).scope).toBe('shared');
    const refused = await askOnce(front, 'POST /several', bearer, 'Content-Length: 0');
    expect(rateOf(refused).scope).toBe('shared');
    expect(refusalOf(refused)['global']).toBe(false);
  });

  test('is what the bucket says where it says so', async () => {
    const front = await startLimited(limits);
    const bearer = front.issuer.bearer();
    expect(rateOf(await askOnce(front, 'GET /said', bearer)).scope).toBe('user');
    expect(rateOf(await askOnce(front, 'POST /said', bearer, 'Content-Length: 0')).scope).toBe('user');
  });
});

describe('a resource limit', () => {
  const limits = {
    global: plenty,
    buckets: { posts: { main: 'id', user: '10/60s', resource: '3/60s' } },
    routes: { '/rooms/{id}/posts': 'posts' },
  };

  test('counts all callers of one main value, and its refusal is shared and not global', async () => {
    const front = await startLimited(limits);
    const { issuer } = front;
    const bob = issuer.bearer({ sub: 'bob' });
    expect(statusesOf(await askTimes(front, 2, 'GET /rooms/1/posts', issuer.bearer()))).toEqual([200, 200]);
    const last = await askOnce(front, 'GET /rooms/1/posts', bob);
    expect(rateOf(last)).toMatchObject({ limit: 10, remaining: 9, scope: 'user' });
    const refused = await askOnce(front, 'GET /rooms/1/posts', bob);
    expect(rateOf(refused)).toMatchObject({ limit: 3, remaining: 0, scope: 'shared' });
    expect(refusalOf(refused)['global']).toBe(false);
    expect((await askOnce(front, 'GET /rooms/2/posts', bob)).status).toBe(200);
  });

  test('refuses without taking anything from its caller', async () => {
    const front = await startLimited(limits);
    const bob = front.issuer.bearer({ sub: 'bob' });
    await askTimes(front, 3, 'GET /rooms/1/posts', front.issuer.bearer());
    await askTimes(front, 5, 'GET /rooms/1/posts', bob);
    const admitted = await askOnce(front, 'GET /rooms/2/posts', bob);
    expect(rateOf(admitted).remaining).toBe(9);
  });

  test.each([401, 403, 404])('gets its unit back when the upstream says %i', async status => {
    const front = await startLimited(limits, {
      upstream: exchange => exchange.answer(exchange.request.target.endsWith('?out') ? status : 200),
    });
    const mallory = front.issuer.bearer({ sub: 'mallory' });
    const turnedAway = await askTimes(front, 5, 'GET /rooms/1/posts?out', mallory);
    expect(new Set(statusesOf(turnedAway))).toEqual(new Set([status]));
    const responses = await askTimes(front, 4, 'GET /rooms/1/posts', front.issuer.bearer());
    expect(statusesOf(responses)).toEqual([200, 200, 200, 429]);
  });
});

describe('classes of callers', () => {
  test('without a number of their own are limited as users', async () => {
    const front = await startLimited({
      global: plenty,
      buckets: { all: { user: '2/60s' } },
      routes: { '/**': 'all' },
    });
    const bot = front.issuer.bearer({ client_id: 'robot' });
    expect(statusesOf(await askTimes(front, 3, 'GET /a', bot))).toEqual([200, 200, 429]);
    expect(statusesOf(await askTimes(front, 3, 'GET /open/a'))).toEqual([200, 200, 429]);
    expect(statusesOf(await askTimes(front, 3, 'GET /a', front.issuer.bearer()))).toEqual([200, 200, 429]);
  });

  test('on a route that looks at no token are all addresses', async () => {
    const front = await startLimited({
      global: plenty,
      buckets: { all: { user: '5/60s', address: '1/60s' } },
      routes: { '/**': 'all' },
    });
    const bearer = front.issuer.bearer();
    expect(statusesOf(await askTimes(front, 2, 'GET /open/a', bearer))).toEqual([200, 429]);
    expect(statusesOf(await askTimes(front, 2, 'GET /a', bearer))).toEqual([200, 200]);
  });

  test('on a route with an optional token are what they can show', async () => {
    const front = await startLimited(
      {
        global: plenty,
        buckets: { all: { user: '5/60s', address: '1/60s' } },
        routes: { '/**': 'all' },
      },
      { routes: [{ path: '/maybe', authentication: 'optional' }] },
    );
    expect(statusesOf(await askTimes(front, 2, 'GET /maybe'))).toEqual([200, 429]);
    const known = await askOnce(front, 'GET /maybe', front.issuer.bearer());
    expect(rateOf(known)).toMatchObject({ limit: 5, remaining: 4 });
  });
});

test('a smooth bucket admits a burst and then one request per part of its period', async () => {
  const clock = new FrozenClock(Date.now());
  const front = await startLimited(
    {
      global: plenty,
      buckets: { all: { user: '4/2s', algorithm: 'smooth' } },
      routes: { '/**': 'all' },
    },
    { clock },
  );
  const bearer = front.issuer.bearer();
  const responses = await askTimes(front, 5, 'GET /a', bearer);
  expect(statusesOf(responses)).toEqual([200, 200, 200, 200, 429]);
  const wait = Number(refusalOf(responses[4])['retry_after']);
  expect(wait).toBeLessThanOrEqual(0.5);
  clock.advance(wait * 1_000);
  expect(statusesOf(await askTimes(front, 2, 'GET /a', bearer))).toEqual([200, 429]);
});

test('the catch-all takes what no other line of the map names', async () => {
  const front = await startLimited({
    global: plenty,
    buckets: { one: { user: '9/60s' }, rest: { user: '7/60s' } },
    routes: { 'GET /a/{x}': 'one', '/a/**': 'rest' },
  });
  const bearer = front.issuer.bearer();
  expect(rateOf(await askOnce(front, 'GET /a/1', bearer)).limit).toBe(9);
  expect(rateOf(await askOnce(front, 'GET /a/1/2', bearer)).limit).toBe(7);
  expect(rateOf(await askOnce(front, 'DELETE /a/1', bearer)).limit).toBe(7);
});

describe('120 requests of one caller at the same time', () => {
  test('on a global limit of 50 in 10 seconds: exactly 50 pass', async () => {
    const front = await startLimited({ global: { user: '50/10s' } });
    const bearer = front.issuer.bearer();
    const clients = await Promise.all(Array.from({ length: 120 }, () => front.gateway.connect()));
    const responses = await Promise.all(clients.map(client => client.ask(head('GET /a', bearer))));
    const statuses = statusesOf(responses);
    expect(statuses.filter(status => status === 200)).toHaveLength(50);
    expect(statuses.filter(status => status === 429)).toHaveLength(70);
    expect(front.upstream.requests).toHaveLength(50);
  });

  test('on a bucket of 50 in 10 seconds: each of 50 gets a different Remaining', async () => {
    const front = await startLimited({
      global: plenty,
      buckets: { all: { user: '50/10s' } },
      routes: { '/**': 'all' },
    });
    const bearer = front.issuer.bearer();
    const clients = await Promise.all(Array.from({ length: 120 }, () => front.gateway.connect()));
    const responses = await Promise.all(clients.map(client => client.ask(head('GET /a', bearer))));
    const admitted = responses.filter(response => response.status === 200);
    expect(admitted.map(response => rateOf(response).remaining).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 50 }, (_, i) => i),
    );
  });
});

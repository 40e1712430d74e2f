import { describe, expect, test } from 'vitest';
import { askOnce, askTimes, rateOf, refusalOf, startLimited, statusesOf } from '../support/limits.ts';
import { head } from '../support/requests.ts';

const plenty = { user: '10000/1s', bot: '10000/1s', address: '10000/1s' };

test('a bucket has a quota for each caller of each main value, and one for all callers of it', async () => {
  const front = await startLimited({
    global: plenty,
    buckets: { posts: { main: 'room', user: '2/60s', resource: '3/60s' } },
    routes: { 'GET /rooms/{room}/posts/**': 'posts', 'POST /rooms/{room}/posts': 'posts' },
  });
  const [alice, bob] = [front.issuer.bearer(), front.issuer.bearer({ sub: 'bob' })];
  expect(statusesOf(await askTimes(front, 3, 'GET /rooms/1/posts', alice))).toEqual([200, 200, 429]);
  expect((await askOnce(front, 'GET /ROOMS/%31/posts/7?new', alice)).status).toBe(429);
  const last = rateOf(await askOnce(front, 'POST /rooms/1/posts', bob, 'Content-Length: 0'));
  expect(last).toMatchObject({ limit: 2, remaining: 1, scope: 'shared' });
  const refused = await askOnce(front, 'GET /rooms/1/posts', bob);
  expect(rateOf(refused)).toMatchObject({ limit: 3, remaining: 0, scope: 'shared', bucket: last.bucket });
  expect(refusalOf(refused)['global']).toBe(false);
  expect((await askOnce(front, 'GET /rooms/2/posts', bob)).status).toBe(200);
  expect((await askOnce(front, 'GET /rooms/%C3%28/posts', bob)).status).toBe(400);
  expect(front.upstream.requests).toHaveLength(4);
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

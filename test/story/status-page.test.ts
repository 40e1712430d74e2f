import { describe, expect, test } from 'vitest';
import { freePort } from '../support/free-port.ts';
import { askTimes, type LimitedGateway, startLimited, statusesOf } from '../support/limits.ts';
import { head } from '../support/requests.ts';

const limits = {
  global: { user: '10000/1s', address: '10000/1s' },
  buckets: {
    things: { user: '2/60s', main: 'id' },
    open: { address: '3/60s' },
    tried: { user: '1/60s', shadow: true },
    rolled: { user: '9/60s', enforce: '10%' },
  },
  routes: { '/things/{id}': 'things', '/open/**': 'open', '/tried': 'tried', '/rolled': 'rolled' },
  invalid_requests: { limit: '4/60s', restrict_for: '60s' },
};
const HOSTILE = '<img src=x onerror=document.title=1>';

/** Its service cannot be reached. */
const start = async () => startLimited(limits, { api: { url: `http://127.0.0.1:${await freePort()}` } });

const statusOf = async ({ gateway }: LimitedGateway) =>
  JSON.parse((await gateway.admin('/status.json')).text);

describe('/status.json', () => {
  test('tells what limits did by bucket, who was refused, who is restricted, and which upstream fails', async () => {
    const front = await start();
    const { gateway, issuer } = front;
    const bearer = issuer.bearer({ sub: HOSTILE });
    const asked = await askTimes(front, 4, `GET /things/${encodeURIComponent(HOSTILE)}`, bearer);
    expect(statusesOf(asked)).toEqual([502, 502, 429, 429]);
    for (let n = 0; n < 5; n++) await gateway.ask(head('GET /things/1'), { localAddress: '127.0.0.9' });
    const status = await statusOf(front);
    expect(status).toMatchObject({
      host: expect.any(String),
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      node: process.versions.node,
    });
    expect(status.configuration.files).toEqual([
      expect.stringMatching(/gateway\.yaml$/),
      expect.stringMatching(/limits\.yaml$/),
    ]);
    const counts = { admitted: 2, refused: 2, shadowRefused: 0, restricted: 0 };
    expect(status.buckets).toContainEqual({
      bucket: 'things',
      class: 'user',
      limits: [
        { limit: 'caller', quota: '2/1m', algorithm: 'window', enforcedPercent: 100 },
        { limit: 'global', quota: '10000/1s', algorithm: 'window', enforcedPercent: 100 },
      ],
      lastMinute: counts,
      lastHour: counts,
      callersNearLimit: 1,
    });
    const { refusedMost, nearLimit, restrictions } = status.callers;
    expect(refusedMost).toMatchObject([
      { class: 'user', bucket: 'things', count: 2, maxCount: 2, restricted: 0, why: 'caller' },
    ]);
    expect(refusedMost[0].caller).toMatch(/^[\w-]{22}$/);
    expect(nearLimit[0].caller).toBe(refusedMost[0].caller);
    expect(restrictions).toMatchObject([
      { address: '127.0.0.9', kind: 'address', reason: 'invalid_requests' },
    ]);
    const errors = { lastMinute: 2, lastHour: 2, count: 2, cause: expect.stringContaining('ECONNREFUSED') };
    expect(status.upstreams).toMatchObject([{ name: 'api', errors }]);
    const page = (await gateway.admin('/status')).text;
    expect(page).toContain(refusedMost[0].caller);
    for (const text of [page, JSON.stringify(status)]) expect(text).not.toContain('onerror');
  });
});

test("a day's quota of a caller who has used it up is a bar, with when it resets", async () => {
  const front = await startLimited({
    buckets: { things: { user: ['100/1s', '4/day'], main: 'id' } },
    routes: { '/things/{id}': 'things' },
  });
  expect(statusesOf(await askTimes(front, 5, 'GET /things/1', front.issuer.bearer()))).toEqual([
    200, 200, 200, 200, 429,
  ]);
  const { refusedMost, nearLimit } = (await statusOf(front)).callers;
  const resetAt = expect.stringMatching(/T00:00:00\.000Z$/);
  const quota = { period: 'day', limit: 4, remaining: 0, resetAt };
  expect([refusedMost, nearLimit]).toMatchObject([[{ quota }], [{ quota }]]);
  const page = (await front.gateway.admin('/status')).text;
  expect(
    page.match(/<meter max="4" value="4"[^>]*><\/meter> 4 of 4\/day, until <time class="local"/g),
  ).toHaveLength(2);
});

test('a client that hammers a restriction is shown as refused most, with the reason, and counts in the last minute', async () => {
  const front = await startLimited(limits);
  await askTimes(front, 25, 'GET /things/1');
  const status = await statusOf(front);
  expect(status.callers.refusedMost).toMatchObject([
    {
      ...{ address: '127.0.0.1', class: 'address', bucket: 'none' },
      ...{ count: 20, maxCount: 20, restricted: 20, why: 'invalid_requests' },
    },
  ]);
  const ofAddresses = status.buckets.find(
    (row: { bucket: string; class: string }) => row.bucket === 'none' && row.class === 'address',
  );
  expect(ofAddresses.lastMinute).toMatchObject({ refused: 0, restricted: 20 });
  expect(await front.gateway.counted('weir_restriction_refusals_total')).toEqual(
    new Map([['{class="address",reason="invalid_requests"}', 20]]),
  );
});

test('a network of which several addresses are refused is shown, on the page and by the API', async () => {
  const front = await startLimited({ global: { user: '1000/1m', address: '2/1m' } });
  const askFrom = (localAddress: string) => front.gateway.ask(head('GET /things/1'), { localAddress });
  for (const address of ['127.0.1.1', '127.0.1.2', '127.0.1.3', '127.0.2.1'])
    for (let n = 0; n < 4; n++) await askFrom(address);
  const network = {
    ...{ network: '127.0.1.0/24', addresses: 3, count: 6, maxCount: 6, restricted: 0 },
    ...{ since: expect.any(String), lastAt: expect.any(String) },
  };
  expect((await statusOf(front)).callers.refusedNetworks).toEqual([network]);
  const { text } = await front.gateway.admin('/api/refused');
  expect(JSON.parse(text)).toEqual({ networks: [network] });
  const page = (await front.gateway.admin('/status')).text;
  expect(page).toContain('Networks refused most');
  expect(page).toContain('127.0.1.0/24');
});

test('/status.json tells how many requests of a caller may be in flight', async () => {
  const limits = {
    buckets: { exports: { user: '10/1m', concurrent: 4 }, live: { concurrent: 2, shadow: true } },
    routes: { 'GET /exports': 'exports', 'GET /live': 'live' },
  };
  const { buckets, concurrent } = await statusOf(await startLimited(limits));
  expect(concurrent).toEqual([
    { bucket: 'exports', perCaller: 4, inFlight: 0, callers: 0 },
    { bucket: 'live', perCaller: 2, inFlight: 0, callers: 0 },
  ]);
  const atOnce = { limit: 'concurrent', algorithm: null };
  for (const [bucket, view] of [
    ['exports', { ...atOnce, quota: '4', enforcedPercent: 100 }],
    ['live', { ...atOnce, quota: '2', enforcedPercent: 0 }],
  ])
    expect(buckets).toContainEqual(
      expect.objectContaining({ bucket, class: 'user', limits: expect.arrayContaining([view]) }),
    );
});

test('/status.json tells limits in shadow, and those that hold for a share of callers, from the others', async () => {
  const front = await start();
  await askTimes(front, 3, 'GET /tried', front.issuer.bearer());
  const { buckets } = await statusOf(front);
  const ofUsers = (name: string) =>
    buckets.find((row: { bucket: string; class: string }) => row.bucket === name && row.class === 'user');
  const enforced = (name: string) =>
    ofUsers(name).limits.map(({ limit, enforcedPercent }: Record<string, unknown>) => [
      limit,
      enforcedPercent,
    ]);
  const global = ['global', 100];
  expect(enforced('tried')).toEqual([global, ['caller', 0]]);
  expect(enforced('rolled')).toEqual([['caller', 10], global]);
  expect(ofUsers('tried').lastMinute).toEqual({ admitted: 3, refused: 0, shadowRefused: 2, restricted: 0 });
});

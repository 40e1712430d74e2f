import { describe, expect, onTestFinished, test } from 'vitest';
import { BUCKET_FIELDS, fieldOf, rateFieldsOf, rateOf, refusalOf, startLimited } from '../support/limits.ts';
import { agreement, handshake } from '../support/raw-web-sockets.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { startRedisGateway, startRedisGatewayProcess } from '../support/redis-gateway.ts';
import { head } from '../support/requests.ts';
import type { TestGateway } from '../support/test-gateway.ts';
import { waitFor } from '../support/wait.ts';
import { type CaptureUpstream, type RawClient, type Script, startUpstream } from '../support/wire/index.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

const limits = {
  global: { user: '10000/1s', address: '10000/1s' },
  buckets: { exports: { user: '50/60s', concurrent: 2 }, bare: { concurrent: 1 } },
  routes: { '/exports/**': 'exports', '/bare/**': 'bare' },
};

/** Answers everything but paths with `held` in them: those wait until their connection is gone. Opens WebSockets and streams. */
const holding: Script = async exchange => {
  const { target } = exchange.request;
  if (target.includes('socket')) await exchange.send(agreement());
  if (target.includes('stream'))
    await exchange.send('HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: hello\n\n');
  if (['socket', 'stream', 'held'].some(word => target.includes(word))) {
    await exchange.gone;
    return;
  }
  await exchange.received();
  await exchange.answer(200, [], 'ok');
};

/** Sends a request that stays in flight, and waits until it is upstream. */
async function hold(
  front: { readonly gateway: TestGateway; readonly upstream: CaptureUpstream },
  text: string,
): Promise<RawClient> {
  const client = await front.gateway.connect();
  const before = front.upstream.requests.length;
  await client.send(text);
  await waitFor('it is upstream', () => front.upstream.requests.length > before);
  return client;
}

const start = () =>
  startLimited(limits, { upstream: holding, routes: [{ path: '/bare/socket', websocket: true }] });

describe('a bucket with "concurrent"', () => {
  test('refuses one more request of a caller while so many are in flight, until one has gone', async () => {
    const front = await start();
    const bearer = front.issuer.bearer();
    const ask = (line = bearer) => front.gateway.ask(head('GET /exports/a', line));
    const first = await hold(front, head('GET /exports/held', bearer));
    await hold(front, head('GET /exports/held', bearer));
    await hold(front, head('GET /bare/held', front.issuer.bearer({ sub: 'carol' })));
    const status = JSON.parse((await front.gateway.admin('/status.json')).text);
    expect(status.concurrent).toEqual([
      { bucket: 'exports', perCaller: 2, inFlight: 2, callers: 1 },
      { bucket: 'bare', perCaller: 1, inFlight: 1, callers: 1 },
    ]);
    expect(await front.gateway.metric('weir_limit_in_flight')).toEqual(
      new Map([
        ['{bucket="exports"}', 2],
        ['{bucket="bare"}', 1],
      ]),
    );
    const caller = expect.stringMatching(/^[\w-]{22}$/);
    expect(status.callers.mostInFlight).toEqual([
      { caller, bucket: 'exports', inFlight: 2 },
      { caller, bucket: 'bare', inFlight: 1 },
    ]);
    const page = (await front.gateway.admin('/status')).text;
    for (const title of ['Requests in flight, by bucket', 'Callers with most in flight'])
      expect(page).toContain(title);
    const refused = await ask();
    expect(refusalOf(refused)).toMatchObject({ retry_after: 1, global: false });
    expect(rateOf(refused)).toMatchObject({ limit: 50, remaining: 48, scope: 'shared' });
    expect(rateFieldsOf(refused)).toEqual([...BUCKET_FIELDS, 'retry-after'].sort());
    expect((await ask(front.issuer.bearer({ sub: 'bob' }))).status).toBe(200);
    first.reset();
    await waitFor('there is room again', async () => (await ask()).status === 200);
    // What was refused drew on nothing.
    const counted = front.upstream.requests.filter(({ target }) => target.startsWith('/exports/')).length - 1;
    expect(rateOf(await ask()).remaining).toBe(50 - counted - 1);
  });

  test('says no more than its scope where it has no quota', async () => {
    const front = await start();
    const bearer = front.issuer.bearer();
    await hold(front, head('GET /bare/held', bearer));
    const refused = await front.gateway.ask(head('GET /bare/a', bearer));
    expect(refusalOf(refused)).toMatchObject({ retry_after: 1, global: false });
    expect(rateFieldsOf(refused)).toEqual(['retry-after', 'x-ratelimit-scope']);
    expect(fieldOf(refused, 'x-ratelimit-scope')).toBe('shared');
  });

  test('counts a WebSocket until it is closed', async () => {
    const front = await start();
    const bearer = front.issuer.bearer();
    const socket = await hold(front, handshake('/bare/socket', bearer));
    await waitFor('it is open', () => socket.received.includes('101 Switching'));
    expect((await front.gateway.ask(head('GET /bare/a', bearer))).status).toBe(429);
    socket.reset();
    await waitFor(
      'there is room again',
      async () => (await front.gateway.ask(head('GET /bare/a', bearer))).status === 200,
    );
  });
});

/** As after so many milliseconds in which Redis heard of none of them. */
async function ageLeases(redis: RedisServer, ms: number): Promise<void> {
  for (const key of await redis.client.keys('*:leases'))
    for (const lease of await redis.client.zrange(key, '0', '-1'))
      await redis.client.zincrby(key, -ms, lease);
}

test('gateways share the places over Redis: those of one that was killed are free once its leases end', async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.close());
  const upstream = await startUpstream(holding);
  const clock = new FrozenClock(Date.now());
  const settings = {
    store: { redis: `redis://127.0.0.1:${redis.port}`, timeout: '1s' },
    limits: { global: 'off', buckets: { all: { concurrent: 6 } }, routes: { '/**': 'all' } },
    route: { websocket: true },
    upstreamPort: upstream.port,
  };
  const killed = { gateway: await startRedisGatewayProcess(settings), upstream };
  const living = { gateway: await startRedisGateway({ ...settings, clock }), upstream };
  const ask = ({ gateway }: typeof killed | typeof living) => gateway.ask(head('GET /a'));
  const own: RawClient[] = [];
  for (const front of [killed, living]) {
    own.splice(0);
    for (const text of [head('GET /held'), head('GET /stream'), handshake('/socket')])
      own.push(await hold(front, text));
  }
  expect([(await ask(killed)).status, (await ask(living)).status]).toEqual([429, 429]);
  const { text } = await living.gateway.admin('/api/buckets?address=127.0.0.1');
  expect(JSON.parse(text).atOnce).toEqual([{ bucket: 'all', concurrent: 6, inFlight: 6, shadow: false }]);
  killed.gateway.signal('SIGKILL');
  await killed.gateway.exit;
  expect((await ask(living)).status).toBe(429);

  await ageLeases(redis, 30_001);
  const [key = ''] = await redis.client.keys('*:leases');
  await clock.advanceUntil(
    'the other gateway has renewed its own',
    async () => (await redis.client.zcount(key, String(Date.now()), '+inf')) === 3,
    100,
  );
  for (let place = 0; place < 3; place++) await hold(living, head('GET /held'));
  expect((await ask(living)).status).toBe(429);
  for (const client of own.splice(0)) {
    client.reset();
    await waitFor('a place is free', async () => (await redis.client.zcard(key)) === 5);
    await hold(living, head('GET /held'));
    expect((await ask(living)).status).toBe(429);
  }
});

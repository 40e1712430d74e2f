import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { startGatewayOf } from '../support/identity-gateway.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { redisDecides, startRedisGateway, startRedisGatewayProcess } from '../support/redis-gateway.ts';
import { monitorRedis } from '../support/redis-monitor.ts';
import { head } from '../support/requests.ts';
import { expectNoSecretIn, secret } from '../support/secrets.ts';
import type { TestGateway } from '../support/test-gateway.ts';
import { startIssuer } from '../support/test-issuer.ts';
import { waitFor } from '../support/wait.ts';
import { header, type Response } from '../support/wire/index.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.close());

let prefixes = 0;
/** On a busy machine a response may take its time: here nothing may fall back on the gateways' own counters. */
const newStore = () => ({
  redis: `redis://127.0.0.1:${redis.port}`,
  prefix: `weir:t${prefixes++}:`,
  timeout: '1s',
});

/** Statuses of so many requests at the same time, spread over the gateways. */
async function statusesOf(gateways: readonly TestGateway[], requests: number): Promise<number[]> {
  const asked = Array.from({ length: requests }, async (_, i) => {
    const gateway = gateways[i % gateways.length];
    return (await gateway?.ask(head('GET /'))) ?? null;
  });
  return (await Promise.all(asked)).map(response => response?.status ?? 0);
}

const count = (statuses: readonly number[], status: number) =>
  statuses.filter(each => each === status).length;

test('of 300 parallel requests through three gateways exactly the limit passes', async () => {
  const settings = { store: newStore(), limits: { global: { address: '50/1h' } } };
  const gateways = [
    await startRedisGatewayProcess(settings),
    await startRedisGateway(settings),
    await startRedisGateway(settings),
  ];
  const statuses = await statusesOf(gateways, 300);
  expect(count(statuses, 200)).toBe(50);
  expect(count(statuses, 429)).toBe(250);
});

test('all gateways report one Reset and count down one Remaining', async () => {
  const limits = {
    global: { address: 'off' },
    buckets: { all: { address: '9/1h' } },
    routes: { '/**': 'all' },
  };
  const store = newStore();
  const gateways = [await startRedisGateway({ store, limits }), await startRedisGateway({ store, limits })];
  const responses: (Response | undefined)[] = [];
  for (let i = 0; i < 12; i++) responses.push(await gateways[i % 2]?.ask(head('GET /')));
  const values = (name: string) => responses.map(response => response && header(response, name));
  expect(new Set(values('X-RateLimit-Reset')).size).toBe(1);
  expect(values('X-RateLimit-Remaining')).toEqual([
    '8',
    '7',
    '6',
    '5',
    '4',
    '3',
    '2',
    '1',
    '0',
    '0',
    '0',
    '0',
  ]);
  expect(responses.map(response => response?.status)).toEqual([...Array(9).fill(200), 429, 429, 429]);
});

test('requests for main values beyond what a caller may hold are counted and logged, whichever worker they come to', async () => {
  const gateway = await startRedisGateway({
    store: newStore(),
    limits: {
      global: { address: 'off' },
      keys_per_caller: 16,
      buckets: { things: { main: 'id', address: '100/1h' } },
      routes: { '/things/{id}': 'things' },
    },
    config: { workers: 2 },
  });
  for (let id = 0; id < 20; id++) expect((await gateway.ask(head(`GET /things/${id}`))).status).toBe(200);
  expect(await gateway.metric('weir_limit_caller_overflows_total')).toEqual(new Map([['', 4]]));
  const lines = () => gateway.logLines.map(line => JSON.parse(line)).filter(({ type }) => type === 'limit');
  await gateway.time.advanceUntil('the log names the bucket', () => lines().length > 0);
  expect(lines()).toMatchObject([{ bucket: 'things', standIn: 'caller', decisions: 4 }]);
});

test('each worker has one connection to Redis, and the main thread two', async () => {
  const own = await startRedis();
  onTestFinished(() => own.close());
  const store = { redis: `redis://127.0.0.1:${own.port}`, timeout: '1s' };
  await startRedisGateway({ store, limits: { global: { address: '9/1h' } }, config: { workers: 3 } });
  const others = async () => {
    const clients = String(await own.client.call('CLIENT', 'LIST')).split('\n');
    return clients.filter(client => client.includes(' name=weir ')).length;
  };
  await waitFor('all are connected', async () => (await others()) >= 5);
  expect(await others()).toBe(5);
});

describe('a replica whose clock is an hour ahead, or steps back an hour while it runs,', () => {
  test('admits and reports what the others do, and the difference is logged', async () => {
    const clock = new FrozenClock(Date.now() + 3_600_000);
    const limits = {
      global: { address: 'off' },
      buckets: { all: { address: '9/1h' } },
      routes: { '/**': 'all' },
    };
    const store = newStore();
    const right = await startRedisGateway({ store, limits });
    const wrong = await startRedisGateway({ store, limits, clock });
    const responses = [];
    for (let i = 0; i < 6; i++) {
      if (i === 3) clock.stepWorld(-7_200_000);
      responses.push(await right.ask(head('GET /')), await wrong.ask(head('GET /')));
    }
    expect(responses.map(({ status }) => status)).toEqual([...Array(9).fill(200), 429, 429, 429]);
    expect(new Set(responses.map(response => header(response, 'X-RateLimit-Reset'))).size).toBe(1);
    for (const response of responses)
      expect(Number(header(response, 'X-RateLimit-Reset-After'))).toBeGreaterThan(3_500);
    await clock.advanceUntil('the metric tells', async () => {
      const ahead = (await wrong.metric('weir_store_clock_ahead_seconds')).get('') ?? 0;
      return Math.abs(ahead - 3_600) < 60;
    });
    expect(wrong.logLines.join('')).toContain('"the clocks of Redis and this gateway are far apart');
    expect(right.logLines.join('')).not.toContain('far apart');
  });
});

test('nothing that is sent to Redis holds a token, a secret of a path, an address or a principal', async () => {
  const monitor = await monitorRedis(redis.port);
  const issuer = await startIssuer();
  const webhookSecret = secret('webhook-token-in-the-path-4711');
  const channel = secret('channel-value-in-the-path-0815');
  const subject = secret('subject-of-the-principal-1234');
  const { gateway } = await startGatewayOf(issuer, {
    limits: {
      global: { user: '9/1h', address: '9/1h' },
      buckets: {
        hooks: { main: 'token', address: '2/1h', resource: '1/1h' },
        channels: { main: 'channel', user: '1/1h', resource: '5/1h' },
      },
      routes: { '/hooks/{id}/{token}': 'hooks', '/channels/{channel}': 'channels' },
    },
    routes: [{ path: '/hooks/**', authentication: 'none' }],
    config: { store: newStore() },
  });
  await redisDecides(gateway);
  const bearer = issuer.bearer({ sub: subject });
  for (let i = 0; i < 3; i++) {
    await gateway.ask(head(`GET /channels/${channel}`, bearer));
    await gateway.ask(head(`GET /hooks/1/${webhookSecret}`));
  }
  await waitFor(
    'the decisions are among it',
    () => monitor.commands().filter(line => line.startsWith('"evalsha"')).length > 4,
  );
  monitor.end();
  const sent = monitor.commands();
  const keys = await redis.client.keys('*');
  const values = await Promise.all(keys.map(key => redis.client.get(key).catch(() => '')));
  expectNoSecretIn('what Redis was told', sent.join('\n'));
  expectNoSecretIn('the keys and values of Redis', [...keys, ...values].join('\n'));
  expect([...sent, ...keys].filter(line => line.includes('127.0.0.1'))).toEqual([]);
});

import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TimerClock } from '../../src/core/index.ts';
import { ADMIN_TOKEN, ApiClient } from '../support/admin-api.ts';
import type { ConfigPart } from '../support/gateway.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { startRedisGateway } from '../support/redis-gateway.ts';
import { head } from '../support/requests.ts';
import { tempText } from '../support/temp.ts';
import { clockOfTests } from '../support/test-clock.ts';
import type { TestGateway } from '../support/test-gateway.ts';
import { waitFor } from '../support/wait.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.close());

async function newGateway(
  store: ConfigPart = {},
  limits: ConfigPart = { global: { address: 'off' } },
  clock: TimerClock = clockOfTests(),
) {
  const token_file = await tempText('admin-token', ADMIN_TOKEN);
  const gateway = await startRedisGateway({
    store: { redis: `redis://127.0.0.1:${redis.port}`, timeout: '1s', ...store },
    limits,
    clock,
    config: { listen: { http: '127.0.0.1:0', admin: { address: '127.0.0.1:0', token_file } } },
  });
  return { gateway, api: await ApiClient.of(gateway) };
}

const statusOf = async (gateway: TestGateway) => (await gateway.ask(head('GET /'))).status;

test('an added and a lifted restriction hold at all replicas, also at one that starts later', async () => {
  const [first, second] = [await newGateway(), await newGateway()];
  const body = { address: '127.0.0.1', for: '10m' };
  await first.api.call('POST', '/api/restrictions', { body });
  await waitFor('the other replica refuses', async () => (await statusOf(second.gateway)) === 429);
  const listed = await second.api.call('GET', '/api/restrictions');
  expect(listed.body).toMatchObject({
    total: 1,
    restrictions: [{ reason: 'operator', address: '127.0.0.1' }],
  });
  const { id } = (listed.body as { restrictions: [{ id: string }] }).restrictions[0];
  expect((await second.api.call('DELETE', `/api/restrictions/${id}`)).status).toBe(204);
  expect(await statusOf(second.gateway)).toBe(200);
  await waitFor('the first replica serves', async () => (await statusOf(first.gateway)) === 200);
  const third = await newGateway();
  expect(await statusOf(third.gateway)).toBe(200);
  expect((await third.api.call('GET', '/api/restrictions')).body).toMatchObject({ total: 0 });
});

test('a caller with a fresh allowance is served at all replicas at once, and no longer bound by waits it was told', async () => {
  const limits = {
    global: { address: '3/10m' },
    ignored_refusals: { limit: '1/10m', addresses: true },
    invalid_requests: 'off',
  };
  const store = { prefix: 'weir:reset' };
  const clock = new FrozenClock();
  const [first, second] = [await newGateway(store, limits, clock), await newGateway(store, limits, clock)];
  const both = async () => [await statusOf(first.gateway), await statusOf(second.gateway)];
  expect([await both(), await both()].flat()).toEqual([200, 200, 200, 429]);
  expect(await both()).toEqual([429, 429]);
  const read = await second.api.call('GET', '/api/buckets?address=127.0.0.1');
  expect(read.body).toMatchObject({
    countedIn: 'redis',
    limits: [{ counts: 'global', used: 3, remaining: 0 }],
  });
  // Past the second in which requests in flight are excused.
  clock.advance(1_100);
  const reset = await first.api.call('DELETE', '/api/buckets?address=127.0.0.1');
  expect(reset.body).toMatchObject({ countedIn: 'redis', global: true });
  expect(await statusOf(first.gateway)).toBe(200);
  await waitFor('the other replica serves', async () => (await statusOf(second.gateway)) === 200);
  await waitFor('all is used up', async () => (await statusOf(second.gateway)) === 429);
  for (let i = 0; i < 3; i++) expect(await both()).toEqual([429, 429]);
  // A wait that was ignored would count as an offence, and two of them restrict, as soon as gateways have added theirs up: they have
  // done so for another address, whose offences came later.
  clock.advance(1);
  const localAddress = '127.0.0.9';
  const other = async () => (await first.gateway.ask(head('GET /'), { localAddress })).status;
  await waitFor('the other address is refused', async () => (await other()) === 429);
  clock.advance(1_100);
  expect([await other(), await other()]).toEqual([429, 429]);
  const restricted = async () => (await first.api.call('GET', '/api/restrictions')).body;
  await expect.poll(restricted).toMatchObject({ total: 1, restrictions: [{ address: localAddress }] });
});

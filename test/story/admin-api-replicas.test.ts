import { afterAll, beforeAll, expect, test } from 'vitest';
import { ADMIN_TOKEN, ApiClient } from '../support/admin-api.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { startRedisGateway } from '../support/redis-gateway.ts';
import { head } from '../support/requests.ts';
import { tempText } from '../support/temp.ts';
import type { TestGateway } from '../support/test-gateway.ts';
import { waitFor } from '../support/wait.ts';

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.close());

async function newGateway() {
  const token_file = await tempText('admin-token', ADMIN_TOKEN);
  const gateway = await startRedisGateway({
    store: { redis: `redis://127.0.0.1:${redis.port}`, timeout: '1s' },
    limits: { global: { address: 'off' } },
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

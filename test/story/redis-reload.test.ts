import { expect, onTestFinished, test } from 'vitest';
import { changeLimits, serves } from '../support/edit-config.ts';
import type { LocalGateway } from '../support/gateway.ts';
import { rateOf } from '../support/limits.ts';
import { startRedis } from '../support/redis.ts';
import { startRedisGateway } from '../support/redis-gateway.ts';
import { head } from '../support/requests.ts';

const limits = (bucket: string) => ({
  global: 'off',
  buckets: { all: { address: bucket } },
  routes: { '/**': 'all' },
});

async function remaining(gateway: LocalGateway): Promise<number> {
  const response = await gateway.ask(head('GET /a'));
  return response.status === 200 ? rateOf(response).remaining : -1;
}

test('over a reload counters in Redis stay, a changed number acts at once, and replicas of two generations agree', async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.close());
  const store = { redis: `redis://127.0.0.1:${redis.port}`, timeout: '1s' };
  const one = await startRedisGateway({ store, limits: limits('10/60s') });
  const two = await startRedisGateway({ store, limits: limits('10/60s') });
  expect([await remaining(one), await remaining(two), await remaining(one)]).toEqual([9, 8, 7]);
  // One hears of the new number first: what both have drawn counts under either.
  await changeLimits(one, limits('5/60s'));
  await serves(one, 2);
  expect(await remaining(one)).toBe(1);
  expect(await remaining(two)).toBe(5);
  expect(await remaining(one)).toBe(-1);
  await changeLimits(two, limits('5/60s'));
  await serves(two, 2);
  expect(await remaining(two)).toBe(-1);
  await changeLimits(one, limits('20/60s'));
  await serves(one, 3);
  expect(await remaining(one)).toBe(14);
});

import { expect, onTestFinished, test } from 'vitest';
import { SENTINEL_NAME, startSentinelSet } from '../support/redis.ts';
import { decisionsBy, Load, redisDecides, startRedisGateway } from '../support/redis-gateway.ts';
import { waitFor } from '../support/wait.ts';

test('a failover under load makes no request fail, and the new master decides', async () => {
  const set = await startSentinelSet();
  onTestFinished(() => set.close());
  const gateway = await startRedisGateway({
    store: {
      redis: `redis://${SENTINEL_NAME}`,
      mode: 'sentinel',
      nodes: set.sentinels.map(({ port }) => `127.0.0.1:${port}`),
    },
    limits: { global: { address: '60000/1m' } },
  });
  const [master, replica] = set.servers;
  const load = new Load(gateway);
  await waitFor('some are served', () => load.responses.length > 50);
  await master?.kill();
  await waitFor('the gateway counts by itself', async () => (await decisionsBy(gateway, 'local')) > 50);
  await waitFor('the replica is the master', async () => (await set.masterPort()) === replica?.port);
  await redisDecides(gateway);
  const before = await decisionsBy(gateway, 'redis');
  await waitFor('it is asked', async () => (await decisionsBy(gateway, 'redis')) > before + 50);
  await load.stop();
  expect(load.statuses).toEqual([200]);
  expect(await replica?.client.keys('weir:*')).not.toEqual([]);
});

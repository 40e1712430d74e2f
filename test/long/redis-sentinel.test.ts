import { expect, onTestFinished, test } from 'vitest';
import { SENTINEL_NAME, type SentinelSet, startSentinelSet } from '../support/redis.ts';
import { decisionsBy, Load, redisDecides, startRedisGateway } from '../support/redis-gateway.ts';
import { expectQuotas, quotaLimits, quotaService } from '../support/redis-quotas.ts';
import { head } from '../support/requests.ts';
import { waitFor } from '../support/wait.ts';
import { startUpstream } from '../support/wire/index.ts';

/** How a gateway finds the master. */
const storeOf = ({ sentinels }: SentinelSet) => ({
  redis: `redis://${SENTINEL_NAME}`,
  mode: 'sentinel',
  nodes: sentinels.map(({ port }) => `127.0.0.1:${port}`),
});

test('a failover under load makes no request fail, and the new master decides', async () => {
  const set = await startSentinelSet();
  onTestFinished(() => set.close());
  const gateway = await startRedisGateway({
    store: storeOf(set),
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

test("what was drawn of a day's quotas and costs is drawn at the new master, too", async () => {
  const set = await startSentinelSet();
  onTestFinished(() => set.close());
  const { port: upstreamPort } = await startUpstream(quotaService);
  const gateway = await startRedisGateway({
    store: { ...storeOf(set), timeout: '1s', on_failure: 'closed' },
    limits: quotaLimits(),
    upstreamPort,
  });
  await expectQuotas(gateway);
  const [master, replica] = set.servers;
  // Replicas follow a moment later.
  await master?.client.wait(1, 0);
  await master?.kill();
  await waitFor('the replica is the master', async () => (await set.masterPort()) === replica?.port);
  const statusOf = async (target: string) => (await gateway.ask(head(`GET ${target}`, 'X-Head: 0'))).status;
  await gateway.time.advanceUntil('it decides', async () => (await statusOf('/sold/3')) === 200);
  expect([await statusOf('/sold/1'), await statusOf('/sold/2')]).toEqual([429, 429]);
});

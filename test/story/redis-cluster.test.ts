import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RedisCluster, startRedisCluster } from '../support/redis.ts';
import { decisionsBy, startRedisGateway, storeIsUp } from '../support/redis-gateway.ts';
import { head } from '../support/requests.ts';

let cluster: RedisCluster;
beforeAll(async () => {
  cluster = await startRedisCluster();
});
afterAll(() => cluster.close());

const limits = {
  global: { address: '9999/1h' },
  buckets: { things: { main: 'id', address: '2/1h', resource: '9/1h' } },
  routes: { '/things/{id}': 'things' },
};

const storeOf = () => ({
  ...{ redis: `redis://127.0.0.1:${cluster.servers[0]?.port}`, mode: 'cluster', timeout: '1s' },
});

test('a cluster that names no hosts is reached at the host that was asked', async () => {
  for (const { client } of cluster.servers)
    await client.config('SET', 'cluster-preferred-endpoint-type', 'unknown-endpoint');
  const gateway = await startRedisGateway({ store: storeOf(), limits });
  const statuses = [];
  for (let i = 0; i < 3; i++) statuses.push((await gateway.ask(head('GET /things/1'))).status);
  expect(statuses).toEqual([200, 200, 429]);
  expect(await decisionsBy(gateway, 'redis')).toBe(3);
  for (const { client } of cluster.servers)
    await client.config('SET', 'cluster-preferred-endpoint-type', 'ip');
});

test('a slot that was moved by half is decided by on_failure, and all others by Redis', async () => {
  for (const { client } of cluster.servers) await client.flushall();
  const gateway = await startRedisGateway({ store: storeOf(), limits });
  const ask = async (localAddress: string) =>
    (await gateway.ask(head('GET /things/2'), { localAddress })).status;
  expect(await ask('127.0.0.3')).toBe(200);
  const [from, to] = await nodesOfCaller();
  const key = (await from.client.keys('weir:1:{*}global:*'))[0] ?? '';
  const slot = Number(await from.client.call('cluster', 'keyslot', key));
  const ids = [await from.client.call('cluster', 'myid'), await to.client.call('cluster', 'myid')].map(
    String,
  );
  await to.client.call('cluster', 'setslot', slot, 'importing', ids[0] ?? '');
  await from.client.call('cluster', 'setslot', slot, 'migrating', ids[1] ?? '');
  await from.client.call('migrate', '127.0.0.1', to.port, key, 0, 5_000, 'AUTH2', 'tests', 'tests');
  for (let i = 0; i < 6; i++) await ask('127.0.0.3');
  expect(await decisionsBy(gateway, 'local')).toBe(6);
  expect(await storeIsUp(gateway)).toBe(1);
  const before = await decisionsBy(gateway, 'redis');
  expect(await ask('127.0.0.4')).toBe(200);
  expect(await decisionsBy(gateway, 'redis')).toBe(before + 1);
});

test('a cluster that lacks a slot is decided by on_failure, and by Redis again once it is whole', async () => {
  const gateway = await startRedisGateway({ store: storeOf(), limits });
  const isUp = (up: number) => async () => {
    expect((await gateway.ask(head('GET /'), { localAddress: '127.0.0.5' })).status).toBe(200);
    return (await storeIsUp(gateway)) === up;
  };
  // CLUSTERDOWN, of every slot.
  for (const { client } of cluster.servers) await client.call('cluster', 'delslots', 0);
  await gateway.time.advanceUntil('the outage shows', isUp(0));
  expect(gateway.logLines.join('')).toContain('CLUSTERDOWN');
  await cluster.servers[0]?.client.call('cluster', 'addslots', 0);
  await gateway.time.advanceUntil('Redis decides again', isUp(1));
});

/** The node that holds what is counted of the one caller of now, and another. */
async function nodesOfCaller() {
  for (const [at, server] of cluster.servers.entries()) {
    const other = cluster.servers[(at + 1) % cluster.servers.length];
    const held = await server.client.keys('weir:1:{*}global:*');
    if (held.length > 0 && other !== undefined) return [server, other] as const;
  }
  throw new Error('no node counts the caller');
}

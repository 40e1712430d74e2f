import { afterAll, beforeAll, expect, test } from 'vitest';
import { PROBED_TAGS } from '../../src/limits/redis/connection/redis-connection.ts';
import { type RedisCluster, startRedisCluster } from '../support/redis.ts';
import { decisionsBy, Load, redisDecides, startRedisGateway, storeIsUp } from '../support/redis-gateway.ts';
import { head } from '../support/requests.ts';
import { waitFor } from '../support/wait.ts';
import { header } from '../support/wire/index.ts';

let cluster: RedisCluster;
beforeAll(async () => {
  cluster = await startRedisCluster();
});
afterAll(() => cluster.close());

let prefixes = 0;
const newStore = () => {
  const [first] = cluster.servers;
  const prefix = `weir:t${prefixes++}:`;
  // On a busy machine a response may take its time.
  return { redis: `redis://127.0.0.1:${first?.port}`, mode: 'cluster', prefix, timeout: '1s' };
};
const limits = {
  global: { address: '40/1h' },
  buckets: { things: { main: 'id', address: '4/1h', resource: '6/1h' } },
  routes: { '/things/{id}': 'things' },
};

test('two gateways on a cluster share every limit, also those of resources on other nodes', async () => {
  const store = newStore();
  const [one, two] = [await startRedisGateway({ store, limits }), await startRedisGateway({ store, limits })];
  // 127.0.0.1 and 127.0.0.2 are two callers.
  const statuses = async (id: number, localAddress: string) => {
    const asked = Array.from({ length: 10 }, (_, i) =>
      (i % 2 === 0 ? one : two).ask(head(`GET /things/${id}`), { localAddress }),
    );
    return (await Promise.all(asked)).map(({ status }) => status).sort();
  };
  for (let id = 0; id < 5; id++) {
    expect(await statuses(id, '127.0.0.1')).toEqual([...Array(4).fill(200), ...Array(6).fill(429)]);
    expect(await statuses(id, '127.0.0.2')).toEqual([...Array(2).fill(200), ...Array(8).fill(429)]);
  }
  // Refusals by the resource gave the callers' units back: 2 of 4 are left, and of the global limit 40 - 5 * 2.
  const response = await one.ask(head('GET /things/99'), { localAddress: '127.0.0.2' });
  expect(response.status).toBe(200);
  const keys = (
    await Promise.all(cluster.servers.map(({ client }) => client.keys(`${store.prefix}*global*`)))
  ).flat();
  const drawn = await Promise.all(
    keys.map(async key => {
      const values = await Promise.all(
        cluster.servers.map(({ client }) => client.get(key).catch(() => null)),
      );
      return Number(values.find(value => value !== null)?.split(' ')[1]);
    }),
  );
  expect(drawn.sort((a, b) => a - b)).toEqual([11, 20]);
  expect(header(response, 'X-RateLimit-Remaining')).toBe('3');
});

test('a resource limit with other numbers in shadow, and callers with too many main values, are decided by the cluster', async () => {
  const gateway = await startRedisGateway({
    store: newStore(),
    limits: {
      global: { address: '1000/1h' },
      // Four main values, each with a counter that holds and one in shadow.
      keys_per_caller: 8,
      buckets: { things: { main: 'id', resource: '2/1h', shadow: { resource: '1/1h' } } },
      routes: { '/things/{id}': 'things' },
    },
  });
  const ask = async (id: number, localAddress: string) =>
    (await gateway.ask(head(`GET /things/${id}`), { localAddress })).status;
  const statuses: number[] = [];
  for (let id = 0; id < 12; id++) statuses.push(await ask(id, '127.0.0.1'));
  expect(await decisionsBy(gateway, 'local')).toBe(0);
  expect([statuses.filter(status => status === 429).length, await ask(99, '127.0.0.2')]).toEqual([
    12 - 4 - 2,
    200,
  ]);
});

test('each node of a cluster is probed', async () => {
  const slots = await Promise.all(
    PROBED_TAGS.map(tag => cluster.servers[0]?.client.cluster('KEYSLOT', `weir:1:{${tag}}probe`)),
  );
  expect(slots.map(slot => Math.floor(Number(slot) / 1_024))).toEqual(PROBED_TAGS.map((_, i) => i));
});

test('a cluster that loses two nodes makes no request fail, and is used again when it is whole', async () => {
  const gateway = await startRedisGateway({ store: newStore(), limits: { global: { address: '60000/1m' } } });
  const load = new Load(gateway);
  await waitFor('some are served', () => load.responses.length > 50);
  cluster.servers[0]?.freeze();
  cluster.servers[1]?.freeze();
  await waitFor('the outage shows', async () => (await storeIsUp(gateway)) === 0);
  await waitFor('the gateway counts by itself', async () => (await decisionsBy(gateway, 'local')) > 50);
  for (const server of cluster.servers) server.thaw();
  // The nodes themselves take a while until they agree that all are there.
  await redisDecides(gateway);
  await load.stop();
  expect(load.statuses).toEqual([200]);
});

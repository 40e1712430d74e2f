import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { type RedisServer, startRedis } from '../../support/redis.ts';
import { waitFor } from '../../support/wait.ts';
import { NODE_ADDRESS } from '../kubelet/network.ts';
import { Gateways, type Values } from './gateways.ts';
import { report } from './report.ts';
import { SteadyLoad } from './steady-load.ts';
import { CountingUpstream } from './upstream.ts';

/** More than the load takes while the pods change, so that it is used up only afterwards. */
const QUOTA = 6_000;

let gateways: Gateways;
let redis: RedisServer;
let upstream: CountingUpstream;

beforeAll(async () => {
  [gateways, redis, upstream] = await Promise.all([
    Gateways.open(),
    startRedis('--bind', '127.0.0.1', NODE_ADDRESS, '--protected-mode', 'no'),
    CountingUpstream.start(),
  ]);
});

afterAll(async () => {
  await gateways.close();
  await redis.close();
  upstream.close();
});

/** Two replicas that share one limit for everybody here: all clients of this test have one address. */
function valuesOf(tag: string): Values {
  return {
    image: { tag },
    replicas: 2,
    preStopSleepSeconds: 1,
    config: {
      trusted_proxies: 'none',
      listen: { http: { address: '0.0.0.0:8080', h2c: true } },
      // Patient, because the machine of a test may be busy: what Redis does not decide in time, each gateway decides alone.
      store: { redis: `redis://redis:${redis.port}`, timeout: '1s' },
      upstreams: { api: { url: 'http://upstream:3000' } },
      routes: [{ path: '/**', upstream: 'api', authentication: 'none' }],
      log: { access: false },
    },
    limits: {
      global: 'off',
      invalid_requests: 'off',
      ignored_refusals: 'off',
      buckets: { quota: { address: `${QUOTA}/1h`, user: `${QUOTA}/1h` } },
      routes: { '/limited': 'quota' },
    },
  };
}

it('loses no request and admits exactly the quota while two replicas are replaced under load', async () => {
  gateways.cluster.addHost('redis', NODE_ADDRESS);
  gateways.cluster.addHost('upstream', NODE_ADDRESS);
  await gateways.install(valuesOf('one'));
  await gateways.rolledOut();
  const before = [...gateways.deployment.pods];
  const load = new SteadyLoad(gateways.origin, '/limited');
  onTestFinished(() => load.stop());
  await waitFor('load arrives at both replicas', () => upstream.byPod.size === 2);

  // A download that began before the change and lasts until its pod is on its way out.
  const download = fetch(`${gateways.origin}/slow/8`).then(response => response.text());
  await gateways.install(valuesOf('two'));
  await gateways.rolledOut();
  const after = gateways.deployment.pods;
  await waitFor('load arrives at the new replicas', () => upstream.byPod.size === 4);

  expect(await download).toMatch(/end\n$/);
  expect(after.filter(pod => before.includes(pod))).toEqual([]);
  expect(await Promise.all(before.map(pod => pod.containers.at(-1)?.exit))).toEqual([0, 0]);
  expect([...before, ...after].map(({ restarts }) => restarts)).toEqual([0, 0, 0, 0]);
  expect(upstream.requests, 'the quota outlasts the change').toBeLessThan(QUOTA);

  await load.stop();
  report(before, after, load);
  expect(load.lost).toEqual([]);
  const afterwards = await askMany(gateways.origin, QUOTA + 200 - load.responses);
  const admitted = (load.statuses.get(200) ?? 0) + (afterwards.get(200) ?? 0);
  const refused = (load.statuses.get(429) ?? 0) + (afterwards.get(429) ?? 0);
  expect({ admitted, refused }).toEqual({ admitted: QUOTA, refused: 200 });
});

/** Sends this many requests to the limited path and counts the responses by status. */
async function askMany(origin: string, count: number): Promise<ReadonlyMap<number, number>> {
  const statuses = new Map<number, number>();
  let sent = 0;
  const client = async (): Promise<void> => {
    while (sent < count) {
      sent++;
      const response = await fetch(`${origin}/limited`);
      await response.text();
      statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: 16 }, client));
  return statuses;
}

import { expect, onTestFinished, test } from 'vitest';
import type { GatewayProcess } from '../support/gateway-process.ts';
import {
  type RedisServer,
  SENTINEL_NAME,
  startRedis,
  startRedisCluster,
  startSentinelSet,
} from '../support/redis.ts';
import { startRedisGatewayProcess, storeIsUp } from '../support/redis-gateway.ts';
import { head } from '../support/requests.ts';
import { Account, type Outcome } from './account.ts';
import { expectAtRest, type Fault, underFault } from './fault.ts';
import { Load } from './load.ts';
import { startRelay } from './relay.ts';
import { frontOf, startService } from './service.ts';
import { tell } from './table.ts';

/** A Redis of one kind, and what goes wrong with it. */
interface Trouble extends Pick<Fault, 'begin' | 'end'> {
  /** Keys of `store`. */
  readonly store: Readonly<Record<string, unknown>>;
  /** How many of 30 requests pass whose limit is 20 an hour: before, meanwhile and after. */
  readonly passes: readonly [before: number, meanwhile: number, after: number];
  readonly mayEnd?: readonly Outcome[];
}

async function started(): Promise<RedisServer> {
  const redis = await startRedis();
  onTestFinished(() => redis.close());
  return redis;
}

/** Each gateway counts anew while Redis is away; Redis goes on where it was. */
const KEPT = [20, 20, 0] as const;
const LOST = [20, 20, 20] as const;

const TROUBLES: Readonly<Record<string, () => Promise<Trouble>>> = {
  'Redis is killed, and started empty': () => killed({}),
  'Redis is killed, `on_failure: open`': () => killed({ on_failure: 'open' }, [20, 30, 20]),
  'Redis is killed, `on_failure: closed`': () =>
    killed({ on_failure: 'closed' }, [20, 0, 20], ['503', 'UNAVAILABLE']),
  'Redis is stopped (SIGSTOP), and goes on': async () => {
    const redis = await started();
    return { store: at(redis.port), begin: () => redis.freeze(), end: () => redis.thaw(), passes: KEPT };
  },
  'Redis answers a second late': async () => {
    const relay = await startRelay((await started()).port);
    const late = (delayMs: number) => () => {
      relay.delayMs = delayMs;
    };
    return { store: at(relay.port), begin: late(1_000), end: late(0), passes: KEPT };
  },
  'Redis is out of memory': async () => {
    const { port, client } = await started();
    const room = (bytes: number) => () => client.config('SET', 'maxmemory', bytes);
    return { store: at(port), begin: room(1), end: room(0), passes: KEPT };
  },
  'Redis becomes read-only': async () => {
    const { port, client } = await started();
    const begin = () => client.replicaof('127.0.0.1', 1);
    return { store: at(port), begin, end: () => client.replicaof('NO', 'ONE'), passes: KEPT };
  },
  'Redis fails over by Sentinel': async () => {
    const set = await startSentinelSet();
    onTestFinished(() => set.close());
    const nodes = set.sentinels.map(({ port }) => `127.0.0.1:${port}`);
    const store = { redis: `redis://${SENTINEL_NAME}`, mode: 'sentinel', nodes, timeout: '700ms' };
    return { store, begin: () => set.servers[0]?.kill(), end: () => {}, passes: KEPT };
  },
  'Redis Cluster fails over': async () => {
    const cluster = await startRedisCluster();
    onTestFinished(() => cluster.close());
    await cluster.addReplica();
    const store = { ...at(cluster.servers[1]?.port ?? 0), mode: 'cluster' };
    return { store, begin: () => cluster.servers[0]?.kill(), end: () => {}, passes: KEPT };
  },
};

function at(port: number): Trouble['store'] {
  return { redis: `redis://127.0.0.1:${port}`, timeout: '700ms' };
}

async function killed(
  store: Trouble['store'],
  passes: Trouble['passes'] = LOST,
  mayEnd: readonly Outcome[] = [],
): Promise<Trouble> {
  const redis = await started();
  const [begin, end] = [() => redis.kill(), () => redis.start()];
  return { store: { ...at(redis.port), ...store }, begin, end, passes, mayEnd };
}

const LIMITS = {
  global: { address: '60000/1m' },
  buckets: { metered: { address: '20/1h' } },
  routes: { '/metered': 'metered' },
};

/** How many of 30 requests pass whose limit is 20 an hour. */
async function passing(gateway: GatewayProcess): Promise<number> {
  const client = await gateway.connect({ localAddress: '127.0.0.9' });
  let passed = 0;
  for (let i = 0; i < 30; i++) if ((await client.ask(head('GET /metered'))).status === 200) passed++;
  client.destroy();
  return passed;
}

test.each(Object.entries(TROUBLES))('%s', async (name, make) => {
  const { store, begin, end, passes, mayEnd = [] } = await make();
  const account = new Account();
  const config = frontOf([await startService(account)], {
    routes: [{ path: '/metered', authentication: 'none', respond: { status: 200 } }],
  });
  const gateway = await startRedisGatewayProcess(
    { store, limits: LIMITS, config, upstreamPort: 0 },
    { h2c: true },
  );
  const passed = [await passing(gateway)];
  const load = new Load(account, [gateway.port]);
  const seen = await underFault(load, {
    begin,
    isNoticed: async () => (await storeIsUp(gateway)) === 0,
    meanwhile: async () => void passed.push(await passing(gateway)),
    end,
    isHealed: async () => (await storeIsUp(gateway)) === 1,
    mayEnd,
  });
  passed.push(await passing(gateway));
  await expectAtRest(load, [gateway]);
  expect(passed).toEqual(passes);
  // What Redis refuses of work that no request waits for is told by the name of the work, and is no change.
  const [first, ...changes] = gateway.output
    .split('\n')
    .filter(line => line.includes('"type":"store"') && !/"task":|still unreachable/.test(line));
  expect(first).toContain('Redis counts the limits');
  for (const [index, line] of changes.entries())
    expect(line).toContain(index % 2 === 0 ? 'Redis is unreachable' : 'Redis is reachable again');
  tell(name, seen, mayEnd);
});

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/core/index.ts';
import { defineConcurrency } from '../../src/limits/index.ts';
import {
  REPLY_FORMAT,
  RedisConnection,
  type RedisScript,
  Replicas,
} from '../../src/limits/redis/connection/index.ts';
import type { RedisStoreDependencies } from '../../src/limits/redis/index.ts';
import { FORMAT, formatPrefix } from '../../src/limits/redis/options.ts';
import { Board } from '../../src/limits/redis/sharing/board.ts';
import { POST, READ } from '../../src/limits/redis/sharing/board-scripts.ts';
import { DECIDE, HOLD, REFUND } from '../../src/limits/redis/store/counter-scripts.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { limit, limits } from '../unit/limits/stores.ts';
import { EarlierGateway } from './earlier-gateway.ts';
import { storeOn } from './parts.ts';
import { TimedRunner } from './timed-runner.ts';

/**
 * What gateways of format 1 keep in Redis after the history below. Gateways of a later version read it during a rolling upgrade. If
 * this test fails, either undo the change, or raise FORMAT in src/limits/redis/options.ts, record here what is kept now, and tell operators
 * in UPGRADE.md.
 */
const FORMAT_1: Readonly<Record<string, string | readonly string[]>> = {
  'weir:1:{board}:ends': ['restricted:address:x', '1000600000'],
  'weir:1:{board}:news': ['restricted:address:x', '1'],
  'weir:1:{board}:state': 'board-1:1',
  'weir:1:{board}:values': ['restricted:address:x', '7'],
  'weir:1:{dnMhs2c_WQ_MS1tEGvuq3n}caller:window:1000:5VWuRtPLcJX:0PYxyh3bqNs7z8ueBXzcmN:leases': [
    'gateway:1',
    '1000030000',
  ],
  'weir:1:{dnMhs2c_WQ_MS1tEGvuq3n}caller:window:5000:WP9L5sWeauL:0PYxyh3bqNs7z8ueBXzcmN': '1000005000 1',
  'weir:1:{dnMhs2c_WQ_MS1tEGvuq3n}global:window:1000:tvyqWwryAoi': '1000001000 1',
  'weir:1:{dnMhs2c_WQ_MS1tEGvuq3n}parts': [
    // A gateway that lists no resources counts those that are listed as it counts the others.
    'weir:1:{resource:smooth:10000:4X2OYeFkLiQ:0PYxyh3bqNs7z8ueBXzcmN}',
    '1000002500',
    'weir:1:{dnMhs2c_WQ_MS1tEGvuq3n}caller:window:5000:WP9L5sWeauL:0PYxyh3bqNs7z8ueBXzcmN',
    '1000005000',
  ],
  'weir:1:{resource:smooth:10000:4X2OYeFkLiQ:0PYxyh3bqNs7z8ueBXzcmN}': '1000002500 0 1000002500',
};

type StoreConnection = RedisStoreDependencies['connection'];

const SET = limits({
  concurrent: defineConcurrency('b', 'channel_id', 2),
  global: limit('6/1s', { role: 'global', bucket: '' }),
  caller: limit('3/5s', { main: 'channel_id' }),
  resource: limit('4/10s', { role: 'resource', main: 'channel_id', algorithm: 'smooth' }),
});

let server: RedisServer;
let runner: TimedRunner;
const clock = { ...systemClock, epochMs: () => 0, monotonicMs: () => runner.nowMs };

beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.close());
beforeEach(async () => {
  await server.client.flushall();
  runner = new TimedRunner(server.client, formatPrefix('weir:'), false);
  for (const script of [DECIDE, HOLD, REFUND, POST, READ]) await runner.load(script);
  runner.nowMs = 1_000_000_000;
});

test('what gateways keep in Redis is what the number of its format stands for', async () => {
  await storeOn(runner, { id: 'gateway' }, clock).decide(SET, 'user:a', 'c1');
  await postFact();
  expect({ format: FORMAT, kept: await everything() }).toEqual({ format: 1, kept: FORMAT_1 });
});

test('a gateway goes on counting where one of another version of this format has stopped', async () => {
  await restore();
  const decision = await storeOn(runner, {}, clock).decide(SET, 'user:a', 'c1');
  expect(decision).toMatchObject({ admitted: true, remaining: 1 });
});

test('a gateway reads the facts that one of another version of this format has posted', async () => {
  await restore();
  const learned: unknown[] = [];
  const reading = board();
  reading.join('restricted', { learn: fact => void learned.push(fact), everything: () => [] });
  reading.look();
  await expect.poll(() => learned).toEqual([{ name: 'address:x', value: 7, forMs: 600_000 }]);
});

/** Redis as a gateway finds it whose replies of these scripts have the next format. */
function withNextFormat(scripts: readonly RedisScript[], isCluster = false): StoreConnection {
  return {
    isCluster,
    prefix: runner.prefix,
    run(script, keys, args, reply) {
      runner.run(script, keys, args.map(String), (error, value) =>
        reply(error, scripts.includes(script) ? inNextFormat(value) : value),
      );
    },
  };
}

function inNextFormat(reply: unknown): unknown {
  const [first, ...rest] = reply as readonly number[];
  return [Number(first) + REPLY_FORMAT / FORMAT, ...rest];
}

/** A gateway there, and what it was told of failures. */
function gatewayOn(connection: StoreConnection, parts: Partial<RedisStoreDependencies> = {}) {
  const told: string[] = [];
  const health = {
    isShared: true,
    failed: ({ message }: Error) => void told.push(`decide: ${message}`),
    mention: ({ message }: Error, task: string) => void told.push(`${task}: ${message}`),
  };
  return { store: storeOn(connection, { health, ...parts }, clock), told };
}

const unreadable = (task: string, script = 'limit') =>
  `${task}: Redis gave a reply of format ${FORMAT + 1} to the ${script} script, and this gateway reads format ${FORMAT}`;

describe('a reply of another format is not read', () => {
  test.each(['decide', 'peek'] as const)('to %s: the policy decides', async kind => {
    const { store, told } = gatewayOn(withNextFormat([DECIDE]), { policy: 'closed' });
    expect(await store[kind](SET, 'user:a', 'c1')).toMatchObject({
      admitted: false,
      role: null,
      place: null,
    });
    expect(told).toEqual([unreadable('decide')]);
  });

  test.each([
    ['limits', DECIDE, [SET.caller], []],
    ['requests in flight', HOLD, [], [SET.concurrent]],
  ])('to show %s: nothing is shown, and the error names the format', async (_what, script, of, inFlight) => {
    const { store, told } = gatewayOn(withNextFormat([script]));
    const [limits, concurrent] = [of, inFlight].map(each => each.filter(limit => limit !== null));
    expect(await store.allowances.read(limits ?? [], 'user:a', 'c1', concurrent)).toBeNull();
    expect(told).toEqual([unreadable('read what is left', 'allowance')]);
  });

  test('to reset: the reset has failed', async () => {
    const { store, told } = gatewayOn(withNextFormat([HOLD]));
    expect(await store.allowances.reset([limit('3/5s')], 'user:a', '')).toBeNull();
    expect(told).toEqual([unreadable('reset counters', 'allowance')]);
  });

  test('to return units', async () => {
    const { store, told } = gatewayOn(withNextFormat([REFUND]));
    store.refund(limit('3/5s'), '', 1_000_005_000, 1, 'user:a');
    await expect.poll(() => told).toEqual([unreadable('return units')]);
  });

  test('to undo a step, nor to note a counter', async () => {
    const { store, told } = gatewayOn(withNextFormat([REFUND, HOLD], true));
    const own = limit('3/5s', { main: 'id' });
    const resource = limit('1/5s', { role: 'resource', main: 'id' });
    const decide = () => store.decide(limits({ caller: own, resource }), 'user:a', 'c1');
    expect([(await decide()).admitted, (await decide()).admitted]).toEqual([true, false]);
    await expect
      .poll(() => told)
      .toEqual([unreadable('note an opened counter'), unreadable('return the units of a refused request')]);
  });

  test('to renew and to end a lease, which ends by itself', async () => {
    const { store, told } = gatewayOn(withNextFormat([HOLD]));
    const { place } = await store.decide(limits({ concurrent: SET.concurrent }), 'user:a', 'c1');
    runner.nowMs += 10_000;
    store.renewLeases();
    place?.leave();
    await expect.poll(() => told).toEqual([unreadable('renew leases'), unreadable('end leases')]);
  });

  test('to a heartbeat: the number of gateways stays', async () => {
    const connection = { prefix: '', script: async () => inNextFormat([REPLY_FORMAT, runner.nowMs, 7]) };
    const replicas = new Replicas(connection as unknown as RedisConnection, { clock, id: 'id', hint: 2 });
    await expect(replicas.beat()).rejects.toThrow(unreadable('', 'heartbeat').slice(2));
    expect(replicas.count).toBe(2);
  });

  test('to a look at the board: nothing is learnt', async () => {
    await postFact();
    const [learnt, told]: string[][] = [[], []];
    const reading = board(withNextFormat([READ]), ({ message }) => void told?.push(`read: ${message}`));
    reading.join('restricted', { learn: fact => void learnt?.push(fact.name), everything: () => [] });
    reading.look();
    await expect.poll(() => told).toEqual([unreadable('read', 'board')]);
    expect([learnt, reading.isLoaded]).toEqual([[], false]);
  });
});

test('gateways of this version, of the one before and of another format admit together no more than the limit', async () => {
  await EarlierGateway.load(runner);
  const set = limits({ caller: limit('10/60s') });
  const foreign = gatewayOn(withNextFormat([DECIDE, HOLD, REFUND]), { policy: 'closed' });
  const gateways = [foreign.store, storeOn(runner, {}, clock), new EarlierGateway(runner)];
  const admitted = [0, 0, 0];
  for (let round = 0; round < 12; round++)
    for (const [at, gateway] of gateways.entries())
      if ((await gateway.decide(set, 'user:a', '')).admitted) admitted[at] = (admitted[at] ?? 0) + 1;
  // What the others draw is lost to those that could be admitted: ten units for three gateways.
  expect(admitted).toEqual([0, 3, 3]);
});

test('gateways of another format admit together no more than the limit where each counts its share', async () => {
  const set = limits({ caller: limit('10/60s') });
  const gateways = [0, 1].map(() => gatewayOn(withNextFormat([DECIDE]), { replicas: () => 2 }));
  let admitted = 0;
  for (let round = 0; round < 12; round++)
    for (const { store } of gateways) if ((await store.decide(set, 'user:a', '')).admitted) admitted++;
  expect(admitted).toBe(10);
});

test('the version of the format stands in every name, after the prefix that the operator chose', async () => {
  const { host = '', port = 0 } = server.client.options;
  const options = {
    servers: { kind: 'standalone', address: { host, port }, database: 0 },
    credentials: { user: null, password: null },
    tls: null,
    prefix: 'mine:',
    budgetMs: 1_000,
  } as const;
  const connection = new RedisConnection(options, { clock: systemClock });
  expect(connection.prefix).toBe(`mine:${FORMAT}:`);
  connection.stop();
});

function board(
  connection: Pick<RedisConnection, 'run'> = runner,
  mention: (error: Error) => void = error => {
    throw error;
  },
): Board {
  return new Board({
    connection: {
      prefix: runner.prefix,
      script: (script, keys, ...args) =>
        new Promise((resolve, reject) => {
          connection.run(script, keys, args.map(String), (error, value) =>
            error ? reject(error) : resolve(value),
          );
        }),
      subscribe() {},
    },
    onSubscribed: () => {},
    onFault(_facts, error) {
      throw error;
    },
    health: { isShared: true, mention },
    clock,
    newId: () => 'board-1',
  });
}

async function postFact(): Promise<void> {
  const posting = board();
  posting.join('restricted', { learn() {}, everything: () => [] });
  posting.post({ name: 'restricted:address:x', value: 7, forMs: 600_000 });
  await expect.poll(() => posting.outgoing).toBe(0);
}

/** Strings as they are; sorted sets as members and scores. */
async function everything(): Promise<Record<string, string | readonly string[]>> {
  const kept: [string, string | readonly string[]][] = [];
  for (const key of (await server.client.keys('*')).sort()) {
    const isText = (await server.client.type(key)) === 'string';
    kept.push([
      key,
      isText
        ? String(await server.client.get(key))
        : await server.client.zrange(key, '0', '-1', 'WITHSCORES'),
    ]);
  }
  return Object.fromEntries(kept);
}

async function restore(): Promise<void> {
  for (const [key, kept] of Object.entries(FORMAT_1)) {
    if (typeof kept === 'string') await server.client.set(key, kept);
    else
      for (let at = 0; at < kept.length; at += 2)
        await server.client.zadd(key, Number(kept[at + 1]), `${kept[at]}`);
  }
}

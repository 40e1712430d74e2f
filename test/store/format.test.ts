import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../src/core/index.ts';
import { defineConcurrency } from '../../src/limits/index.ts';
import { RedisConnection } from '../../src/limits/redis/connection/index.ts';
import { FORMAT, formatPrefix } from '../../src/limits/redis/options.ts';
import { Board } from '../../src/limits/redis/sharing/board.ts';
import { POST, READ } from '../../src/limits/redis/sharing/board-scripts.ts';
import { DECIDE, HOLD, REFUND } from '../../src/limits/redis/store/counter-scripts.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { limit, limits } from '../unit/limits/stores.ts';
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

function board(): Board {
  return new Board({
    connection: {
      prefix: runner.prefix,
      script: (script, keys, ...args) =>
        new Promise((resolve, reject) => {
          runner.run(script, keys, args.map(String), (error, value) =>
            error ? reject(error) : resolve(value),
          );
        }),
      subscribe() {},
    },
    onSubscribed: () => {},
    onFault(_facts, error) {
      throw error;
    },
    health: {
      isShared: true,
      mention(error) {
        throw error;
      },
    },
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

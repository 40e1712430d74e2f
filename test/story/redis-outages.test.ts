import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { LocalGateway } from '../support/gateway.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { decisionsBy, Load, startRedisGateway, storeIsUp } from '../support/redis-gateway.ts';
import { head } from '../support/requests.ts';
import { areWhole, runs } from '../support/runs.ts';
import { waitFor } from '../support/wait.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

const PLENTY = { global: { address: '10000000/1m' } };

let redis: RedisServer;
beforeEach(async () => {
  redis = await startRedis();
});
afterEach(() => redis.close());

/** On a busy machine a response may take more than the usual 50 ms. */
const store = (timeout = '200ms') => ({ redis: `redis://127.0.0.1:${redis.port}`, timeout });

const comesBack = (gateway: LocalGateway) =>
  gateway.time.advanceUntil('Redis decides', async () => (await storeIsUp(gateway)) === 1);

/** What goes wrong, and how it is put right again. */
const troubles: readonly [
  string,
  (server: RedisServer) => Promise<unknown>,
  (server: RedisServer) => Promise<unknown>,
][] = [
  ['is killed and started again', server => server.kill(), server => server.start()],
  ['stops and goes on', async server => server.freeze(), async server => server.thaw()],
  [
    'becomes a read-only replica and a master again',
    server => server.client.replicaof('127.0.0.1', 1),
    server => server.client.replicaof('NO', 'ONE'),
  ],
  [
    'is out of memory and has some again',
    server => server.client.config('SET', 'maxmemory', '1'),
    server => server.client.config('SET', 'maxmemory', '0'),
  ],
  [
    'lacks the replicas that a write needs and gets along without them again',
    server => server.client.config('SET', 'min-replicas-to-write', '1'),
    server => server.client.config('SET', 'min-replicas-to-write', '0'),
  ],
  [
    'becomes a replica that answers nothing while its master is away, and a master again',
    async server => {
      await server.client.config('SET', 'replica-serve-stale-data', 'no');
      await server.client.replicaof('127.0.0.1', 1);
    },
    server => server.client.replicaof('NO', 'ONE'),
  ],
  [
    'loads the data of a new master, and becomes one',
    async server => {
      const master = await startRedis();
      onTestFinished(() => master.close());
      await master.client.call('mset', ...Array.from({ length: 5_000 }, (_, at) => [`key${at}`, at]).flat());
      await server.client.config('SET', 'loading-process-events-interval-bytes', '1024');
      // It takes ten seconds, unless it is told to go faster; then it is a replica that only reads.
      await server.client.config('SET', 'key-load-delay', '2000');
      await server.client.replicaof('127.0.0.1', master.port);
      await waitFor('it loads', async () => (await server.client.info('persistence')).includes('loading:1'));
    },
    async server => {
      await server.client.config('SET', 'key-load-delay', '0');
      await waitFor('it has loaded', async () =>
        (await server.client.info()).includes('master_link_status:up'),
      );
      await server.client.replicaof('NO', 'ONE');
    },
  ],
];

/** One whose connections break, and one that answers with an error. */
const FIRST = ['is killed and started again', 'is out of memory and has some again'];

describe.each(troubles.filter(([what]) => areWhole || FIRST.includes(what)))(
  'a Redis that %s, under load,',
  (_what, breakIt, mend) => {
    test('makes no request fail: the gateway counts by itself and comes back', async () => {
      const gateway = await startRedisGateway({ store: store(), limits: PLENTY });
      const load = new Load(gateway);
      await waitFor('some are served', () => load.responses.length > 50);
      await breakIt(redis);
      await gateway.time.advanceUntil(
        'the gateway counts by itself',
        async () => (await decisionsBy(gateway, 'local')) > 50,
      );
      await gateway.time.advanceUntil('the outage shows', async () => (await storeIsUp(gateway)) === 0);
      const down = await decisionsBy(gateway, 'local');
      await gateway.time.advanceUntil(
        'it goes on',
        async () => (await decisionsBy(gateway, 'local')) > down + 50,
      );
      await mend(redis);
      await comesBack(gateway);
      const before = await decisionsBy(gateway, 'redis');
      await gateway.time.advanceUntil(
        'Redis is asked again',
        async () => (await decisionsBy(gateway, 'redis')) > before + 50,
      );
      await load.stop();
      expect(load.statuses).toEqual([200]);
      const [first, ...changes] = gateway.logLines
        // Redis has a clock of its own, which the test does not move.
        .filter(
          line => line.includes('"type":"store"') && !/the clocks of Redis|still unreachable/.test(line),
        )
        .map(line => JSON.parse(line).msg);
      expect(first).toBe('Redis counts the limits');
      expect(changes.length).toBeGreaterThan(1);
      // One line for each change, however often a busy machine makes one.
      const there = 'Redis is unreachable: this gateway counts alone, with its share of each limit';
      const back = 'Redis is reachable again and counts the limits';
      expect(changes).toEqual(changes.map((_, at) => (at % 2 === 0 ? there : back)));
    });
  },
);

test('no client notices a SCRIPT FLUSH under load', async () => {
  const gateway = await startRedisGateway({ store: store('1s'), limits: PLENTY });
  const load = new Load(gateway);
  for (let i = 0; i < 5; i++) {
    await waitFor('some are served', () => load.responses.length > 50 * (i + 1));
    await redis.client.script('FLUSH');
  }
  await load.stop();
  expect(load.statuses).toEqual([200]);
  expect(await decisionsBy(gateway, 'local')).toBe(0);
});

test('a Redis that answers late is not waited for', async () => {
  const gateway = await startRedisGateway({ store: store(), limits: PLENTY });
  const load = new Load(gateway);
  await waitFor('some are served', () => load.responses.length > 50);
  // Whatever is asked meanwhile is answered then.
  for (let i = 0; i < runs(3, 1); i++) {
    redis.freeze();
    await gateway.time.advanceUntil(
      'the gateway counts by itself',
      async () => (await storeIsUp(gateway)) === 0,
    );
    const before = await decisionsBy(gateway, 'local');
    await gateway.time.advanceUntil(
      'nobody waits',
      async () => (await decisionsBy(gateway, 'local')) > before + 50,
    );
    redis.thaw();
    await comesBack(gateway);
  }
  await load.stop();
  expect(load.statuses).toEqual([200]);
});

test('a limit that is shared by two gateways is halved by each of them alone, and the headers say so', async () => {
  const limits = {
    global: { address: 'off' },
    buckets: { all: { address: '10/1h' } },
    routes: { '/**': 'all' },
  };
  const clock = new FrozenClock(Date.now());
  const [one, two] = [
    await startRedisGateway({ store: store(), limits, clock }),
    await startRedisGateway({ store: store(), limits, clock }),
  ];
  const replicas = async () => (await one.metric('weir_store_replicas')).get('');
  await clock.advanceUntil('they have counted each other', async () => (await replicas()) === 2);
  await redis.kill();
  await clock.advanceUntil(
    'both count by themselves',
    async () => (await storeIsUp(one)) + (await storeIsUp(two)) === 0,
  );
  for (const gateway of [one, two]) {
    const responses = [];
    for (let i = 0; i < 7; i++) responses.push(await gateway.ask(head('GET /')));
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 429, 429]);
    expect(responses[0]?.fields).toEqual(expect.arrayContaining(['X-RateLimit-Limit', '5']));
  }
});

describe('on_failure', () => {
  test('open lets every request pass, without headers that are not enforced', async () => {
    const limits = {
      global: { address: 'off' },
      buckets: { all: { address: '2/1h' } },
      routes: { '/**': 'all' },
    };
    const gateway = await startRedisGateway({ store: { ...store(), on_failure: 'open' }, limits });
    await redis.kill();
    await gateway.time.advanceUntil('the outage shows', async () => (await storeIsUp(gateway)) === 0);
    for (let i = 0; i < 4; i++) {
      const { status, fields } = await gateway.ask(head('GET /'));
      expect(status).toBe(200);
      expect(fields).not.toContain('X-RateLimit-Limit');
    }
  });

  test('closed answers what has a limit with 503, Retry-After and code 14, and the gateway is not ready meanwhile', async () => {
    const limits = {
      global: { address: 'off' },
      buckets: { all: { address: '9/1h' } },
      routes: { 'GET /': 'all' },
    };
    const gateway = await startRedisGateway({ store: { ...store(), on_failure: 'closed' }, limits });
    expect((await gateway.admin('/readyz')).status).toBe(200);
    await redis.kill();
    await gateway.time.advanceUntil('the outage shows', async () => (await storeIsUp(gateway)) === 0);
    const { status, fields, body } = await gateway.ask(head('GET /'));
    expect(status).toBe(503);
    expect(fields).toEqual(expect.arrayContaining(['Retry-After', '1']));
    expect(JSON.parse(body.toString())).toMatchObject({ code: 14, details: [] });
    expect((await gateway.ask(head('GET /unlimited'))).status).toBe(200);
    expect(await gateway.admin('/readyz')).toMatchObject({
      status: 503,
      text: 'Redis is unreachable, and on_failure is closed\n',
    });
    await redis.start();
    await comesBack(gateway);
    expect((await gateway.admin('/readyz')).status).toBe(200);
    expect((await gateway.ask(head('GET /'))).status).toBe(200);
  });
});

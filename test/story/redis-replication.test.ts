import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { TimerClock } from '../../src/core/index.ts';
import { changeLimits, serves, statusOf } from '../support/edit-config.ts';
import type { ConfigPart } from '../support/gateway.ts';
import { type IdentityGateway, startGatewayOf } from '../support/identity-gateway.ts';
import { askOnce, askTimes, type LimitedGateway, refusalOf, statusesOf } from '../support/limits.ts';
import { realTime } from '../support/real-time.ts';
import { type RedisServer, startRedis, startRedisCluster } from '../support/redis.ts';
import { redisDecides, storeIsUp } from '../support/redis-gateway.ts';
import { monitorRedis } from '../support/redis-monitor.ts';
import { head } from '../support/requests.ts';
import { scripts } from '../support/scripted-provider.ts';
import { expectNoSecretIn, secret } from '../support/secrets.ts';
import { redeem } from '../support/sign-in-client.ts';
import { startIssuer, type TestIssuer } from '../support/test-issuer.ts';
import { waitFor } from '../support/wait.ts';
import type { Script } from '../support/wire/index.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

realTime('it waits for what its gateway does now and then');

let redis: RedisServer;
let issuer: TestIssuer;
beforeEach(async () => {
  redis = await startRedis();
  issuer = await startIssuer();
});
afterEach(() => redis.close());

/** The names of the facts that gateways share. */
async function factNames(): Promise<readonly string[]> {
  const names = await redis.client.call('zrange', 'weir:1:{board}:news', '0', '-1');
  return Array.isArray(names) ? names.map(String) : [];
}

const everything = { global: { user: '10000/1s', bot: '10000/1s', address: '10000/1s' } };
const invalidRequests = { ...everything, invalid_requests: { limit: '8/60s', restrict_for: '60s' } };

async function startReplica(
  limits: ConfigPart,
  more: {
    readonly store?: ConfigPart;
    readonly upstream?: Script;
    readonly routes?: readonly ConfigPart[];
    readonly clock?: TimerClock;
  } = {},
): Promise<LimitedGateway> {
  const { store, routes = [], ...settings } = more;
  const started: IdentityGateway = await startGatewayOf(issuer, {
    ...settings,
    limits,
    routes: [{ path: '/open/**', authentication: 'none' }, ...routes],
    // On a busy machine a response may take its time.
    config: { store: { redis: `redis://127.0.0.1:${redis.port}`, timeout: '1s', ...store } },
  });
  await redisDecides(started.gateway);
  return { ...started, issuer };
}

/** That all of them come to refuse this, and by a restriction. */
async function expectRestricted(fronts: readonly LimitedGateway[], target: string, ...lines: string[]) {
  for (const front of fronts) {
    await waitFor('the gateway refuses', async () => (await askOnce(front, target, ...lines)).status === 429);
    expect(refusalOf(await askOnce(front, target, ...lines))).toMatchObject({ code: 8 });
  }
}

describe('what two gateways see of one offender is added up', () => {
  test('ten invalid requests over two gateways, of which eight are allowed, restrict the address at both', async () => {
    const fronts = [await startReplica(invalidRequests), await startReplica(invalidRequests)];
    for (const front of fronts) {
      expect(statusesOf(await askTimes(front, 5, 'GET /a'))).toEqual(Array(5).fill(401));
    }
    await expectRestricted(fronts, 'GET /open/a');
    const [one, two] = fronts;
    if (one === undefined || two === undefined) return;
    // Asked at the same time: one after the other, a busy machine may take more than a second in between.
    const answers = await Promise.all([askOnce(one, 'GET /a'), askOnce(two, 'GET /a')]);
    const [first, second] = answers.map(answer => Number(refusalOf(answer)['retry_after']));
    expect(Math.abs((first ?? Number.NaN) - (second ?? Number.NaN))).toBeLessThan(1);
  });

  test('eight invalid requests are allowed', async () => {
    const fronts = [await startReplica(invalidRequests), await startReplica(invalidRequests)];
    for (const front of fronts) await askTimes(front, 4, 'GET /a');
    // What another address did later has been added up.
    const localAddress = '127.0.0.9';
    for (const { gateway } of fronts)
      for (let i = 0; i < 5; i++) await gateway.ask(head('GET /a'), { localAddress });
    for (const { gateway } of fronts) {
      const status = async () => (await gateway.ask(head('GET /open/a'), { localAddress })).status;
      await waitFor('the other address is restricted', async () => (await status()) === 429);
    }
    for (const front of fronts) expect((await askOnce(front, 'GET /open/a')).status).toBe(200);
  });

  test('three calls of a deleted webhook at each gateway, of which four are allowed, refuse it at both', async () => {
    const limits = { ...everything, webhook_not_found: { limit: '4/60s', restrict_for: '60s' } };
    const settings = {
      upstream: (exchange =>
        exchange.answer(exchange.request.target.startsWith('/hooks') ? 404 : 200)) as Script,
      routes: [{ path: '/hooks/{id}/{token}', authentication: 'none', webhook: true }],
    };
    const fronts = [await startReplica(limits, settings), await startReplica(limits, settings)];
    for (const front of fronts) {
      expect(statusesOf(await askTimes(front, 3, 'POST /hooks/1/abc'))).toEqual([404, 404, 404]);
    }
    await expectRestricted(fronts, 'POST /hooks/1/abc');
    for (const front of fronts) expect((await askOnce(front, 'POST /hooks/1/other')).status).toBe(404);
  });

  test('calls of a hundred deleted webhooks: the address is refused at both, and no fact is held for each', async () => {
    const limits = { ...everything, webhook_not_found: { limit: '1/10m', restrict_for: '10m' } };
    const settings = {
      upstream: (exchange => exchange.answer(404)) as Script,
      routes: [{ path: '/hooks/{id}', authentication: 'none', webhook: true }],
    };
    const fronts = [await startReplica(limits, settings), await startReplica(limits, settings)];
    const [one, two] = fronts;
    if (one === undefined || two === undefined) return;
    const held = async (front: LimitedGateway) => (await statusOf(front.gateway)).store.restrictions;
    for (let i = 0; i < 60; i++) await askTimes(one, 2, `POST /hooks/${i}`);
    await waitFor('the other knows them', async () => (await held(two)) === 60);
    for (let i = 60; i < 101; i++) await askTimes(two, 2, `POST /hooks/${i}`);
    await waitFor('one restriction stands for all', async () => (await held(one)) + (await held(two)) === 2);
    for (const front of fronts)
      expect(refusalOf(await askOnce(front, 'GET /open/a'))).toMatchObject({ global: true, code: 8 });
    expect(await factNames()).toEqual([expect.stringMatching(/^restriction:address:webhook_not_found:/)]);
  });

  test('refusals that a caller does not wait for restrict it at both', async () => {
    const limits = {
      ...everything,
      buckets: { one: { user: '1/60s' } },
      routes: { '/one': 'one' },
      ignored_refusals: { limit: '6/60s', restrict_for: '60s' },
    };
    const clock = new FrozenClock(Date.now());
    const fronts = [await startReplica(limits, { clock }), await startReplica(limits, { clock })];
    const alice = issuer.bearer({ sub: 'alice' });
    for (const front of fronts) await askTimes(front, 2, 'GET /one', alice);
    clock.advance(1_001);
    for (const front of fronts) await askTimes(front, 4, 'GET /one', alice);
    await expectRestricted(fronts, 'GET /a', alice);
    for (const front of fronts) {
      expect((await askOnce(front, 'GET /a', issuer.bearer({ sub: 'bob' }))).status).toBe(200);
    }
  });

  test('refusals of main values past those that a caller may hold restrict it at both', async () => {
    const limits = {
      ...everything,
      keys_per_caller: 1,
      buckets: { things: { main: 'id', user: '1/60s' } },
      routes: { '/things/{id}': 'things' },
      ignored_refusals: { limit: '6/60s', restrict_for: '60s' },
    };
    const clock = new FrozenClock(Date.now());
    const fronts = [await startReplica(limits, { clock }), await startReplica(limits, { clock })];
    const alice = issuer.bearer({ sub: 'alice' });
    let id = 0;
    for (const front of fronts)
      for (let i = 0; i < 3; i++) await askOnce(front, `GET /things/${id++}`, alice);
    clock.advance(1_001);
    for (const front of fronts)
      for (let i = 0; i < 4; i++) await askOnce(front, `GET /things/${id++}`, alice);
    await expectRestricted(fronts, 'GET /a', alice);
  });
});

describe('a restriction', () => {
  test('is known to a new gateway before its first response', async () => {
    const first = await startReplica(invalidRequests);
    await askTimes(first, 9, 'GET /a');
    expect((await askOnce(first, 'GET /open/a')).status).toBe(429);
    await waitFor('it is told', async () => (await factNames()).length > 0);
    const later = await startReplica(invalidRequests);
    expect((await askOnce(later, 'GET /open/a')).status).toBe(429);
  });

  test('does not hold at a gateway whose list says never', async () => {
    const lenient = await startReplica({ ...invalidRequests, never_restrict: ['127.0.0.1'] });
    const [strict, another] = [await startReplica(invalidRequests), await startReplica(invalidRequests)];
    await askTimes(strict, 9, 'GET /a');
    await expectRestricted([strict, another], 'GET /open/a');
    expect((await askOnce(lenient, 'GET /open/a')).status).toBe(200);
  });

  test('of a client that may no longer be restricted is counted nowhere, also at a gateway that starts later', async () => {
    const limits = {
      ...everything,
      buckets: { one: { user: '1/60s' } },
      routes: { '/one': 'one' },
      ignored_refusals: { limit: '1/60s', restrict_for: '60s' },
      invalid_requests: { limit: '3/60s', restrict_for: '60s' },
    };
    const clock = new FrozenClock(Date.now());
    const [first, second] = [await startReplica(limits, { clock }), await startReplica(limits, { clock })];
    const alice = issuer.bearer({ sub: 'alice' });
    await askTimes(first, 2, 'GET /one', alice);
    clock.advance(1_001);
    await askTimes(first, 2, 'GET /one', alice);
    for (let n = 0; n < 4; n++) await first.gateway.ask(head('GET /a'), { localAddress: '127.0.0.5' });
    const counted = async ({ gateway }: LimitedGateway) => (await statusOf(gateway)).store.restrictions;
    await waitFor('both know', async () => (await counted(first)) + (await counted(second)) === 4);
    const spared = { ...limits, never_restrict: ['127.0.0.4/30', { client: 'app', subject: 'alice' }] };
    await changeLimits(second.gateway, spared);
    await serves(second.gateway, 2);
    // It knows the address by its digest alone, which does not tell the network.
    expect(await counted(second)).toBe(1);
    expect((await second.gateway.metric('weir_restrictions_adopted')).get('')).toBe(1);
    await changeLimits(first.gateway, spared);
    await serves(first.gateway, 2);
    expect(await counted(first)).toBe(0);
    await waitFor('the other knows', async () => (await counted(second)) === 0);
    expect(await counted(await startReplica(spared))).toBe(0);
    expect([...(await first.gateway.metric('weir_restricted')).values()]).toEqual([0, 0, 0]);
  });

  test('that began while Redis was away is known to the others after its return, and so are those that Redis has lost', async () => {
    const fronts = [await startReplica(invalidRequests), await startReplica(invalidRequests)];
    const [one, two] = fronts;
    if (one === undefined || two === undefined) return;
    await askTimes(one, 9, 'GET /a');
    await expectRestricted(fronts, 'GET /open/a');
    await redis.kill();
    for (const { gateway } of fronts) {
      await waitFor('the outage shows', async () => {
        await gateway.ask(head('GET /open/a'), { localAddress: '127.0.0.9' });
        return (await storeIsUp(gateway)) === 0;
      });
    }
    const client = await one.gateway.connect({ localAddress: '127.0.0.7' });
    for (let i = 0; i < 9; i++) await client.ask(head('GET /a'));
    const status = async (front: LimitedGateway, localAddress: string) =>
      (await front.gateway.ask(head('GET /open/a'), { localAddress })).status;
    expect([await status(one, '127.0.0.7'), await status(two, '127.0.0.7')]).toEqual([429, 200]);
    await redis.start();
    for (const { gateway } of fronts) await redisDecides(gateway);
    await waitFor('the other knows', async () => (await status(two, '127.0.0.7')) === 429);
    const third = await startReplica(invalidRequests);
    expect([await status(third, '127.0.0.1'), await status(third, '127.0.0.7')]).toEqual([429, 429]);
    expect(await status(third, '127.0.0.9')).toBe(200);
  });

  test('gets to the other without a message as well: messages are only faster', async () => {
    await redis.client.call('acl', 'setuser', 'default', 'resetchannels');
    const fronts = [await startReplica(invalidRequests), await startReplica(invalidRequests)];
    const [one, two] = fronts;
    if (one === undefined || two === undefined) return;
    await askTimes(one, 9, 'GET /a');
    await expectRestricted([two], 'GET /open/a');
  });
});

test('a not-before mark that one gateway learns refuses the older tokens at the other', async () => {
  const fronts = [await startReplica(everything), await startReplica(everything)];
  const [one, two] = fronts;
  if (one === undefined || two === undefined) return;
  const mark = Math.floor(Date.now() / 1_000) - 60;
  const old = issuer.bearer({ iat: mark - 1 });
  const bobs = issuer.bearer({ iat: mark - 1, sub: 'bob' });
  expect((await askOnce(two, 'GET /a', old)).status).toBe(200);
  issuer.provider.token = scripts.tokens({
    access_token: issuer.token({ sub: 'alice' }),
    'not-before-policy': mark,
  });
  expect((await redeem(one.gateway, 'a-code', 'https://app.example/callback')).status).toBe(200);
  await waitFor('it is refused', async () => (await askOnce(two, 'GET /a', old)).status === 401);
  expect((await askOnce(two, 'GET /a', bobs)).status).toBe(200);
  expect((await askOnce(two, 'GET /a', issuer.bearer())).status).toBe(200);
  const later = await startReplica(everything);
  expect((await askOnce(later, 'GET /a', old)).status).toBe(401);
});

/** How often Redis did each command since the start. */
async function commandCalls(): Promise<number> {
  const info = await redis.client.info('commandstats');
  const calls = [...info.matchAll(/cmdstat_(evalsha|eval|publish|incrby):calls=(\d+)/g)];
  return calls.reduce((sum, [, , number]) => sum + Number(number), 0);
}

test.each([9e15, 1e17, 2 ** 63, 1e308])(
  'a token that never expires (exp %d) does not keep gateways from informing each other',
  async exp => {
    const gateways = [await startReplica(everything), await startReplica(everything)];
    const [one, two] = gateways;
    if (one === undefined || two === undefined) return;
    const mark = Math.floor(Date.now() / 1_000) - 60;
    const old = issuer.bearer({ iat: mark - 1 });
    const endless = issuer.bearer({ exp, sub: 'bob' });
    for (const front of gateways) {
      for (const line of [old, endless]) expect((await askOnce(front, 'GET /a', line)).status).toBe(200);
    }
    issuer.provider.token = scripts.tokens({ access_token: issuer.token(), 'not-before-policy': mark });
    expect((await redeem(one.gateway, 'a-code', 'https://app.example/callback')).status).toBe(200);
    await waitFor(
      'the other gateway refuses',
      async () => (await askOnce(two, 'GET /a', old)).status === 401,
    );
    expect((await askOnce(two, 'GET /a', endless)).status).toBe(200);
  },
);

test('two gateways on a Redis Cluster add up what they see of many offenders and inform each other', async () => {
  const cluster = await startRedisCluster();
  onTestFinished(() => cluster.close());
  const [node] = cluster.servers;
  const store = { redis: `redis://127.0.0.1:${node?.port}`, mode: 'cluster' };
  const fronts = [
    await startReplica(invalidRequests, { store }),
    await startReplica(invalidRequests, { store }),
  ];
  const addresses = [1, 2, 3, 4, 5, 6].map(n => `127.0.1.${n}`);
  for (const { gateway } of fronts) {
    for (const localAddress of addresses) {
      for (let i = 0; i < 5; i++) await gateway.ask(head('GET /a'), { localAddress });
    }
  }
  for (const { gateway } of fronts) {
    const statuses = async () =>
      Promise.all(
        addresses.map(
          async localAddress => (await gateway.ask(head('GET /open/a'), { localAddress })).status,
        ),
      );
    await waitFor('all are restricted', async () => (await statuses()).every(status => status === 429));
  }
  expect((await fronts[0]?.gateway.ask(head('GET /open/a')))?.status).toBe(200);
});

test('20,000 requests with 401 cost far fewer commands, since offences are told in batches', async () => {
  const limits = { global: 'off', invalid_requests: { limit: '60000/10m', restrict_for: '60s' } };
  const { gateway } = await startReplica(limits);
  const before = await commandCalls();
  const clients = await Promise.all(Array.from({ length: 8 }, () => gateway.connect()));
  const asked = clients.map(async client => {
    for (let i = 0; i < 2_500; i++) expect((await client.ask(head('GET /a'))).status).toBe(401);
  });
  await Promise.all(asked);
  await waitFor('all are counted', async () => {
    const keys = await redis.client.keys('weir:1:invalid_requests:*');
    const counts = await Promise.all(keys.map(key => redis.client.get(key)));
    return counts.length === 1 && counts[0] === '20000';
  });
  // Four batches a second, of two commands each with the script's own; looks at the board and heartbeats go on besides. A test lasts
  // a minute at most.
  expect((await commandCalls()) - before).toBeLessThan(100 + 20 * 60);
});

test('what gateways send each other contains no address, no principal, no token and no secret of a path', async () => {
  const monitor = await monitorRedis(redis.port);
  const hook = secret('webhook-token-in-the-path-4711');
  const subject = secret('subject-of-the-principal-1234');
  const limits = {
    ...invalidRequests,
    buckets: { one: { user: '1/60s' } },
    routes: { '/one': 'one' },
    ignored_refusals: { limit: '1/60s', restrict_for: '60s' },
    webhook_not_found: { limit: '1/60s', restrict_for: '60s' },
  };
  const clock = new FrozenClock(Date.now());
  const front = await startReplica(limits, {
    clock,
    upstream: exchange => exchange.answer(exchange.request.target.startsWith('/hooks') ? 404 : 200),
    routes: [{ path: '/hooks/{id}/{token}', authentication: 'none', webhook: true }],
  });
  await askTimes(front, 3, `POST /hooks/1/${hook}`);
  const bearer = issuer.bearer({ sub: subject });
  await askTimes(front, 2, 'GET /one', bearer);
  clock.advance(1_001);
  await askTimes(front, 3, 'GET /one', bearer);
  issuer.provider.token = scripts.tokens({
    access_token: issuer.token({ sub: subject }),
    'not-before-policy': Math.floor(Date.now() / 1_000) - 60,
  });
  await redeem(front.gateway, 'a-code', 'https://app.example/callback');
  await askTimes(front, 9, 'GET /a');
  const topics = [
    /revocation:policy:/,
    /restriction:address:/,
    /restriction:principal:/,
    /restriction:webhook:/,
  ];
  await waitFor('all of it was told', () =>
    topics.every(topic => monitor.commands().some(line => topic.test(line))),
  );
  const told = monitor.commands().join('\n');
  expectNoSecretIn('what Redis was told', told);
  expect(told).not.toContain('127.0.0.');
});

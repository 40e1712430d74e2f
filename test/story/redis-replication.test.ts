import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { changeLimits, serves, statusOf } from '../support/edit-config.ts';
import type { ConfigPart } from '../support/gateway.ts';
import { startIdentityGateway } from '../support/identity-gateway.ts';
import { askOnce, askTimes, type LimitedGateway, refusalOf, statusesOf } from '../support/limits.ts';
import { type RedisServer, startRedis, startRedisCluster } from '../support/redis.ts';
import { redisDecides, storeIsUp } from '../support/redis-gateway.ts';
import { monitorRedis } from '../support/redis-monitor.ts';
import { head } from '../support/requests.ts';
import { areWhole, dear } from '../support/runs.ts';
import { scripts } from '../support/scripted-provider.ts';
import { expectNoSecretIn, secret } from '../support/secrets.ts';
import { redeem } from '../support/sign-in-client.ts';
import { startIssuer, type TestIssuer } from '../support/test-issuer.ts';
import { waitFor } from '../support/wait.ts';
import type { Script } from '../support/wire/index.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

/** Gateways tell Redis four times a second what they have counted. */
const TELL_MS = 250;

let redis: RedisServer;
let issuer: TestIssuer;
/** The clock of the test's gateways. */
let clock: FrozenClock;
beforeAll(async () => {
  redis = await startRedis();
});
beforeEach(async () => {
  await redis.client.flushall();
  issuer = await startIssuer();
  clock = new FrozenClock(Date.now());
});
afterAll(() => redis.close());

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
  } = {},
): Promise<LimitedGateway> {
  const { store, routes = [], ...settings } = more;
  const started = await startIdentityGateway({
    ...settings,
    issuer: issuer.url,
    clock,
    limits,
    routes: [{ path: '/open/**', authentication: 'none' }, ...routes],
    // On a busy machine a response may take its time.
    config: { store: { redis: `redis://127.0.0.1:${redis.port}`, timeout: '1s', ...store } },
  });
  await redisDecides(started.gateway);
  await started.gateway.ready();
  return { ...started, issuer };
}

const restrictionsAt = async ({ gateway }: LimitedGateway): Promise<number> =>
  (await statusOf(gateway)).store.restrictions;

/** That all of them come to refuse this, and by a restriction, once they have told what they counted. */
async function expectRestricted(fronts: readonly LimitedGateway[], target: string, ...lines: string[]) {
  clock.advance(TELL_MS);
  for (const front of fronts) {
    // To ask until it refuses might be what makes it refuse.
    await waitFor('the gateway restricts', async () => (await restrictionsAt(front)) > 0);
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
    const retryAfter = async (front: LimitedGateway) =>
      Number(refusalOf(await askOnce(front, 'GET /a'))['retry_after']);
    // Of a minute. Between the two questions passes what a busy machine takes.
    expect(Math.abs((await retryAfter(one)) - (await retryAfter(two)))).toBeLessThan(20);
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

  dear('calls of a hundred deleted webhooks, some at each: the address is refused at both', async () => {
    const limits = { ...everything, webhook_not_found: { limit: '1/10m', restrict_for: '10m' } };
    const settings = {
      upstream: (exchange => exchange.answer(404)) as Script,
      routes: [{ path: '/hooks/{id}', authentication: 'none', webhook: true }],
    };
    const fronts = [await startReplica(limits, settings), await startReplica(limits, settings)];
    const [one, two] = fronts;
    if (one === undefined || two === undefined) return;
    for (let i = 0; i < 60; i++) await askTimes(one, 2, `POST /hooks/${i}`);
    await waitFor('the other knows them', async () => (await restrictionsAt(two)) === 60);
    for (let i = 60; i < 101; i++) await askTimes(two, 2, `POST /hooks/${i}`);
    await waitFor('the one knows the rest', async () => (await restrictionsAt(one)) === 102);
    for (const front of fronts)
      expect(refusalOf(await askOnce(front, 'GET /open/a'))).toMatchObject({ global: true, code: 8 });
  });

  test('refusals that a caller does not wait for restrict it at both', async () => {
    const limits = {
      ...everything,
      buckets: { one: { user: '1/60s' } },
      routes: { '/one': 'one' },
      ignored_refusals: { limit: '6/60s', restrict_for: '60s' },
    };
    const fronts = [await startReplica(limits), await startReplica(limits)];
    const alice = issuer.bearer({ sub: 'alice' });
    for (const front of fronts) await askTimes(front, 2, 'GET /one', alice);
    clock.advance(1_001);
    for (const front of fronts) await askTimes(front, 4, 'GET /one', alice);
    await expectRestricted(fronts, 'GET /a', alice);
    for (const front of fronts) {
      expect((await askOnce(front, 'GET /a', issuer.bearer({ sub: 'bob' }))).status).toBe(200);
    }
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
    const [first, second] = [await startReplica(limits), await startReplica(limits)];
    const alice = issuer.bearer({ sub: 'alice' });
    await askTimes(first, 2, 'GET /one', alice);
    clock.advance(1_001);
    await askTimes(first, 2, 'GET /one', alice);
    for (let n = 0; n < 4; n++) await first.gateway.ask(head('GET /a'), { localAddress: '127.0.0.5' });
    await waitFor(
      'both know',
      async () => (await restrictionsAt(first)) + (await restrictionsAt(second)) === 4,
    );
    const spared = { ...limits, never_restrict: ['127.0.0.4/30', { client: 'app', subject: 'alice' }] };
    await changeLimits(second.gateway, spared);
    await serves(second.gateway, 2);
    // It knows the address by its digest alone, which does not tell the network.
    expect(await restrictionsAt(second)).toBe(1);
    expect((await second.gateway.metric('weir_restrictions_adopted')).get('')).toBe(1);
    await changeLimits(first.gateway, spared);
    await serves(first.gateway, 2);
    expect(await restrictionsAt(first)).toBe(0);
    await waitFor('the other knows', async () => (await restrictionsAt(second)) === 0);
    expect(await restrictionsAt(await startReplica(spared))).toBe(0);
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
    const isKnown = async () => (await status(two, '127.0.0.7')) === 429;
    await clock.advanceUntil('Redis is back and the other knows', isKnown);
    const third = await startReplica(invalidRequests);
    expect([await status(third, '127.0.0.1'), await status(third, '127.0.0.7')]).toEqual([429, 429]);
    expect(await status(third, '127.0.0.9')).toBe(200);
  });

  test('gets to the other without a message as well: messages are only faster', async () => {
    await redis.client.call('acl', 'setuser', 'default', 'resetchannels');
    onTestFinished(() => void redis.client.call('acl', 'setuser', 'default', 'allchannels'));
    const fronts = [await startReplica(invalidRequests), await startReplica(invalidRequests)];
    const [one, two] = fronts;
    if (one === undefined || two === undefined) return;
    await askTimes(one, 9, 'GET /a');
    const status = async () => (await askOnce(two, 'GET /open/a')).status;
    await clock.advanceUntil('the other has looked', async () => (await status()) === 429);
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

test.each(areWhole ? [9e15, 1e308] : [1e308])(
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
  clock.advance(TELL_MS);
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

test('800 requests with 401 cost far fewer commands, since offences are told in batches', async () => {
  const limits = { global: 'off', invalid_requests: { limit: '60000/10m', restrict_for: '60s' } };
  const front = await startReplica(limits);
  const before = await commandCalls();
  const counts = async () => {
    const keys = await redis.client.keys('weir:1:invalid_requests:*');
    return Promise.all(keys.map(key => redis.client.get(key)));
  };
  for (const counted of ['200', '400', '600', '800']) {
    expect(new Set(statusesOf(await askTimes(front, 200, 'GET /a')))).toEqual(new Set([401]));
    clock.advance(TELL_MS);
    await waitFor('all are counted', async () => `${await counts()}` === counted);
  }
  // A batch is two commands, the script and its own. The gateway looks at the board and reports itself besides.
  expect((await commandCalls()) - before).toBeLessThan(30);
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
  const front = await startReplica(limits, {
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
  clock.advance(TELL_MS);
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

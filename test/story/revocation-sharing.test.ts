import { beforeEach, expect, onTestFinished, test } from 'vitest';
import type { ConfigPart } from '../support/gateway.ts';
import { startGatewayOf, startIdentityGateway } from '../support/identity-gateway.ts';
import { askOnce, type LimitedGateway } from '../support/limits.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { redisDecides } from '../support/redis-gateway.ts';
import { scripts } from '../support/scripted-provider.ts';
import { redeem } from '../support/sign-in-client.ts';
import { inTime } from '../support/test-clock.ts';
import { startIssuer, type TestIssuer } from '../support/test-issuer.ts';
import { waitFor } from '../support/wait.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

const CHANNEL = 'weir:1:board';

/** A gateway by this clock never polls the others: for it, no time passes between two reads. */
const noTimePasses = new FrozenClock(Date.now());
/** The time of all others. */
const time = new FrozenClock(Date.now());

let redis: RedisServer;
let issuer: TestIssuer;
beforeEach(async () => {
  [redis, issuer] = await Promise.all([startRedis(), startIssuer()]);
  onTestFinished(() => redis.close());
});

const store = (more: ConfigPart = {}) => ({
  redis: `redis://127.0.0.1:${redis.port}`,
  timeout: '1s',
  ...more,
});

async function startReplica(clock = time): Promise<LimitedGateway> {
  const started = await startGatewayOf(issuer, { clock, config: { store: store() } });
  await redisDecides(started.gateway);
  return { ...started, issuer };
}

/** Returns a token that the gateway's provider revokes by what it sends along with a redeemed code. */
async function tokenRevokedAt({ gateway }: LimitedGateway, sub: string): Promise<string> {
  const markS = Math.floor(Date.now() / 1_000) - 60;
  issuer.provider.token = scripts.tokens({
    access_token: issuer.token({ sub }),
    'not-before-policy': markS,
  });
  expect((await redeem(gateway, 'a-code', 'https://app.example/callback')).status).toBe(200);
  return issuer.bearer({ sub, iat: markS - 1 });
}

const statusOf = async (front: LimitedGateway, token: string) =>
  (await askOnce(front, 'GET /a', token)).status;

/** Starts one, with this policy for when Redis is away. It may never become ready. */
async function startBy(on_failure: string): Promise<LimitedGateway> {
  const config = { store: store({ on_failure }) };
  return { ...(await startIdentityGateway({ issuer: issuer.url, clock: time, config })), issuer };
}

const subscribers = async () => Number((await redis.client.pubsub('NUMSUB', CHANNEL))[1]);

test('a gateway that never polls refuses what another has learnt: a message tells it', async () => {
  const [first, deaf] = [await startReplica(), await startReplica(noTimePasses)];
  for (const sub of ['ada', 'bob', 'eve']) {
    const token = await tokenRevokedAt(first, sub);
    await waitFor('it is refused', async () => (await statusOf(deaf, token)) === 401);
  }
});

test('a gateway that gets no messages polls, without which it would know nothing until they come again', async () => {
  const [first, polling, deaf] = [
    await startReplica(),
    await startReplica(),
    await startReplica(noTimePasses),
  ];
  expect(await subscribers()).toBe(3);
  await redis.client.call('acl', 'setuser', 'default', 'resetchannels');
  await waitFor('nobody is subscribed', async () => (await subscribers()) === 0);
  const token = await tokenRevokedAt(first, 'ada');
  await time.advanceUntil('the poll tells', async () => (await statusOf(polling, token)) === 401);
  expect(await statusOf(deaf, token)).toBe(200);
});

test('a gateway that starts without Redis says that it misses revocations until it has them, or waits with on_failure: closed', async () => {
  const first = await startReplica();
  const token = await tokenRevokedAt(first, 'ada');
  await waitFor('it is told', async () => (await first.gateway.metric('weir_store_untold')).get('') === 0);
  redis.freeze();
  const [local, closed] = await Promise.all([startBy('local'), startBy('closed')]);
  // It waits for five seconds.
  await inTime(time, local.gateway.ready());
  expect(await statusOf(local, token)).toBe(200);
  expect(await misses(local)).toEqual({ status: true, page: true, metric: 1 });
  expect(storeLines(local)).toContainEqual(
    expect.stringMatching(/tokens .* revoked are accepted .*on_failure: closed/),
  );
  expect(await closed.gateway.admin('/readyz')).toMatchObject({ status: 503, text: 'waiting for Redis\n' });
  expect(await misses(closed)).toEqual({ status: false, page: false, metric: 0 });

  redis.thaw();
  await time.advanceUntil('it is refused', async () => (await statusOf(local, token)) === 401);
  expect(await misses(local)).toEqual({ status: false, page: false, metric: 0 });
  expect(storeLines(local)).toContainEqual(
    expect.stringContaining('has caught up with what other gateways have revoked'),
  );
  await inTime(time, closed.gateway.ready());
  expect(await statusOf(closed, token)).toBe(401);
  expect(storeLines(closed)).not.toContainEqual(expect.stringMatching(/revoked/));
});

/** Where a gateway shows that it does not know what the others do. */
async function misses({ gateway }: LimitedGateway): Promise<object> {
  return {
    status: JSON.parse((await gateway.admin('/status.json')).text).store.behind,
    page: (await gateway.admin('/status')).text.includes('what other gateways have revoked and restricted'),
    metric: (await gateway.metric('weir_store_behind')).get(''),
  };
}

function storeLines({ gateway }: LimitedGateway): string[] {
  const lines = gateway.logLines.map(line => JSON.parse(line));
  return lines.filter(({ type }) => type === 'store').map(({ msg }) => msg);
}

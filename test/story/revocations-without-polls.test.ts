import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { type Clock, systemClock } from '../../src/core/index.ts';
import { startGatewayOf } from '../support/identity-gateway.ts';
import { askOnce, type LimitedGateway } from '../support/limits.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { redisDecides } from '../support/redis-gateway.ts';
import { scripts } from '../support/scripted-provider.ts';
import { redeem } from '../support/sign-in-client.ts';
import { startIssuer, type TestIssuer } from '../support/test-issuer.ts';
import { waitFor } from '../support/wait.ts';

const CHANNEL = 'weir:1:board';

/** A gateway by this clock never polls the others: for it, no time passes between two reads. */
const noTimePasses: Clock = { epochMs: () => systemClock.epochMs(), monotonicMs: () => 5_000 };

let redis: RedisServer;
let issuer: TestIssuer;
beforeEach(async () => {
  [redis, issuer] = await Promise.all([startRedis(), startIssuer()]);
  onTestFinished(() => redis.close());
});

async function startReplica(clock: Clock = systemClock): Promise<LimitedGateway> {
  const started = await startGatewayOf(issuer, {
    clock,
    config: { store: { redis: `redis://127.0.0.1:${redis.port}`, timeout: '1s' } },
  });
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
  await waitFor('the poll tells', async () => (await statusOf(polling, token)) === 401);
  expect(await statusOf(deaf, token)).toBe(200);
});

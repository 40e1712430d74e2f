import { expect, onTestFinished, test } from 'vitest';
import { CallerShare } from '../../src/limits/index.ts';
import { changeLimits, serves } from '../support/edit-config.ts';
import { startGatewayOf } from '../support/identity-gateway.ts';
import {
  askOnce,
  askTimes,
  BUCKET_FIELDS,
  fieldOf,
  type LimitedGateway,
  rateOf,
  startLimited,
  statusesOf,
} from '../support/limits.ts';
import { startRedis } from '../support/redis.ts';
import { redisDecides } from '../support/redis-gateway.ts';
import { startIssuer } from '../support/test-issuer.ts';

const LINE = 'GET /things/{id}';
const limitsOf = (bucket: object, global: unknown = 'off') => ({
  global,
  buckets: { things: { main: 'id', ...bucket } },
  routes: { [LINE]: 'things' },
});

async function wouldRefuse({ gateway }: LimitedGateway, labels: string): Promise<number | undefined> {
  return (await gateway.metric('weir_shadow_refused_total')).get(labels);
}

const OF_USERS = '{bucket="things",class="user",limit="caller"}';

test('a bucket goes from shadow to a share of callers to all of them, and its counters go along', async () => {
  const front = await startLimited(limitsOf({ user: '2/10m', shadow: true }));
  const { gateway } = front;
  const inside = bearerOf(front, true);
  const outside = bearerOf(front, false);
  expect(await wouldRefuse(front, OF_USERS)).toBe(0);

  // In shadow: nobody is refused, and clients see nothing.
  const tried = await askTimes(front, 4, 'GET /things/1', inside);
  expect(statusesOf(tried)).toEqual([200, 200, 200, 200]);
  for (const field of BUCKET_FIELDS) expect(fieldOf(tried[3], field)).toBeUndefined();
  expect(await wouldRefuse(front, OF_USERS)).toBe(2);
  await askTimes(front, 1, 'GET /things/1', outside);

  // For half of all callers: what was counted in shadow counts.
  await changeLimits(gateway, limitsOf({ user: '2/10m', enforce: '50%' }));
  await serves(gateway, 2);
  expect(statusesOf(await askTimes(front, 2, 'GET /things/1', inside))).toEqual([429, 429]);
  expect(rateOf(await askOnce(front, 'GET /things/2', inside))).toMatchObject({ limit: 2, remaining: 1 });
  const others = await askTimes(front, 2, 'GET /things/1', outside);
  expect(statusesOf(others)).toEqual([200, 200]);
  expect(fieldOf(others[1], 'x-ratelimit-limit')).toBeUndefined();
  expect(await wouldRefuse(front, OF_USERS)).toBe(3);

  // For all.
  await changeLimits(gateway, limitsOf({ user: '2/10m' }));
  await serves(gateway, 3);
  expect((await askOnce(front, 'GET /things/1', outside)).status).toBe(429);
  expect(await wouldRefuse(front, OF_USERS)).toBeUndefined();

  // And back.
  await changeLimits(gateway, limitsOf({ user: '2/10m', shadow: true }));
  await serves(gateway, 4);
  expect((await askOnce(front, 'GET /things/1', outside)).status).toBe(200);
  expect(await wouldRefuse(front, OF_USERS)).toBe(1);
});

test('two gateways on one Redis count together in shadow, and hold for the same callers', async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.close());
  const issuer = await startIssuer();
  const start = async (bucket: object): Promise<LimitedGateway> => {
    const config = { store: { redis: `redis://127.0.0.1:${redis.port}`, timeout: '1s' } };
    const started = await startGatewayOf(issuer, { limits: limitsOf(bucket), config });
    await redisDecides(started.gateway);
    return { ...started, issuer };
  };
  const bucket = { user: '2/10m', resource: '3/10m', shadow: { user: '1/10m' } };
  const [one, two] = [await start(bucket), await start(bucket)];
  const alice = issuer.bearer();
  expect((await askOnce(one, 'GET /things/1', alice)).status).toBe(200);
  expect((await askOnce(two, 'GET /things/1', alice)).status).toBe(200);
  expect([await wouldRefuse(one, OF_USERS), await wouldRefuse(two, OF_USERS)]).toEqual([0, 1]);
  expect((await askOnce(one, 'GET /things/1', alice)).status).toBe(429);

  const share = { user: '1/10m', enforce: '50%' };
  for (const front of [one, two]) {
    await changeLimits(front.gateway, limitsOf(share));
    await serves(front.gateway, 2);
  }
  const [inside, outside] = [bearerOf(one, true), bearerOf(one, false)];
  const statuses = async (bearer: string) => [
    (await askOnce(one, 'GET /things/2', bearer)).status,
    (await askOnce(two, 'GET /things/2', bearer)).status,
  ];
  expect(await statuses(inside)).toEqual([200, 429]);
  expect(await statuses(outside)).toEqual([200, 200]);
  expect([await wouldRefuse(one, OF_USERS), await wouldRefuse(two, OF_USERS)]).toEqual([0, 2]);
});

/** A user inside or outside the half of all callers that the bucket holds for. */
function bearerOf({ issuer }: LimitedGateway, isInside: boolean): string {
  const share = new CallerShare('things', 50);
  for (let i = 0; ; i++) {
    const claims = { azp: 'app', sub: `user-${i}` };
    if (share.includes(`user:app user-${i}`) === isInside) return issuer.bearer(claims);
  }
}

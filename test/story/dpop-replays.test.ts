import { afterAll, beforeAll, expect, test } from 'vitest';
import { type IdentitySettings, startGatewayOf } from '../support/identity-gateway.ts';
import { clientKey, hashOfToken, proofOf } from '../support/proofs.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { redisDecides, storeIsUp } from '../support/redis-gateway.ts';
import { head } from '../support/requests.ts';
import type { TestGateway } from '../support/test-gateway.ts';
import { startIssuer, type TestIssuer } from '../support/test-issuer.ts';
import { header } from '../support/wire/index.ts';
import { clientsOfEach } from '../support/workers.ts';

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.close());

let prefixes = 0;
const ADA = clientKey();

function linesOf(issuer: TestIssuer) {
  const token = issuer.token({ cnf: ADA.cnf });
  return (claims: Readonly<Record<string, unknown>> = {}) => {
    const proof = proofOf(ADA, { htu: 'http://gateway.test/', ath: hashOfToken(token), ...claims });
    return head('GET /', `Authorization: DPoP ${token}`, `DPoP: ${proof}`);
  };
}

/** Two gateways that share this Redis. Their clocks go on while they wait for it, and those of clients do not. */
async function replicas(dpop: unknown = 'required', store: object = {}, server = redis) {
  const issuer = await startIssuer();
  const config = {
    store: {
      redis: `redis://127.0.0.1:${server.port}`,
      prefix: `weir:p${prefixes++}:`,
      timeout: '1s',
      ...store,
    },
  };
  const settings: Omit<IdentitySettings, 'issuer'> = { tokens: { dpop, leeway: '10m' }, config };
  const one = (await startGatewayOf(issuer, settings)).gateway;
  const other = (await startGatewayOf(issuer, settings)).gateway;
  for (const gateway of [one, other]) await redisDecides(gateway);
  return { one, other, request: linesOf(issuer) };
}

const statusOf = async (gateway: Pick<TestGateway, 'ask'>, request: string) =>
  (await gateway.ask(request)).status;

test('a proof that one worker has seen is refused by every other', async () => {
  const issuer = await startIssuer();
  const { gateway } = await startGatewayOf(issuer, {
    tokens: { dpop: 'required', leeway: '10m' },
    config: { workers: 2 },
  });
  const request = linesOf(issuer);
  const [one, other] = await clientsOfEach(gateway, 2);
  if (one === undefined || other === undefined) throw new Error('a worker is missing');
  for (const [first, second] of [
    [one, other],
    [other, one],
  ] as const) {
    const used = request();
    expect((await first.ask(used)).status).toBe(200);
    expect((await second.ask(used)).status).toBe(401);
    expect((await second.ask(request())).status).toBe(200);
  }
});

test('a nonce of one worker is good at every other', async () => {
  const issuer = await startIssuer();
  const tokens = { dpop: { mode: 'required', nonce: '1h' }, leeway: '10m' };
  const { gateway } = await startGatewayOf(issuer, { tokens, config: { workers: 2 } });
  const request = linesOf(issuer);
  const [one, other] = await clientsOfEach(gateway, 2);
  if (one === undefined || other === undefined) throw new Error('a worker is missing');
  const nonce = header(await one.ask(request()), 'dpop-nonce');
  expect((await other.ask(request({ nonce }))).status).toBe(200);
});

test('a proof that one replica has seen is refused by every other, with Redis', async () => {
  const { one, other, request } = await replicas();
  const used = request();
  expect(await statusOf(one, used)).toBe(200);
  expect(await statusOf(other, used)).toBe(401);
  expect(await statusOf(other, request())).toBe(200);
  const refused = await other.counted('weir_tokens_refused_total');
  expect(refused.get('{reason="proof_replayed"}')).toBe(1);
});

test('a nonce of one replica is good at every other, with Redis', async () => {
  const { one, other, request } = await replicas({ mode: 'required', nonce: '1h' });
  // Each has met a client, and so has looked up the secret that all share.
  for (const gateway of [one, other]) expect(await statusOf(gateway, request())).toBe(401);
  await expect
    .poll(async () => {
      const nonce = header(await one.ask(request()), 'dpop-nonce');
      return await statusOf(other, request({ nonce }));
    })
    .toBe(200);
});

test.each([
  ['local', 200],
  ['open', 200],
  ['closed', 503],
] as const)('while Redis is away, on_failure decides: %s', async (on_failure, status) => {
  const own = await startRedis();
  const { one, request } = await replicas('required', { on_failure }, own);
  const used = request();
  expect(await statusOf(one, used)).toBe(200);
  await own.close();
  await one.time.advanceUntil(
    'Redis is away',
    async () => {
      await one.ask(request());
      return (await storeIsUp(one)) === 0;
    },
    250,
  );
  expect(await statusOf(one, request())).toBe(status);
  // What this gateway has seen itself it still knows.
  expect(await statusOf(one, used)).toBe(401);
});

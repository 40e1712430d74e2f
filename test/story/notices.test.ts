import { expect, onTestFinished, test } from 'vitest';
import { walkLogin } from '../../src/cli/demo/login.ts';
import { GATEWAY_CLIENT } from '../../src/cli/demo/provider/demo-provider.ts';
import { startDemoProvider } from '../support/demo-provider.ts';
import { expectInvalidToken } from '../support/error-object.ts';
import { freePort } from '../support/free-port.ts';
import { type IdentitySettings, startGatewayOf, startIdentityGateway } from '../support/identity-gateway.ts';
import { LOGOUT_PATH, logoutOf, PUSH_PATH, pushOf, toAdmin } from '../support/notices.ts';
import { startRedis } from '../support/redis.ts';
import { redisDecides } from '../support/redis-gateway.ts';
import { head, withBody } from '../support/requests.ts';
import { secret } from '../support/secrets.ts';
import { authorizeUrl, json, redeem } from '../support/sign-in-client.ts';
import { clockOfTests, inTime } from '../support/test-clock.ts';
import type { TestGateway } from '../support/test-gateway.ts';
import { startIssuer, type TestIssuer } from '../support/test-issuer.ts';
import { waitFor } from '../support/wait.ts';
import { header, type Script } from '../support/wire/index.ts';

const ADMIN = { not_before_push: 'admin', back_channel_logout: 'admin' };
const PUBLIC = { not_before_push: '/idp/k_push_not_before', back_channel_logout: '/idp/logout' };

const nowS = () => Math.floor(Date.now() / 1_000);
const statusOf = async (gateway: TestGateway, bearer: string) =>
  (await gateway.ask(head('GET /a', bearer))).status;
const refusedAt = (gateway: TestGateway, bearer: string) =>
  waitFor('it is refused', async () => (await statusOf(gateway, bearer)) === 401);

async function front(notices: object, settings: Omit<IdentitySettings, 'issuer'> = {}) {
  const issuer = await startIssuer();
  return { issuer, ...(await startGatewayOf(issuer, { ...settings, provider: { notices } })) };
}

/** A chunk every 20 ms, without end. */
const trickle: Script = async exchange => {
  await exchange.send('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
  while (exchange.connection.open) {
    await exchange.send('4\r\ntick\r\n');
    await new Promise(resolve => setTimeout(resolve, 20));
  }
};

test('a push to the admin listener refuses older tokens and cuts their streams, and a newer push lowers the mark', async () => {
  const { issuer, gateway } = await front(ADMIN, { upstream: trickle, tokens: { max_lifetime: '1h' } });
  const old = issuer.bearer({ iat: nowS() - 60 });
  expectInvalidToken(await gateway.ask(head('GET /a', issuer.bearer({ exp: nowS() + 3_700 }))));
  const client = await gateway.connect();
  await client.send(head('GET /a', old));
  await expect.poll(() => client.received.toString()).toContain('tick');

  const push = pushOf(issuer, nowS() - 30);
  expect((await toAdmin(gateway, PUSH_PATH, push)).status).toBe(204);
  expect(await inTime(gateway.time, client.answer())).toMatchObject({ status: 200, complete: false });
  expectInvalidToken(await gateway.ask(head('GET /a', old)));
  expect((await toAdmin(gateway, PUSH_PATH, push)).status).toBe(400);
  const status = JSON.parse((await gateway.admin('/status.json')).text);
  expect(status.provider.revocations).toMatchObject({
    pushedNotBefore: expect.stringMatching(/^20.*Z$/),
    outliveRestart: false,
    keptForSeconds: 3_630,
    keptBy: 'configuration',
  });

  expect((await toAdmin(gateway, PUSH_PATH, pushOf(issuer, 0, { expiration: nowS() + 40 }))).status).toBe(
    204,
  );
  const again = await gateway.connect();
  await again.send(head('GET /a', old));
  await expect.poll(() => again.received.toString()).toContain('tick');
  expect(await gateway.counted('weir_notices_total')).toEqual(
    new Map([
      ['{notice="not_before_push",outcome="accepted"}', 2],
      ['{notice="not_before_push",outcome="refused"}', 1],
    ]),
  );
  expect(gateway.logLines.filter(line => line.includes('"notice"'))).toEqual([
    expect.stringContaining('the provider moved the not-before mark'),
    expect.stringContaining('"reason":"replayed"'),
    expect.stringContaining('the provider withdrew its not-before mark'),
  ]);
});

test('the endpoints take a bounded POST of their kind alone, where the configuration puts them', async () => {
  const { issuer, gateway } = await front({ back_channel_logout: 'admin' });
  const logout = logoutOf(issuer, { sid: 's1' });
  expect((await gateway.admin(LOGOUT_PATH)).status).toBe(405);
  expect((await toAdmin(gateway, PUSH_PATH, pushOf(issuer, nowS()))).status).toBe(405);
  expect((await toAdmin(gateway, LOGOUT_PATH, 'x'.repeat(20_000))).status).toBe(413);
  const url = `http://127.0.0.1:${gateway.adminPort}${LOGOUT_PATH}`;
  const asText = await fetch(url, { method: 'POST', body: `logout_token=${logout}` });
  expect([asText.status, asText.headers.get('cache-control')]).toEqual([400, 'no-store']);
  expect(await asText.json()).toEqual({
    error: 'invalid_request',
    error_description: 'the body must be application/x-www-form-urlencoded',
  });
  // Nothing of it is public.
  for (const path of [LOGOUT_PATH, '/idp/logout'])
    expect((await gateway.ask(withBody(`POST ${path}`, `logout_token=${logout}`))).status).toBe(401);
  const taken = await toAdmin(gateway, LOGOUT_PATH, logout);
  expect([taken.status, taken.headers.get('cache-control'), await taken.text()]).toEqual([
    200,
    'no-store',
    '',
  ]);
});

test('on public paths both work, need no token, and are hidden from routes', async () => {
  const { issuer, gateway, upstream } = await front(PUBLIC);
  const bearer = issuer.bearer({ sid: 's1', iat: nowS() - 60 });
  expect(await statusOf(gateway, bearer)).toBe(200);
  const form = ['Content-Type: application/x-www-form-urlencoded'];
  const send = (token: string) => gateway.ask(withBody('POST /idp/logout', `logout_token=${token}`, ...form));

  const refused = await send(logoutOf(issuer, { sid: 's1', nonce: 'n' }));
  expect([refused.status, header(refused, 'cache-control')]).toEqual([400, 'no-store']);
  expect(JSON.parse(refused.body.toString())).toMatchObject({ error: 'invalid_request' });
  const taken = await send(logoutOf(issuer, { sid: 's1' }));
  expect([taken.status, header(taken, 'cache-control'), taken.bodyBytes]).toEqual([200, 'no-store', 0]);
  expectInvalidToken(await gateway.ask(head('GET /a', bearer)));

  const other = issuer.bearer({ sid: 's2', iat: nowS() - 60 });
  expect(await statusOf(gateway, other)).toBe(200);
  const push = withBody(
    'POST /idp/k_push_not_before',
    pushOf(issuer, nowS() - 30),
    'Content-Type: text/plain',
  );
  expect((await gateway.ask(push)).status).toBe(204);
  expectInvalidToken(await gateway.ask(head('GET /a', other)));
  expect((await gateway.ask(head('GET /idp/logout'))).status).toBe(405);
  const long = withBody('POST /idp/logout', 'x'.repeat(20_000), ...form);
  expect((await gateway.ask(long)).status).toBe(413);
  expect((await toAdmin(gateway, LOGOUT_PATH, logoutOf(issuer, { sid: 's3' }))).status).toBe(405);
  expect(upstream.requests.filter(({ target }) => target.startsWith('/idp'))).toEqual([]);
});

/** Two gateways on a Redis of their own, with one clock; `start` starts another. */
async function replicas(issuer: TestIssuer) {
  const redis = await startRedis();
  onTestFinished(() => redis.close());
  const clock = clockOfTests();
  const start = async () => {
    const config = { store: { redis: `redis://127.0.0.1:${redis.port}`, timeout: '1s' } };
    const { gateway } = await startGatewayOf(issuer, { provider: { notices: ADMIN }, config, clock });
    await redisDecides(gateway);
    return gateway;
  };
  return { redis, start, one: await start(), two: await start() };
}

test('what one gateway is told holds at all of them, at one that starts later, and after Redis lost everything', async () => {
  const issuer = await startIssuer();
  const { redis, start, one, two } = await replicas(issuer);
  const iat = nowS() - 60;
  const [session, subject, others] = [{ sid: 's1' }, { sub: 'bob' }, { sub: 'eve', sid: 's2' }].map(claims =>
    issuer.bearer({ iat, ...claims }),
  ) as [string, string, string];
  for (const each of [session, subject, others]) expect(await statusOf(two, each)).toBe(200);

  const logout = logoutOf(issuer, { sid: 's1', sub: 'alice' });
  expect((await toAdmin(one, LOGOUT_PATH, logout)).status).toBe(200);
  expect((await toAdmin(one, LOGOUT_PATH, logoutOf(issuer, { sub: 'bob' }))).status).toBe(200);
  for (const each of [session, subject]) await refusedAt(two, each);
  // Taken once by all.
  expect((await toAdmin(two, LOGOUT_PATH, logout)).status).toBe(400);
  expect(await statusOf(two, others)).toBe(200);
  expect(await statusOf(two, issuer.bearer({ sub: 'bob', iat: nowS() + 1 }))).toBe(200);

  await toAdmin(one, PUSH_PATH, pushOf(issuer, iat + 1));
  await refusedAt(two, others);
  await toAdmin(two, PUSH_PATH, pushOf(issuer, iat, { expiration: nowS() + 40 }));
  await waitFor('it is lowered', async () => (await statusOf(one, others)) === 200);

  const later = await start();
  expect(await Promise.all([session, subject, others].map(each => statusOf(later, each)))).toEqual([
    401, 401, 200,
  ]);
  await redis.client.flushall();
  const untold = async (gateway: TestGateway) => (await gateway.metric('weir_store_untold')).get('') === 0;
  const isWritten = async () => (await redis.client.zcard('weir:1:{board}:ends')) >= 3;
  await one.time.advanceUntil('they wrote it again', isWritten);
  for (const gateway of [one, two, later])
    await gateway.time.advanceUntil('all is told', () => untold(gateway));
  const last = await start();
  expect(await Promise.all([session, subject, others].map(each => statusOf(last, each)))).toEqual([
    401, 401, 200,
  ]);
  const status = JSON.parse((await last.admin('/status.json')).text);
  // Of alice the session, and what she has without one.
  expect(status.provider.revocations).toMatchObject({ sessions: 2, subjects: 1, outliveRestart: true });
});

/** Opens a page in this browser. */
function open(
  url: string,
  browser: Map<string, string>,
  form?: URLSearchParams,
): Promise<globalThis.Response> {
  const cookie = [...browser].map(([name, value]) => `${name}=${value}`).join('; ');
  return fetch(url, { redirect: 'manual', headers: { cookie }, ...(form && { method: 'POST', body: form }) });
}

test.each([
  ['sid', true],
  ['sub alone', false],
])(
  'a user who signs out at a provider that nobody here wrote is signed out here, by %s',
  async (_, withSid) => {
    const port = await freePort();
    const redirectUri = 'https://app.example/callback';
    const client = {
      client_id: GATEWAY_CLIENT.id,
      client_secret: GATEWAY_CLIENT.secret,
      grant_types: ['authorization_code', 'refresh_token'],
      redirect_uris: [redirectUri],
      backchannel_logout_uri: `http://127.0.0.1:${port}${LOGOUT_PATH}`,
      backchannel_logout_session_required: withSid,
    };
    const provider = await startDemoProvider({ clients: [client] });
    const listen = { http: '127.0.0.1:0', admin: `127.0.0.1:${port}` };
    const settings = { issuer: provider.issuer, provider: { notices: ADMIN }, config: { listen } };
    const { gateway } = await startIdentityGateway(settings);
    await gateway.ready();
    const browser = new Map<string, string>();
    const { code } = await walkLogin(
      await authorizeUrl(gateway),
      redirectUri,
      'alice',
      'wonderland',
      browser,
    );
    const { accessToken, idToken } = json(await redeem(gateway, code, redirectUri));
    const bearer = `Authorization: Bearer ${secret(String(accessToken))}`;
    expect(await statusOf(gateway, bearer)).toBe(200);

    const logout = `${provider.issuer}/protocol/openid-connect/logout`;
    const page = await (await open(`${logout}?id_token_hint=${secret(String(idToken))}`, browser)).text();
    const xsrf = /name="xsrf" value="([^"]+)"/.exec(page)?.[1] ?? expect.fail(page);
    await open(`${logout}/confirm`, browser, new URLSearchParams({ xsrf, logout: 'yes' }));
    await refusedAt(gateway, bearer);
    expect(
      (await gateway.counted('weir_notices_total')).get('{notice="back_channel_logout",outcome="accepted"}'),
    ).toBe(1);
  },
);

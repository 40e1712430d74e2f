import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { GATEWAY_CLIENT } from '../../src/cli/demo/provider/demo-provider.ts';
import { systemClock } from '../../src/core/index.ts';
import { changeConfig, configPart } from '../support/edit-config.ts';
import { expectError, expectInvalidToken } from '../support/error-object.ts';
import { withoutWorkers } from '../support/gateway.ts';
import { accessLines, type IdentitySettings, startGatewayOf } from '../support/identity-gateway.ts';
import { LOGOUT_PATH, logoutOf, toAdmin } from '../support/notices.ts';
import { clientKey, hashOfToken, proofOf } from '../support/proofs.ts';
import { head, withBody } from '../support/requests.ts';
import { scripts } from '../support/scripted-provider.ts';
import { secret } from '../support/secrets.ts';
import { tempText } from '../support/temp.ts';
import { inTime } from '../support/test-clock.ts';
import { startIssuer, type TestIssuer } from '../support/test-issuer.ts';
import { closing, openSocket, startWsServer } from '../support/web-sockets.ts';
import { type Response, values } from '../support/wire/index.ts';
import { clientsOfEach } from '../support/workers.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

type Members = Readonly<Record<string, unknown>>;

/** A gateway whose provider issues opaque tokens, as Ory Hydra does, and knows which of them are active. */
async function front(settings: Omit<IdentitySettings, 'issuer'> = {}, cache = '30s') {
  const issuer = await startIssuer();
  const active = new Map<string, Members>();
  const asked: string[] = [];
  issuer.provider.introspection = (response, socket) => {
    const body = issuer.provider.introspections.at(-1)?.body ?? '';
    const token = new URLSearchParams(body).get('token') ?? '';
    asked.push(token);
    answer(active.get(token), response, socket);
  };
  const tokens = {
    opaque_tokens: { cache },
    principal: ['client_id', 'sub'],
    bots: 'none',
    ...settings.tokens,
  };
  const started = await startGatewayOf(issuer, { ...settings, tokens });
  const issue = (name: string, members: Members = {}) => {
    const token = secret(`ory_at_${name}-${'k'.repeat(20)}.${'s'.repeat(20)}`);
    active.set(token, hydra(issuer, members));
    return token;
  };
  const get = (path: string, token: string): Promise<Response> =>
    started.gateway.ask(head(`GET ${path}`, `Authorization: Bearer ${token}`));
  return { issuer, active, asked, issue, get, ...started };
}

function answer(members: Members | undefined, response: ServerResponse, socket: Socket): void {
  scripts.json(200, members ?? { active: false })(response, socket);
}

/** The members of `introspectedOAuth2Token` in Ory Hydra's API description (v2.2.0), without `ext`, `username` and `obfuscated_subject`. */
function hydra(issuer: TestIssuer, members: Members): Members {
  const { iss, iat, exp, sub, aud } = issuer.claims();
  const kind = { token_type: 'Bearer', token_use: 'access_token' };
  return {
    active: true,
    client_id: 'web',
    scope: 'orders.read offline',
    ...kind,
    iss,
    iat,
    exp,
    nbf: iat,
    sub,
    aud: [aud],
    ...members,
  };
}

test('an opaque token opens routes by what its provider says: caller, scopes and fields', async () => {
  withoutWorkers();
  const { gateway, upstream, asked, issue, get, issuer } = await front({
    routes: [{ path: '/orders', require: { scopes: ['orders.read'] } }],
    tokens: { identity_headers: { 'X-Auth-Subject': 'sub', 'X-Auth-Client': 'client_id' } },
  });
  const [alice, bob] = [issue('alice'), issue('bob', { sub: 'bob', scope: 'offline' })];
  expect((await get('/orders', alice)).status).toBe(200);
  expect((await get('/orders', bob)).status).toBe(403);
  expect((await get('/a', bob)).status).toBe(200);
  // Each was asked about once; a JWT of the same provider never.
  expect((await gateway.ask(head('GET /a', issuer.bearer({ client_id: 'web' })))).status).toBe(200);
  expect(asked).toEqual([alice, bob]);
  const { fields = [] } = upstream.requests[0] ?? {};
  expect(values(fields, 'x-auth-subject')).toEqual(['alice']);
  expect(values(fields, 'authorization')).toEqual([`Bearer ${alice}`]);
  await expect.poll(() => accessLines(gateway).length).toBe(4);
  expect(accessLines(gateway)[0]).toMatchObject({ class: 'user', caller: expect.any(String) });
});

test('an unknown opaque token is 401, a provider that cannot say 503, and neither stands for the other', async () => {
  const { issuer, asked, issue, get } = await front();
  expectInvalidToken(await get('/a', 'unknown'));
  for (const script of [
    scripts.json(200, { active: 'true' }),
    scripts.json(200, {}),
    scripts.json(200, { active: null }),
    scripts.json(500, {}),
    scripts.html(200),
  ]) {
    issuer.provider.introspection = script;
    expectError(await get('/a', issue(`t${asked.length}-${issuer.provider.introspections.length}`)), 503, 14);
  }
});

test('without opaque_tokens an opaque token is malformed, and the provider is not asked', async () => {
  const { asked, issue, get } = await front({ tokens: { opaque_tokens: 'off' } });
  expectInvalidToken(await get('/a', issue('alice')));
  expect(asked).toEqual([]);
});

test('a token that its provider revokes is refused within the cache time, within that of the route if it is shorter', async () => {
  withoutWorkers();
  const clock = new FrozenClock(Date.now());
  const { active, issue, get } = await front({
    clock,
    routes: [{ path: '/strict/**', introspection: { cache: '2s' } }],
  });
  const token = issue('alice');
  for (const path of ['/a', '/strict/a']) expect((await get(path, token)).status).toBe(200);
  active.delete(token);
  clock.advance(1_999);
  for (const path of ['/a', '/strict/a']) expect((await get(path, token)).status).toBe(200);
  clock.advance(1);
  expect((await get('/a', token)).status).toBe(200);
  expectInvalidToken(await get('/strict/a', token));
  expectInvalidToken(await get('/a', token));
});

test.each(['accepted', 'required'] as const)(
  'an opaque token that its provider binds to a key needs a proof of it where DPoP is %s',
  async dpop => {
    withoutWorkers();
    const { gateway, upstream, asked, issue, get } = await front({ tokens: { dpop } });
    const [own, foreign] = [clientKey(), clientKey()];
    const bound = issue('bound', { token_type: 'DPoP', cnf: own.cnf });
    const unbound = issue('unbound');
    const proof = (more = {}, key = own) =>
      secret(proofOf(key, { htu: 'http://gateway.test/a', ath: hashOfToken(bound), ...more }));
    const prove = (text: string, token = bound) =>
      gateway.ask(head('GET /a', `Authorization: DPoP ${token}`, `DPoP: ${text}`));
    const used = proof();
    expect((await prove(used)).status).toBe(200);
    expect(values(upstream.onlyRequest.fields, 'authorization')).toEqual([`Bearer ${bound}`]);
    const refusals = [
      [prove(used), 'proof_replayed'],
      [prove(proof({ ath: hashOfToken(unbound) })), 'proof_token'],
      [prove(proof({}, foreign)), 'proof_key'],
      [get('/a', bound), 'proof_scheme'],
      [prove(proof(), unbound), 'unbound'],
    ] as const;
    for (const [response, reason] of refusals) expect((await response).status, reason).toBe(401);
    expect((await get('/a', unbound)).status).toBe(dpop === 'accepted' ? 200 : 401);
    // A known token costs no further question, whatever its proofs.
    expect((await prove(proof())).status).toBe(200);
    expect(asked).toEqual([bound, unbound]);
    await expect.poll(() => accessLines(gateway).length).toBe(8);
    const reasons = accessLines(gateway).map(line => line['tokenRefused']);
    expect(reasons.filter(reason => reason !== undefined).sort()).toEqual(
      [...refusals.map(([, reason]) => reason), ...(dpop === 'accepted' ? [] : ['unbound'])].sort(),
    );
  },
);

test('random tokens cost the provider no more than the budget of their address', async () => {
  withoutWorkers();
  const clock = new FrozenClock(Date.now());
  const { asked, issue, get } = await front({ clock, limits: { failed_verifications: '5/1m' } });
  const known = issue('alice');
  expect((await get('/a', known)).status).toBe(200);
  const statuses: number[] = [];
  for (let i = 0; i < 40; i += 1) statuses.push((await get('/a', `random-${i}`)).status);
  // Five, and ten in the second after that.
  expect(statuses).toEqual([...Array(15).fill(401), ...Array(25).fill(429)]);
  expect(asked).toHaveLength(16);
  clock.advance(31_000);
  expect((await get('/a', known)).status).toBe(200);
});

test('random tokens draw on one budget of their address, whichever worker they come to', async () => {
  const { gateway, asked } = await front({
    config: {
      workers: 2,
      routes: [
        { path: '/**', upstream: 'api' },
        { path: '/things', upstream: 'api', authentication: 'none' },
      ],
    },
    limits: { failed_verifications: '50/1m' },
  });
  const clients = await clientsOfEach(gateway, 2);
  const startedMs = systemClock.monotonicMs();
  const statuses: number[] = [];
  for (let i = 0; i < 80; i += 1)
    for (const [worker, client] of clients.entries()) {
      const bearer = `Authorization: Bearer random-${worker}-${i}`;
      statuses.push((await client.ask(head('GET /a', bearer))).status);
    }
  // Ten a second come on top of the budget, as time goes by for workers: two budgets would let all 160 through.
  const seconds = Math.ceil((systemClock.monotonicMs() - startedMs) / 1_000);
  expect(asked.length).toBeGreaterThanOrEqual(60);
  expect(asked.length).toBeLessThanOrEqual(60 + 10 * seconds);
  expect(statuses.filter(status => status === 401)).toHaveLength(asked.length);
  expect(statuses.filter(status => status === 429)).toHaveLength(160 - asked.length);
});

test('questions about opaque tokens have places of their own: routes that ask about JWTs find theirs free', async () => {
  // A quarter of these for an address is one, at all workers together.
  const { gateway, issuer, asked, issue, get } = await front({
    config: { workers: 2 },
    provider: { max_in_flight: 4 },
    routes: [{ path: '/strict/**', introspection: { cache: '2s' } }],
  });
  const atOnce = issuer.provider.introspection;
  const held: (() => void)[] = [];
  const token = issue('alice');
  issuer.provider.introspection = (response, socket) =>
    void held.push(() => answer(undefined, response, socket));
  const waiting = get('/a', token);
  await expect.poll(() => held.length).toBe(1);
  expectError(await get('/a', issue('bob')), 503, 14);
  issuer.provider.introspection = scripts.json(200, { active: true });
  const jwt = issuer.bearer({ client_id: 'web' });
  expect((await gateway.ask(head('GET /strict/a', jwt))).status).toBe(200);
  for (const each of held) each();
  expectInvalidToken(await waiting);
  issuer.provider.introspection = atOnce;
  expect(asked).toEqual([]);
});

test('all workers together ask once about a token, at the same time or later', async () => {
  const { gateway, issuer, active, asked, issue } = await front({
    config: {
      workers: 2,
      routes: [
        { path: '/**', upstream: 'api' },
        { path: '/things', upstream: 'api', authentication: 'none' },
      ],
    },
  });
  const [clients, others] = [await clientsOfEach(gateway, 2), await clientsOfEach(gateway, 2)];
  const askEach = (token: string, by = clients) =>
    Promise.all(by.map(client => client.ask(head('GET /a', `Authorization: Bearer ${token}`))));
  const statuses = (answers: readonly Response[]) => answers.map(({ status }) => status);
  // Answers about one token only after both workers were answered about another, so both have asked.
  const atOnce = issuer.provider.introspection;
  const token = issue('alice');
  const held: (() => void)[] = [];
  issuer.provider.introspection = (response, socket) => {
    const isHeld = issuer.provider.introspections.at(-1)?.body.includes(token) === true;
    if (isHeld) held.push(() => answer(active.get(token), response, socket));
    else answer(undefined, response, socket);
  };
  const both = askEach(token);
  await expect.poll(() => held.length).toBeGreaterThan(0);
  expect(statuses(await askEach('another', others))).toEqual([401, 401]);
  expect(held).toHaveLength(1);
  for (const each of held) each();
  expect(statuses(await both)).toEqual([200, 200]);
  issuer.provider.introspection = atOnce;
  expect(statuses(await askEach(token))).toEqual([200, 200]);
  expect(asked).toEqual([]);
  const own = issue('bob');
  const [first, second] = clients;
  expect((await first?.ask(head('GET /a', `Authorization: Bearer ${own}`)))?.status).toBe(200);
  expect((await second?.ask(head('GET /a', `Authorization: Bearer ${own}`)))?.status).toBe(200);
  expect(asked).toEqual([own]);
});

test('a logout that the provider announces, or a token that it revokes, ends WebSockets too', async () => {
  const notices = { back_channel_logout: 'admin' };
  const server = (await startWsServer()).echo();
  const { gateway, issuer, active, issue, get } = await front({
    provider: { notices },
    config: {
      upstreams: { api: { url: `http://127.0.0.1:${server.port}` } },
      routes: [{ path: '/**', upstream: 'api', websocket: true }],
    },
  });
  const tokens = [issue('alice', { sid: 's1' }), issue('bob', { sub: 'bob' })];
  const sockets = await Promise.all(
    tokens.map(token => openSocket(gateway, '/', { headers: { Authorization: `Bearer ${token}` } })),
  );
  const ended = sockets.map(closing);
  const logout = logoutOf(issuer, { sid: 's1', sub: 'alice' });
  expect((await toAdmin(gateway, LOGOUT_PATH, logout)).status).toBe(200);
  expect(await inTime(gateway.time, ended[0] ?? Promise.reject())).toEqual([1008, 'token revoked']);
  expectInvalidToken(await get('/a', tokens[0] ?? ''));
  active.clear();
  expect(await inTime(gateway.time, ended[1] ?? Promise.reject())).toEqual([1008, 'token revoked']);
});

test('a WebSocket is asked about with the secret in use, and not with that of its beginning', async () => {
  const server = (await startWsServer()).echo();
  const { gateway, issuer, active, issue } = await front({
    config: {
      upstreams: { api: { url: `http://127.0.0.1:${server.port}` } },
      routes: [{ path: '/**', upstream: 'api', websocket: true }],
    },
  });
  const socket = await openSocket(gateway, '/', { headers: { Authorization: `Bearer ${issue('alice')}` } });
  const ended = closing(socket);
  const rotated = secret('nextClientSecret');
  const provider = await configPart(gateway, 'identity_provider');
  await changeConfig(gateway, {
    identity_provider: { ...provider, client_secret_file: await tempText('client-secret', rotated) },
  });
  await gateway.app.reload();
  issuer.provider.introspection = (response, socket) => {
    const { headers, body = '' } = issuer.provider.introspections.at(-1) ?? {};
    const isRight = headers?.authorization === `Basic ${btoa(`${GATEWAY_CLIENT.id}:${rotated}`)}`;
    const token = new URLSearchParams(body).get('token') ?? '';
    if (isRight) answer(active.get(token), response, socket);
    else scripts.json(401, { error: 'invalid_client' })(response, socket);
  };
  active.clear();
  expect(await inTime(gateway.time, ended)).toEqual([1008, 'token revoked']);
});

test('signing out ends an opaque token, whatever its provider says of it afterwards', async () => {
  const signOut = '/v1/users/sign-out';
  const { gateway, issue, get } = await front({ config: { sign_in: { sign_out: signOut } } });
  const [token, other] = [issue('alice'), issue('alice-elsewhere')];
  for (const each of [token, other]) expect((await get('/a', each)).status).toBe(200);
  const body = JSON.stringify({ refreshToken: secret('marker-refresh-token') });
  const signedOut = await gateway.ask(withBody(`POST ${signOut}`, body, `Authorization: Bearer ${token}`));
  expect(signedOut.status).toBe(204);
  expectInvalidToken(await get('/a', token));
  expect((await get('/a', other)).status).toBe(200);
});

test('a sign-in that hands out opaque tokens is silent where calls accept them, and says what is wrong where not', async () => {
  withoutWorkers();
  const { gateway, issuer, asked, issue } = await front();
  const signIn = async (token: string) => {
    issuer.provider.token = scripts.json(200, { access_token: token, token_type: 'bearer', expires_in: 60 });
    const body = JSON.stringify({ code: secret('marker-code'), redirectUri: 'https://app.example/callback' });
    return gateway.ask(withBody('POST /v1/anonymous/auth', body));
  };
  const warnings = () => gateway.logLines.filter(line => line.includes('that this gateway refuses'));
  expect((await signIn(issue('alice'))).status).toBe(200);
  await expect.poll(() => asked.length).toBe(1);
  expect(warnings()).toEqual([]);
  await signIn(issue('bob', { aud: ['other'] }));
  await expect.poll(warnings).toEqual([expect.stringContaining('"reason":"audience"')]);
});

import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { ADMIN_TOKEN, ApiClient } from '../support/admin-api.ts';
import { changeConfig } from '../support/edit-config.ts';
import {
  askOnce,
  askTimes,
  type LimitedGateway,
  refusalOf,
  startLimited,
  statusesOf,
} from '../support/limits.ts';
import { tempText } from '../support/temp.ts';
import { connectRaw } from '../support/wire/index.ts';

const limits = {
  global: { user: '10000/1s', bot: '10000/1s', address: '10000/1s' },
  invalid_requests: { limit: '2/60s', restrict_for: '10m' },
};

async function start(listen = '127.0.0.1:0'): Promise<LimitedGateway & { readonly api: ApiClient }> {
  const token_file = await tempText('admin-token', ADMIN_TOKEN);
  const sign_in = { refresh: '/refresh', sign_out: '/sign-out' };
  const config = { sign_in, listen: { http: '127.0.0.1:0', admin: { address: listen, token_file } } };
  const front = await startLimited(limits, { config });
  return { ...front, api: await ApiClient.of(front.gateway) };
}

test('every operation answers as /openapi.json says, which is a valid document', async () => {
  const { api, gateway, issuer, ...front } = await start();
  expect(await api.errors()).toEqual([]);
  await askTimes({ ...front, gateway, issuer }, 3, 'GET /a');
  const listed = await api.call('GET', '/api/restrictions');
  expect(listed.body).toEqual({
    total: 1,
    restrictions: [
      {
        id: expect.any(String),
        kind: 'address',
        reason: 'invalid_requests',
        since: expect.any(String),
        until: expect.any(String),
        address: '127.0.0.1',
        caller: null,
      },
    ],
  });
  const { id } = (listed.body as { restrictions: [{ id: string }] }).restrictions[0];
  expect((await api.call('DELETE', `/api/restrictions/${id}`)).status).toBe(204);
  expect((await api.call('DELETE', `/api/restrictions/${id}`)).status).toBe(404);
  const bob = { client: 'app', subject: 'bob', for: '5m' };
  expect(await api.call('POST', '/api/restrictions', { body: bob })).toMatchObject({
    status: 201,
    body: {
      kind: 'principal',
      reason: 'operator',
      address: null,
      caller: expect.stringMatching(/^[\w-]{22}$/),
    },
  });
  expect((await api.call('GET', '/api/buckets?address=127.0.0.1')).status).toBe(200);
  expect((await api.call('DELETE', '/api/buckets?address=127.0.0.1')).status).toBe(200);
  const shown = await api.call('GET', '/api/config');
  const running = JSON.parse((await gateway.admin('/status.json')).text).configuration;
  expect(shown.body).toMatchObject({
    hash: running.hash,
    files: running.files,
    gateway: { timeouts: { client_body: expect.any(String) } },
    limits: { global: limits.global, invalid_requests: limits.invalid_requests, window_slack: '20ms' },
  });
  expect((await api.call('GET', '/api/explain?method=GET&path=/a')).status).toBe(200);
  expect((await api.call('GET', '/api/refused')).body).toEqual({ networks: [] });
  expect((await api.call('GET', '/api/upstreams')).body).toMatchObject({
    upstreams: [{ name: 'api', lookupFault: null, endpoints: [{ state: 'used', why: null }] }],
  });
  const base = `http://127.0.0.1:${gateway.port}`;
  await api.callAt(base, 'GET', '/v1/anonymous/authorize-url', {});
  await api.callAt(base, 'POST', '/v1/anonymous/auth', { body: '{}' });
  const body = '{"refreshToken":"a-refresh-token"}';
  const [json, authorization] = [{ 'content-type': 'application/json' }, `Bearer ${issuer.token()}`];
  const refreshed = await api.callAt(base, 'POST', '/refresh', { body, headers: json });
  const signedOut = await api.callAt(base, 'POST', '/sign-out', {
    body,
    headers: { ...json, authorization },
  });
  expect([refreshed.status, signedOut.status]).toEqual([200, 204]);
  expect([...api.called].sort()).toEqual(api.described.sort());
});

test('a client that resets its connection before it is accepted changes nothing, since nobody would be named', async () => {
  const { api, gateway } = await start();
  const body = JSON.stringify({ address: '192.0.2.7', for: '5m' });
  const head = `POST /api/restrictions HTTP/1.1\\r\\nHost: localhost\\r\\nAuthorization: Bearer ${ADMIN_TOKEN}\\r\\nContent-Type: application/json\\r\\nContent-Length: ${body.length}\\r\\n\\r\\n`;
  const send = `const s = require('net').connect(${gateway.adminPort}, '127.0.0.1', () => s.write('${head}${body}', () => s.resetAndDestroy()))`;
  // In this process nothing is accepted meanwhile.
  execFileSync(process.execPath, ['-e', send]);
  expect((await api.call('GET', '/api/restrictions')).body).toEqual({ total: 0, restrictions: [] });
  expect(gateway.logLines.map(line => JSON.parse(line)).filter(({ type }) => type === 'admin')).toEqual([]);
});

const BROKEN: readonly (readonly [string, unknown])[] = [
  ['no client', { for: '1m' }],
  ['two', { address: '192.0.2.7', subject: 'alice', for: '1m' }],
  ['an address that is not one', { address: 'localhost', for: '1m' }],
  ['a part of the claims', { subject: 'alice', for: '1m' }],
  ['no time', { address: '192.0.2.7' }],
  ['no time at all', { address: '192.0.2.7', for: '0s' }],
  ['more than a day', { address: '192.0.2.7', for: '25h' }],
  ['a key that it does not know', { address: '192.0.2.7', for: '1m', until: 'tomorrow' }],
  ['something else', '[]'],
  ['no JSON', '{'],
];

describe('a restriction', () => {
  test('that is lifted is over at once, and the client begins with a clean record', async () => {
    const front = await start();
    await askTimes(front, 3, 'GET /a');
    expect((await askOnce(front, 'GET /a', front.issuer.bearer())).status).toBe(429);
    const { body } = await front.api.call('GET', '/api/restrictions?address=127.0.0.1');
    const [{ id }] = (body as { restrictions: [{ id: string }] }).restrictions;
    await front.api.call('DELETE', `/api/restrictions/${id}`);
    expect((await askOnce(front, 'GET /a', front.issuer.bearer())).status).toBe(200);
    expect(statusesOf(await askTimes(front, 4, 'GET /a'))).toEqual([401, 401, 401, 429]);
    expect(
      front.gateway.logLines.map(line => JSON.parse(line)).filter(({ type }) => type === 'admin'),
    ).toEqual([
      expect.objectContaining({ change: 'restriction_lifted', client: '127.0.0.1', address: '127.0.0.1' }),
    ]);
    const changes = await front.gateway.counted('weir_admin_changes_total');
    expect(changes).toEqual(new Map([['{change="restriction_lifted"}', 1]]));
  });

  test('that is added refuses that caller alone, whose pseudonym is that of the log', async () => {
    const front = await start();
    const claims = front.issuer.claims();
    const who = { client: claims['azp'], subject: claims['sub'] };
    const added = await front.api.call('POST', '/api/restrictions', { body: { ...who, for: '1m' } });
    const refused = await askOnce(front, 'GET /a', front.issuer.bearer());
    expect([refused.status, JSON.parse(String(refused.body)).code]).toEqual([429, 8]);
    expect((await askOnce(front, 'GET /a', front.issuer.bearer({ sub: 'somebody-else' }))).status).toBe(200);
    const lines = front.gateway.logLines.map(line => JSON.parse(line));
    const line = lines.find(({ type, status }) => type === 'access' && status === 429);
    expect(line.caller).toBe((added.body as { caller: string }).caller);
    const query = new URLSearchParams({ client: String(who.client), 'claims[sub]': String(who.subject) });
    expect((await front.api.call('GET', `/api/restrictions?${query}`)).body).toMatchObject({ total: 1 });
  });
});

describe('a restriction by an operator', () => {
  const body = { address: '127.0.0.1', for: '20m' };

  test('tells the client nothing but the wait', async () => {
    const front = await start();
    await front.api.call('POST', '/api/restrictions', { body });
    const refused = refusalOf(await askOnce(front, 'GET /a'));
    expect(refused).toMatchObject({
      message: 'This client is restricted for a time. Try again after the wait.',
      global: true,
      code: 8,
    });
    expect(refused['retry_after']).toBeGreaterThan(1_100);
  });
});

describe('the API', () => {
  test('takes a restriction only if all of it is right, and JSON alone', async () => {
    const { api } = await start();
    for (const [what, body] of BROKEN)
      expect((await api.call('POST', '/api/restrictions', { body })).status, what).toBe(400);
    const headers = { 'Content-Type': 'text/plain' };
    expect((await api.call('POST', '/api/restrictions', { body: '{}', headers })).status).toBe(415);
    expect((await api.call('POST', '/api/restrictions', { body: ' '.repeat(20_000) })).status).toBe(413);
    const { headers: given } = await api.call('GET', '/api/restrictions');
    expect([...given.keys()].filter(name => name.startsWith('access-control-'))).toEqual([]);
    expect(given.get('cache-control')).toBe('no-store');
    const preflight = await api.call('OPTIONS', '/api/restrictions', { token: null });
    expect([preflight.status, preflight.headers.get('allow')]).toEqual([405, 'GET, POST']);
  });

  test('changes nothing without the token, and says who sent a wrong one', async () => {
    const { api, gateway } = await start();
    const body = { address: '192.0.2.7', for: '1m' };
    for (const token of [null, 'w'.repeat(32)])
      expect((await api.call('POST', '/api/restrictions', { body, token })).status).toBe(401);
    expect((await api.call('GET', '/api/restrictions', { token: null })).body).toMatchObject({ total: 0 });
    const lines = gateway.logLines.map(line => JSON.parse(line)).filter(({ type }) => type === 'admin');
    expect(lines).toEqual([expect.objectContaining({ reason: 'wrong_token', address: '127.0.0.1' })]);
  });

  test.each(['127.0.0.1:0', '0.0.0.0:0'])(
    'and all else on %s is kept from pages that lead their own name to loopback',
    async listen => {
      const { gateway } = await start(listen);
      const refused = listen.startsWith('127') ? 403 : 200;
      for (const path of ['/metrics', '/healthz', '/readyz', '/status', '/status.json', '/openapi.json'])
        for (const [host, status] of [
          ['rebound.evil.test', refused],
          ['localhost', 200],
          ['10.1.2.3:9090', 200],
        ] as const) {
          const client = await connectRaw(gateway.adminPort);
          const answer = await client.ask(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
          expect([path, host, answer.status]).toEqual([path, host, status]);
          client.destroy();
        }
    },
  );

  test('follows its token: after a reload the new one counts and the old one no longer', async () => {
    const { api, gateway } = await start('0.0.0.0:0');
    expect((await api.call('GET', '/api/restrictions', { token: null })).status).toBe(401);
    const renewed = 'n'.repeat(40);
    const token_file = await tempText('renewed', renewed);
    await changeConfig(gateway, {
      listen: { http: '127.0.0.1:0', admin: { address: '0.0.0.0:0', token_file } },
    });
    await gateway.app.reload();
    expect((await api.call('GET', '/api/restrictions', { token: renewed })).status).toBe(200);
    expect((await api.call('GET', '/api/restrictions')).status).toBe(401);
    // The platform never needs it.
    for (const path of ['/metrics', '/healthz', '/status', '/openapi.json'])
      expect((await gateway.admin(path)).status, path).toBe(200);
  });
});

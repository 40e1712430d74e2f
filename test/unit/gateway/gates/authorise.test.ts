import { describe, expect, test } from 'vitest';
import { ConnectionMemory } from '../../../../src/gateway/index.ts';
import { apiKeyOf, digestOfApiKey } from '../../../../src/identity/auth/index.ts';
import { answering, bareGateway, type Sending, silence } from '../../../support/bare-gateway.ts';
import { fieldOf, rateFieldsOf, rateOf, statusesOf } from '../../../support/rate-fields.ts';
import { type Response, values } from '../../../support/wire/index.ts';

const ALICE: Sending = { as: true };
const BOB: Sending = { as: { sub: 'bob' } };
const FORGED: Sending = { fields: ['Authorization', 'Bearer forged'] };
const CHALLENGE = 'Bearer error="insufficient_scope", scope="orders.read profile"';
const MAYBE = { path: '/maybe', authentication: 'optional' };

function expectForbidden(response: Response, challenge: string | null = CHALLENGE): void {
  expect(JSON.parse(response.body.toString())).toMatchObject({ code: 7 });
  expect([response.status, fieldOf(response, 'www-authenticate')]).toEqual([403, challenge ?? undefined]);
  expect(rateFieldsOf(response)).toEqual([]);
}

describe('a request without a valid token', () => {
  test.each<[string, Sending, string]>([
    ['none', {}, 'Bearer'],
    ['no valid one', FORGED, 'Bearer error="invalid_token"'],
    ['one of another scheme', { fields: ['Authorization', 'Basic eA=='] }, 'Bearer'],
  ])(
    'is 401 where the route requires one, and goes on where it does not: %s',
    async (_, sending, challenge) => {
      const bare = await bareGateway({}, { routes: [MAYBE] });
      const refused = await bare.ask('GET /a', sending);
      expect([refused.status, fieldOf(refused, 'www-authenticate')]).toEqual([401, challenge]);
      expect(bare.requests).toEqual([]);
      const optional = await bare.ask('GET /maybe', sending);
      expect((await bare.ask('GET /open/a', sending)).status).toBe(200);
      expect(optional.status).toBe(200);
      expect(bare.requests[0]?.fields).not.toContain('Authorization');
    },
  );
});

describe('a request to a route that accepts API keys', () => {
  const [key, other] = [apiKeyOf(Buffer.alloc(32, 1)), apiKeyOf(Buffer.alloc(32, 2))];
  const by = (sent: string): Sending => ({ fields: ['X-API-Key', sent] });
  const OF_KEYS = 'ApiKey header="X-API-Key"';
  const WRONG = `${OF_KEYS}, error="invalid_key"`;
  const routes = [
    { path: '/keys', accept: ['api_key'] },
    { path: '/either', accept: ['token', 'api_key'] },
    { path: '/scoped', accept: ['api_key'], require: { scopes: ['a'] } },
  ];
  const files = { 'keys.yaml': `[{ name: partner, sha256: ${digestOfApiKey(key)} }]` };
  const start = () => bareGateway({}, { routes, files, config: { api_keys: { file: 'errors/keys.yaml' } } });

  test.each<[string, Sending, string[]]>([
    ['/a', by(key), ['Bearer']],
    ['/keys', {}, [OF_KEYS]],
    ['/keys', FORGED, [OF_KEYS]],
    ['/keys', by(other), [WRONG]],
    ['/keys', by(`${key}x`), [WRONG]],
    ['/either', {}, ['Bearer', OF_KEYS]],
    ['/either', by(other), ['Bearer', WRONG]],
    ['/either', FORGED, ['Bearer error="invalid_token"', OF_KEYS]],
  ])('is told what the route accepts if it has nothing valid: %s %j', async (path, sending, challenges) => {
    const bare = await start();
    const { status, fields } = await bare.ask(`GET ${path}`, sending);
    expect([status, values(fields, 'www-authenticate')]).toEqual([401, challenges]);
    expect(bare.requests).toEqual([]);
  });

  test('is served with a valid key, or told that the key has no right to it and not which', async () => {
    const bare = await start();
    for (const path of ['/keys', '/either'])
      expect((await bare.ask(`GET ${path}`, by(key))).status).toBe(200);
    const response = await bare.ask('GET /scoped', by(key));
    expectForbidden(response, null);
    expect(response.body.toString()).toContain('This API key may not be used here.');
    expect((await bare.ask('GET /scoped', by(other))).status).toBe(401);
    expect(bare.records.at(-1)?.tokenRefused?.reason).toBe('unknown_api_key');
  });
});

describe('a route that requires rights', () => {
  const A = { authentication: 'required', require: { scopes: ['a'] } };
  const url = 'http://127.0.0.1:1';
  const config = { cors: { origins: ['https://app.test'] }, upstreams: { api: { url }, next: { url } } };
  const routes = [
    { path: '/orders', require: { scopes: ['orders.read', 'profile'] } },
    { path: '/clerks', require: { roles: ['clerk'] } },
    { path: '/optional', authentication: 'optional', require: { scopes: ['orders.read', 'profile'] } },
    { path: '/text', ...A, upstream: undefined, respond: { status: 200, body: 'text' } },
    { path: '/there', ...A, upstream: undefined, redirect: { to: '/text' } },
  ];
  const shared = { path: '/shared', ...A, upstream: { api: 50, next: 50 } };
  const scoped = (scope: unknown): Sending => ({ as: { scope } });

  test.each<[unknown, boolean]>([
    ['openid profile orders.read', true],
    ['orders.read profile', true],
    ...['openid profile', 'orders.readall profile', 'Orders.Read profile', '', undefined, 7].map(
      scope => [scope, false] as [unknown, boolean],
    ),
  ])(
    'serves callers who have all of them, and tells others which ones it needs: %j: %j',
    async (scope, isServed) => {
      const bare = await bareGateway({}, { routes });
      for (const line of ['GET /orders', 'GET /optional']) {
        const response = await bare.ask(line, scoped(scope));
        if (isServed) expect(response.status).toBe(200);
        else expectForbidden(response);
      }
    },
  );

  test('needs a token even where it says optional', async () => {
    const bare = await bareGateway({}, { routes });
    expect(statusesOf([await bare.ask('GET /optional'), await bare.ask('GET /optional', FORGED)])).toEqual([
      401, 401,
    ]);
  });

  test('names no roles, and judges each token on a connection by itself', async () => {
    const bare = await bareGateway({}, { routes });
    const on = new ConnectionMemory(true);
    for (const roles of [['clerk'], ['other'], ['clerk'], []]) {
      const response = await bare.ask('GET /clerks', { as: { realm_access: { roles } }, on });
      if (roles[0] === 'clerk') expect(response.status).toBe(200);
      else expectForbidden(response, null);
    }
    expect(bare.records[1]?.error?.cause).toBe('the token lacks roles that the route requires: clerk');
  });

  test.each([
    ['/text', 200],
    ['/there', 308],
    ['/shared', 200],
  ])('keeps what no service answers, and what several do, from others as well: %s', async (path, status) => {
    const bare = await bareGateway({}, { routes: [...routes, shared], config });
    const asked = [{}, scoped('b'), scoped('a')].map(sending => bare.ask(`GET ${path}`, sending));
    expect(statusesOf(await Promise.all(asked))).toEqual([401, 403, status]);
    expect(bare.requests).toHaveLength(path === '/shared' ? 1 : 0);
  });

  test('asks nothing of a preflight, which carries no token', async () => {
    const bare = await bareGateway({}, { routes, config });
    const fields = ['Origin', 'https://app.test', 'Access-Control-Request-Method', 'GET'];
    expect((await bare.ask('OPTIONS /orders', { fields })).status).toBe(204);
  });

  test('has what others ask draw on their global limit only, and learn nothing of a full upstream', async () => {
    const limits = {
      global: { user: '3/1m' },
      buckets: { orders: { user: '9/1m' } },
      routes: { '/orders': 'orders' },
    };
    const bare = await bareGateway(limits, { routes, api: { max_requests: 1 } });
    bare.service = silence;
    const held = bare.send('GET /a', { as: { sub: 'carol' } });
    bare.service = answering(200);
    for (let n = 0; n < 3; n++) expectForbidden(await bare.ask('GET /orders', ALICE));
    expect(fieldOf(await bare.ask('GET /orders', ALICE), 'x-ratelimit-global')).toBe('true');
    held.leave();
    const served = await bare.ask('GET /orders', { as: { sub: 'bob', scope: 'orders.read profile' } });
    expect(rateOf(served).remaining).toBe(8);
  });

  test('counts what others ask as invalid', async () => {
    const bare = await bareGateway({ invalid_requests: { limit: '2/10m', restrict_for: '10m' } }, { routes });
    for (let n = 0; n < 3; n++) expectForbidden(await bare.ask('GET /orders', ALICE));
    expect((await bare.ask('GET /a', BOB)).status).toBe(429);
  });
});

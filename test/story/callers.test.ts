import { describe, expect, test } from 'vitest';
import { expectUnauthenticated } from '../support/error-object.ts';
import { type IdentitySettings, startGatewayOf } from '../support/identity-gateway.ts';
import { head } from '../support/requests.ts';
import { secret } from '../support/secrets.ts';
import { aMinuteAgo, startIssuer } from '../support/test-issuer.ts';
import { type CapturedRequest, values } from '../support/wire/index.ts';

const ROUTES = [
  { path: '/optional', authentication: 'optional' },
  { path: '/none', authentication: 'none' },
];

async function front(settings: Omit<IdentitySettings, 'issuer'> = {}) {
  const issuer = await startIssuer();
  return { issuer, ...(await startGatewayOf(issuer, { routes: ROUTES, ...settings })) };
}

/** What the upstream learnt of the sender. */
function told(request: CapturedRequest | undefined) {
  const fields = request?.fields ?? [];
  return {
    subject: values(fields, 'x-auth-subject'),
    client: values(fields, 'x-auth-client'),
    authorization: values(fields, 'authorization'),
  };
}

const NOBODY = { subject: [], client: [], authorization: [] };

describe('an upstream learns who calls from the gateway alone', () => {
  const claims = [
    ...['X-Auth-Subject: admin', 'x-auth-subject: admin', 'X-AUTH-SUBJECT: admin', 'X_Auth_Subject: admin'],
    ...['X-Auth_Subject: admin', 'x_auth_client: admin', 'X-Auth-Client: admin', 'X-Auth-Client:'],
  ];

  test.each([
    ['each in turn', claims.map(claim => [claim])],
    ['all together', [claims]],
    ['named in Connection', [[...claims, 'Connection: X-Auth-Subject, X-Auth-Client, Authorization']]],
  ])('whatever the client claims (%s)', async (_, requests) => {
    const { issuer, gateway, upstream } = await front();
    const token = issuer.token();
    const authorization = `Authorization: Bearer ${token}`;
    for (const lines of requests) {
      upstream.forget();
      for (const target of ['/things', '/optional']) {
        expect((await gateway.ask(head(`GET ${target}`, authorization, ...lines))).status).toBe(200);
      }
      for (const target of ['/optional', '/none']) {
        expect((await gateway.ask(head(`GET ${target}`, ...lines))).status).toBe(200);
      }
      const alice = { subject: ['alice'], client: ['app'], authorization: [`Bearer ${token}`] };
      expect(upstream.requests.map(told)).toEqual([alice, alice, NOBODY, NOBODY]);
      for (const request of upstream.requests) expect(request.head.toString()).not.toMatch(/admin|auth_/i);
    }
  });

  test('by each request’s own token, on one connection', async () => {
    const { issuer, gateway, upstream } = await front();
    const client = await gateway.connect();
    await client.ask(head('GET /things', issuer.bearer({ sub: 'alice' })));
    await client.ask(head('GET /optional'));
    await client.ask(head('GET /things', issuer.bearer({ sub: 'bob' })));
    expectUnauthenticated(await client.ask(head('GET /things')));
    expect(upstream.requests.map(request => told(request).subject)).toEqual([['alice'], [], ['bob']]);
  });

  test('in a form that no reader can misread', async () => {
    const { issuer, gateway, upstream } = await front({
      tokens: { identity_headers: { 'X-Auth-Subject': 'name' } },
    });
    const rows: [string, unknown, string[]][] = [
      ['letters outside ASCII', 'jürgen 🦦', ['j%C3%BCrgen%20%F0%9F%A6%A6']],
      ['the end of a line', 'a\r\nX-Auth-Client: admin', ['a%0D%0AX-Auth-Client:%20admin']],
      ['a list', ['alice', 'b,c', {}], ['alice,b%2Cc']],
      ['an object', { name: 'alice' }, []],
    ];
    for (const [name, claim, expected] of rows) {
      const line = issuer.bearer({ name: claim });
      expect((await gateway.ask(head('GET /things', line, 'X-Auth-Subject: admin'))).status).toBe(200);
      expect(told(upstream.requests.at(-1)).subject, name).toEqual(expected);
    }
  });
});

describe('the token itself', () => {
  test('is not forwarded if the upstream must not have it', async () => {
    const { issuer, gateway, upstream } = await front({ api: { authorization: 'remove' } });
    for (const target of ['/things', '/optional', '/none']) {
      expect((await gateway.ask(head(`GET ${target}`, issuer.bearer()))).status).toBe(200);
    }
    expect(upstream.requests.map(told)).toEqual([
      { ...NOBODY, subject: ['alice'], client: ['app'] },
      { ...NOBODY, subject: ['alice'], client: ['app'] },
      NOBODY,
    ]);
  });

  test('is optional where the route says so: without a valid one the caller is nobody, and the field is gone', async () => {
    const { issuer, gateway, upstream } = await front();
    const all = [
      ...[
        [],
        ['Authorization: Bearer marker'],
        ['Authorization: Basic bWFya2Vy'],
        [issuer.bearer({ exp: 1 })],
      ],
      ...[[issuer.bearer({ typ: 'Refresh' })], [`${issuer.bearer(aMinuteAgo()).slice(0, -8)}AAAAAAAA`]],
    ];
    for (const lines of all) expect((await gateway.ask(head('GET /optional', ...lines))).status).toBe(200);
    expect(upstream.requests.map(told)).toEqual(all.map(() => NOBODY));
  });

  test('passes unchanged on a route without authentication', async () => {
    const { gateway, upstream } = await front();
    const all = ['Basic bWFya2VyLXVzZXI6cHc=', 'bearer  marker-of-another-kind', 'Digest a="b", c=d', ''];
    for (const value of all.map(secret))
      expect((await gateway.ask(head('GET /none', `Authorization: ${value}`))).status).toBe(200);
    expect(upstream.requests.map(told)).toEqual(all.map(value => ({ ...NOBODY, authorization: [value] })));
    expect(await gateway.counted('weir_tokens_total')).toEqual(new Map());
  });
});

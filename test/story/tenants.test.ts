import { expect, test } from 'vitest';
import { expectInvalidToken } from '../support/error-object.ts';
import { accessLines, startGatewayOf } from '../support/identity-gateway.ts';
import { LOGOUT_PATH, logoutOf, toAdmin } from '../support/notices.ts';
import { head, withBody } from '../support/requests.ts';
import { scripts } from '../support/scripted-provider.ts';
import { secret } from '../support/secrets.ts';
import { startIssuer, type TestIssuer } from '../support/test-issuer.ts';

// A provider whose tenants are issuers of their own, as Entra ID has them.

const nowS = () => Math.floor(Date.now() / 1_000);
const issuerOf = ({ url }: TestIssuer, tenant: string) => `${url}/${tenant}/v2.0`;

async function start(issuer_values: 'any' | readonly string[]) {
  const issuer = await startIssuer();
  const own = issuerOf(issuer, '{tid}');
  const { url } = issuer;
  issuer.provider.discovery = scripts.json(200, {
    issuer: issuerOf(issuer, '{tenantid}'),
    authorization_endpoint: `${url}/authorize`,
    token_endpoint: `${url}/token`,
    jwks_uri: `${url}/keys`,
  });
  const { gateway, upstream } = await startGatewayOf(issuer, {
    provider: {
      issuer: own,
      issuer_values,
      discovery_url: `${url}/common/discovery`,
      notices: { back_channel_logout: 'admin' },
    },
    tokens: { bots: 'none' },
    limits: { buckets: { all: { user: '2/1h' } }, routes: { 'GET /counted': 'all' } },
    routes: [{ path: '/counted' }],
  });
  const bearer = (tenant: string, claims: object = {}) =>
    issuer.bearer({ iss: issuerOf(issuer, tenant), tid: tenant, ...claims });
  const ask = (path: string, tenant: string, claims: object = {}) =>
    gateway.ask(head(`GET ${path}`, bearer(tenant, claims)));
  return { issuer, gateway, upstream, ask };
}

test('tokens of listed tenants pass, those of a foreign one do not, and no metric names a tenant', async () => {
  const { gateway, ask, issuer } = await start(['red', 'blue']);
  expect((await ask('/a', 'red')).status).toBe(200);
  expect((await ask('/a', 'blue')).status).toBe(200);
  expectInvalidToken(await ask('/a', 'green'));
  expectInvalidToken(await ask('/a', 'red', { tid: 'blue' }));
  expectInvalidToken(await ask('/a', 'red', { iss: issuer.url }));
  expect(accessLines(gateway).map(line => line['tokenRefused'])).toEqual([
    ...[undefined, undefined, 'issuer', 'issuer', 'issuer'],
  ]);
  const metrics = (await gateway.admin('/metrics')).text;
  expect(metrics).toContain('weir_tokens_refused_total{reason="issuer"} 3');
  expect(metrics).not.toMatch(/"(red|blue|green)"|\/v2\.0/);
});

test('callers of two tenants with the same names are two callers', async () => {
  const { ask } = await start('any');
  const statuses: number[] = [];
  for (const tenant of ['red', 'red', 'red', 'green', 'green', 'green'])
    statuses.push((await ask('/counted', tenant)).status);
  expect(statuses).toEqual([200, 200, 429, 200, 200, 429]);
});

test('a logout ends the tokens of its tenant, and a mark that comes with tokens is for their tenant', async () => {
  const { issuer, gateway, ask } = await start(['red', 'blue']);
  const old = { iat: nowS() - 5 };
  const bySub = { iss: issuerOf(issuer, 'red'), sub: 'alice', sid: undefined };
  expect((await toAdmin(gateway, LOGOUT_PATH, logoutOf(issuer, bySub))).status).toBe(200);
  expectInvalidToken(await ask('/a', 'red', old));
  expect((await ask('/a', 'blue', old)).status).toBe(200);

  const access_token = issuer.token({ iss: issuerOf(issuer, 'blue'), tid: 'blue', sub: 'bob' });
  issuer.provider.token = scripts.tokens({ access_token, 'not-before-policy': nowS() });
  const code = JSON.stringify({ code: secret('marker-code'), redirectUri: 'https://app.example/callback' });
  expect((await gateway.ask(withBody('POST /v1/anonymous/auth', code))).status).toBe(200);
  expectInvalidToken(await ask('/a', 'blue', { ...old, sub: 'bob' }));
  expect((await ask('/a', 'red', { ...old, sub: 'bob' })).status).toBe(200);
});

import { describe, expect, test } from 'vitest';
import { expectError } from '../support/error-object.ts';
import { startGateway } from '../support/gateway.ts';
import { startGatewayOf } from '../support/identity-gateway.ts';
import { head } from '../support/requests.ts';
import { secret } from '../support/secrets.ts';
import { redeeming } from '../support/sign-in-client.ts';
import { startIssuer } from '../support/test-issuer.ts';
import { startUpstream } from '../support/wire/index.ts';

const catchAlls = [
  { path: '/**', upstream: 'api', authentication: 'none' },
  { path: '/v1/**', upstream: 'api', authentication: 'none' },
  { path: '/v1/{any}/auth2', upstream: 'api', authentication: 'none' },
  { path: '/{a}/{b}/{c}', upstream: 'api', authentication: 'none', cors: false },
];

async function front(...named: Record<string, unknown>[]) {
  const upstream = await startUpstream();
  const routes = [...catchAlls, ...named.map(route => ({ ...catchAlls[0], ...route }))];
  const cors = { origins: ['https://app.example'] };
  return { upstream, gateway: await startGateway({ upstreamPort: upstream.port, config: { cors, routes } }) };
}

describe('the two paths of the sign-in, where the gateway only checks tokens', () => {
  test('are 404, and lead to no service', async () => {
    const issuer = await startIssuer();
    const off = {
      client_id: undefined,
      client_secret_file: undefined,
      redirect_uri: undefined,
      scope: undefined,
    };
    const { gateway, upstream } = await startGatewayOf(issuer, { provider: off });
    expectError(await gateway.ask(head('GET /v1/anonymous/authorize-url')), 404, 5);
    const code = { code: secret('a-code-of-nobody'), redirectUri: 'https://app.example/callback' };
    expectError(await gateway.ask(redeeming(code)), 404, 5);
    expect(upstream.connections).toEqual([]);
    const { paths } = JSON.parse((await gateway.admin('/openapi.json')).text);
    expect(Object.keys(paths).filter(path => path.startsWith('/v1'))).toEqual([]);
    expect((await gateway.ask(head('GET /v1/things', issuer.bearer()))).status).toBe(200);
  });
});

describe('a path under /v1/anonymous other than the two', () => {
  test.each([
    ...['POST /v1/anonymous/auth%20', 'POST /v1/anonymous/authe'],
    ...['POST /V1/Anonymous/auth2', 'PUT /v1/anonymous/a'],
    ...['POST /v1/anonymous/auth/x', 'GET /v1/anonymous/authorize_url'],
    ...['GET /v1/anonymous', 'GET /v1/anonymous/'],
  ])('is led nowhere by a route for everything: %s', async target => {
    const { gateway, upstream } = await front();
    expectError(await gateway.ask(head(target)), 404, 5);
    expect(upstream.connections).toEqual([]);
  });

  test('carries no code to a service', async () => {
    const issuer = await startIssuer();
    const { gateway, upstream } = await startGatewayOf(issuer, { routes: [catchAlls[1] ?? {}] });
    const request = redeeming({
      code: secret('a-code-mistyped'),
      redirectUri: 'https://app.example/callback',
    });
    const mistyped = request.replace('/v1/anonymous/auth', '/v1/anonymous/auth%20');
    expectError(await gateway.ask(mistyped), 404, 5);
    expect(upstream.connections).toEqual([]);
  });

  test('is not reachable by a preflight either', async () => {
    const { gateway, upstream } = await front();
    const lines = ['Origin: https://app.example', 'Access-Control-Request-Method: POST'];
    expect((await gateway.ask(head('OPTIONS /v1/anonymous/auth%20', ...lines))).status).toBe(404);
    expect(upstream.connections).toEqual([]);
  });

  test('passes by a route that names the prefix', async () => {
    const { gateway, upstream } = await front(
      { path: '/v1/anonymous/terms' },
      { path: '/v1/anonymous/**', methods: ['POST'] },
    );
    expect((await gateway.ask(head('GET /v1/anonymous/Terms/'))).status).toBe(200);
    expect((await gateway.ask(head('POST /v1/anonymous/a/b'))).status).toBe(200);
    expect((await gateway.ask(head('GET /v1/anonymous/a/b'))).status).toBe(404);
    expect(upstream.requests.map(request => request.target)).toEqual([
      '/v1/anonymous/Terms/',
      '/v1/anonymous/a/b',
    ]);
  });

  test('is not confused with paths that only look like it', async () => {
    const { gateway, upstream } = await front();
    expect((await gateway.ask(head('GET /v1/anonymous-2/auth'))).status).toBe(200);
    expect((await gateway.ask(head('GET /v2/anonymous/auth'))).status).toBe(200);
    expect(upstream.requests).toHaveLength(2);
  });
});

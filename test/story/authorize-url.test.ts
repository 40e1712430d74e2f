import { describe, expect, test } from 'vitest';
import { expectError } from '../support/error-object.ts';
import { startGatewayOf, startIdentityGateway } from '../support/identity-gateway.ts';
import { head, withBody } from '../support/requests.ts';
import { scripts } from '../support/scripted-provider.ts';
import { json, redeeming } from '../support/sign-in-client.ts';
import { startIssuer } from '../support/test-issuer.ts';
import { header, names, values } from '../support/wire/index.ts';

const GET = head('GET /v1/anonymous/authorize-url');

async function front(redirectUri?: string) {
  const issuer = await startIssuer();
  return { issuer, ...(await startGatewayOf(issuer, { ...(redirectUri && { redirectUri }) })) };
}

describe('the authorization url', () => {
  test('is returned to everyone, with the client, the redirect uri, the response type and the scope', async () => {
    const { issuer, gateway, upstream } = await front();
    const response = await gateway.ask(GET);
    expect(response).toMatchObject({ status: 200, reason: 'OK', complete: true });
    expect(header(response, 'content-type')).toBe('application/json');
    expect(header(response, 'content-length')).toBe(String(response.bodyBytes));
    expect(values(response.fields, 'via')).toEqual(['1.1 weir']);
    expect(header(response, 'x-request-id')).toMatch(/^[A-Za-z0-9._-]{1,64}$/);
    expect(Object.keys(json(response))).toEqual(['url']);
    const url = new URL(String(json(response)['url']));
    expect(url.href).toMatch(`${issuer.url}/authorize?`);
    expect(Object.fromEntries(url.searchParams)).toEqual({
      client_id: 'gateway',
      redirect_uri: 'https://app.example/callback',
      response_type: 'code',
      scope: 'openid profile',
    });
    expect(upstream.requests).toEqual([]);
  });

  test('has fixed parameters and those that a client may choose, and stays the same without any', async () => {
    const issuer = await startIssuer();
    const authorization_parameters = {
      fixed: { audience: 'https://api.example' },
      allow: ['login_hint', 'prompt'],
    };
    const { gateway } = await startGatewayOf(issuer, { provider: { authorization_parameters } });
    const parametersWith = async (query: string) => {
      const response = await gateway.ask(head(`GET /v1/anonymous/authorize-url${query}`));
      expect(response.status).toBe(200);
      return Object.fromEntries(new URL(String(json(response)['url'])).searchParams);
    };
    const bare = {
      client_id: 'gateway',
      redirect_uri: 'https://app.example/callback',
      response_type: 'code',
      scope: 'openid profile',
      audience: 'https://api.example',
    };
    expect(await parametersWith('')).toEqual(bare);
    expect(await parametersWith('?login_hint=alice%26scope%3Dadmin')).toEqual({
      ...bare,
      login_hint: 'alice&scope=admin',
    });
    expect(await parametersWith('?scope=admin&audience=other&redirect_uri=https://evil.example')).toEqual(
      bare,
    );
    expectError(await gateway.ask(head('GET /v1/anonymous/authorize-url?prompt=a&prompt=b')), 400, 3);
    const operation = JSON.parse((await gateway.admin('/openapi.json')).text).paths[
      '/v1/anonymous/authorize-url'
    ];
    expect(operation.parameters.map(({ name }: { name: string }) => name)).toEqual(['login_hint', 'prompt']);
  });

  test('is the same for HEAD, without its body', async () => {
    const { gateway } = await front();
    const client = await gateway.connect();
    const toGet = await client.ask(GET);
    const toHead = await client.ask(head('HEAD /v1/anonymous/authorize-url'));
    expect(toHead).toMatchObject({ status: 200, bodyBytes: 0, complete: true });
    expect(names(toHead.fields)).toEqual(names(toGet.fields));
    expect(header(toHead, 'content-length')).toBe(String(toGet.bodyBytes));
    expect((await client.ask(GET)).body).toEqual(toGet.body);
  });

  test.each([
    ['an invalid token', ['Authorization: Bearer none']],
    ['another scheme', ['Authorization: Basic Zm9vOmJhcg==']],
    ['an expired token', ['expired']],
    ['a cookie', ['Cookie: a=b']],
  ])('is also returned to a client that sends %s', async (_, lines) => {
    const { issuer, gateway } = await front();
    const sent = lines.map(line => (line === 'expired' ? issuer.bearer({ exp: 1 }) : line));
    expect((await gateway.ask(head('GET /v1/anonymous/authorize-url', ...sent))).status).toBe(200);
    expect(await gateway.counted('weir_tokens_total')).toEqual(new Map());
  });

  test('is also returned if a query or a body came along, and the connection stays in step', async () => {
    const { gateway } = await front();
    const client = await gateway.connect();
    const plain = await client.ask(GET);
    expect(
      (await client.ask(head('GET /v1/anonymous/authorize-url?scope=admin&redirect_uri=x'))).body,
    ).toEqual(plain.body);
    expect((await client.ask(withBody('GET /v1/anonymous/authorize-url', 'GET /nonsense'))).body).toEqual(
      plain.body,
    );
    expect((await client.ask(GET)).body).toEqual(plain.body);
  });
});

describe('the anonymous endpoints', () => {
  test.each([
    ['POST', 'authorize-url', 'GET, HEAD'],
    ['GET', 'auth', 'POST'],
    ['HEAD', 'auth', 'POST'],
    ['OPTIONS', 'auth', 'POST'],
  ])('%s on %s is a 405 that allows %s', async (method, endpoint, allow) => {
    const { issuer, gateway, upstream } = await front();
    const client = await gateway.connect();
    const response = await client.ask(head(`${method} /v1/anonymous/${endpoint}`));
    if (method === 'HEAD') expect(response).toMatchObject({ status: 405, bodyBytes: 0 });
    else expectError(response, 405, 3);
    expect(header(response, 'allow')).toBe(allow);
    expect((await client.ask(GET)).status).toBe(200);
    expect(issuer.provider.tokenRequests).toEqual([]);
    expect(upstream.requests).toEqual([]);
  });

  test.each([
    ...['/v1/anonymous/authorize-url/', '/V1/Anonymous/AUTHORIZE-URL'],
    ...['/v1/%61nonymous/authorize%2Durl', 'http://gateway.test/v1/anonymous/authorize-url'],
  ])('are the gateway’s own in the spelling %s, too', async target => {
    const { gateway, upstream } = await front();
    expect(Object.keys(json(await gateway.ask(head(`GET ${target}`))))).toEqual(['url']);
    expect(upstream.requests).toEqual([]);
  });

  test.each(['/v1/anonymous/auth/', '/v1/anonymous/AUTH', '/v1/anonymous/%61uth'])(
    'redeem in the spelling %s, too, and no code goes upstream',
    async target => {
      const { gateway, upstream } = await front();
      const bytes = redeeming({ code: 'c', redirectUri: 'r:' }).replace('/v1/anonymous/auth', target);
      expect(json(await gateway.ask(bytes))).toHaveProperty('accessToken');
      expect(upstream.requests).toEqual([]);
    },
  );

  test('say that the provider could not be reached yet, until it could, while the gateway is alive and not ready', async () => {
    const issuer = await startIssuer();
    const right = issuer.provider.discovery;
    issuer.provider.discovery = scripts.html(500);
    const { gateway } = await startIdentityGateway({ issuer: issuer.url });
    for (const bytes of [GET, redeeming({ code: 'c', redirectUri: 'r:' })]) {
      const response = await gateway.ask(bytes);
      expectError(response, 503, 14);
      expect(header(response, 'retry-after')).toMatch(/^[1-9]\d*$/);
      // Who asks for the login page has sent no code.
      expect(JSON.parse(response.body.toString('latin1')).message.includes('code')).toBe(bytes !== GET);
    }
    expect(await gateway.admin('/healthz')).toMatchObject({ status: 200 });
    expect(await gateway.admin('/readyz')).toMatchObject({ status: 503 });
    issuer.provider.discovery = right;
    const isReady = async () => (await gateway.admin('/readyz')).status === 200;
    await gateway.time.advanceUntil('it is ready', isReady, 100);
    expect((await gateway.ask(GET)).status).toBe(200);
    expect(issuer.provider.tokenRequests).toEqual([]);
  });

  test('need no key of the issuer: they work while the gateway waits for keys and is not ready', async () => {
    const issuer = await startIssuer();
    issuer.provider.keys = scripts.html(500);
    const { gateway } = await startIdentityGateway({ issuer: issuer.url });
    await expect.poll(async () => (await gateway.ask(GET)).status).toBe(200);
    expect(json(await gateway.ask(redeeming({ code: 'c', redirectUri: 'r:' })))).toHaveProperty(
      'accessToken',
    );
    expect(await gateway.admin('/readyz')).toMatchObject({ status: 503 });
  });
});

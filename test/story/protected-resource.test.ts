import { describe, expect, it } from 'vitest';
import { diagnosticsIn } from '../support/config-text.ts';
import { changeConfig, serves } from '../support/edit-config.ts';
import { expectError } from '../support/error-object.ts';
import { startGateway } from '../support/gateway.ts';
import { startGatewayOf } from '../support/identity-gateway.ts';
import { head } from '../support/requests.ts';
import { startIssuer } from '../support/test-issuer.ts';
import { header, startUpstream, values } from '../support/wire/index.ts';

const PATH = '/.well-known/oauth-protected-resource';
const URL = `https://api.example.com${PATH}`;
const RESOURCE = { protected_resource: { resource: 'https://api.example.com' } };

async function front(config: Readonly<Record<string, unknown>> = {}, more: object = {}) {
  const issuer = await startIssuer();
  const routes = [
    { path: '/orders', require: { scopes: ['orders.write', 'orders.read'] } },
    { path: '/plans', require: { scopes: ['orders.read', 'plans'] } },
  ];
  return {
    issuer,
    ...(await startGatewayOf(issuer, { routes, config: { ...RESOURCE, ...config }, ...more })),
  };
}

describe('the document of a protected resource', () => {
  it('says whose tokens are accepted, and which scopes there are, to everyone', async () => {
    const { gateway, issuer, upstream } = await front();
    const response = await gateway.ask(head(`GET ${PATH}`));
    expect(response.status).toBe(200);
    expect(header(response, 'content-type')).toBe('application/json');
    expect(JSON.parse(response.body.toString())).toEqual({
      resource: 'https://api.example.com',
      authorization_servers: [issuer.url],
      bearer_methods_supported: ['header'],
      scopes_supported: ['orders.read', 'orders.write', 'plans'],
    });
    expect(upstream.requests).toEqual([]);
    const bare = await gateway.ask(head(`HEAD ${PATH}`), { to: 'HEAD' });
    expect(bare.status).toBe(200);
    expect(header(bare, 'content-length')).toBe(String(response.body.length));
    expectError(await gateway.ask(head(`POST ${PATH}`)), 405, 3);
  });

  it('is where the path of the resource says, and without it', async () => {
    const { gateway } = await front({ protected_resource: { resource: 'https://api.example.com/v1/mcp/' } });
    for (const path of [`${PATH}/v1/mcp`, PATH]) {
      const response = await gateway.ask(head(`GET ${path}`));
      expect(JSON.parse(response.body.toString())).toMatchObject({
        resource: 'https://api.example.com/v1/mcp/',
      });
    }
    // Everything else there belongs to the routes.
    expect((await gateway.ask(head(`GET ${PATH}/v1`))).status).toBe(401);
    const challenge = header(await gateway.ask(head('GET /')), 'www-authenticate');
    expect(challenge).toBe(`Bearer resource_metadata="${URL}/v1/mcp"`);
  });

  it('answers on every host, before the routes of that host', async () => {
    const { gateway, upstream } = await front({
      routes: [
        { path: '/**', hosts: ['api.example.com'], upstream: 'api' },
        { path: '/.well-known/{name}', hosts: ['gateway.test'], upstream: 'api', authentication: 'none' },
      ],
    });
    expect((await gateway.ask(head(`GET ${PATH}`))).status).toBe(200);
    expect((await gateway.ask(`GET ${PATH} HTTP/1.1\r\nHost: other.test:8080\r\n\r\n`)).status).toBe(200);
    expect(upstream.requests).toEqual([]);
    expect((await gateway.ask(head('GET /.well-known/other'))).status).toBe(200);
    expect(upstream.requests).toHaveLength(1);
  });

  it("draws on the address's global limit", async () => {
    const { gateway } = await front({}, { limits: { global: { address: '2/1m' } } });
    const statuses = [];
    for (let n = 0; n < 3; n++) statuses.push((await gateway.ask(head(`GET ${PATH}`))).status);
    expect(statuses).toEqual([200, 200, 429]);
  });

  it('may be read by pages of other origins, and so may the challenge', async () => {
    const { gateway } = await front({ cors: { origins: ['https://app.example'] } });
    const origin = 'Origin: https://app.example';
    const document = await gateway.ask(head(`GET ${PATH}`, origin));
    expect(header(document, 'access-control-allow-origin')).toBe('https://app.example');
    const refused = await gateway.ask(head('GET /', origin));
    expect(header(refused, 'access-control-expose-headers')).toMatch(/\bWWW-Authenticate\b/);
  });

  it('names all issuers, and follows the configuration', async () => {
    const [one, two] = [await startIssuer(), await startIssuer()];
    const upstream = await startUpstream();
    const entry = (name: string, issuer: string) => ({ name, issuer, audience: 'api' });
    const gateway = await startGateway({
      upstreamPort: upstream.port,
      route: { authentication: 'required' },
      config: { identity_providers: [entry('one', one.url), entry('two', two.url)], ...RESOURCE },
    });
    await gateway.ready();
    const document = async () => JSON.parse((await gateway.ask(head(`GET ${PATH}`))).body.toString());
    expect(await document()).toEqual({
      resource: 'https://api.example.com',
      authorization_servers: [one.url, two.url],
      bearer_methods_supported: ['header'],
    });
    const route = { path: '/**', upstream: 'api', require: { scopes: ['a'] } };
    await changeConfig(gateway, { routes: [route], identity_providers: [entry('two', two.url)] });
    await serves(gateway, 2);
    expect(await document()).toMatchObject({ authorization_servers: [two.url], scopes_supported: ['a'] });
  });

  it('is not there without the key, nor in challenges', async () => {
    const { gateway } = await front({ protected_resource: undefined });
    const response = await gateway.ask(head(`GET ${PATH}`));
    expect(response.status).toBe(401);
    expect(values(response.fields, 'www-authenticate')).toEqual(['Bearer']);
  });
});

describe('a challenge', () => {
  it('names the document in every 401, and where scopes are missing', async () => {
    const { gateway, issuer } = await front({ sign_in: { refresh: '/refresh', sign_out: '/sign-out' } });
    const challengeOf = async (...request: Parameters<typeof head>) =>
      header(await gateway.ask(head(...request)), 'www-authenticate');
    expect(await challengeOf('GET /')).toBe(`Bearer resource_metadata="${URL}"`);
    expect(await challengeOf('GET /', issuer.bearer({ exp: 1 }))).toBe(
      `Bearer error="invalid_token", resource_metadata="${URL}"`,
    );
    expect(await challengeOf('POST /sign-out')).toBe(`Bearer resource_metadata="${URL}"`);
    expect(await challengeOf('GET /orders', issuer.bearer())).toBe(
      `Bearer error="insufficient_scope", scope="orders.read orders.write", resource_metadata="${URL}"`,
    );
  });
});

describe('protected_resource', () => {
  const PROVIDER = 'identity_provider: { issuer: "https://id" }\naccess_tokens: { audience: api }\n';
  const REST = 'upstreams: { api: { url: "http://api:3000" } }\n';
  const ROUTES = 'routes: [{ path: /**, upstream: api }]\n';
  const wrongIn = (resource: string) =>
    diagnosticsIn(`protected_resource: { resource: ${resource} }\n${PROVIDER}${REST}${ROUTES}`);

  it.each(['"https://api.example.com"', '"https://api.example.com/v1/"', '"http://localhost:8080"'])(
    'may be %s',
    async resource => {
      expect(await wrongIn(resource)).toEqual([]);
    },
  );

  it.each([
    '"http://api.example.com"',
    '"https://api.example.com/?a"',
    '"https://api.example.com/#a"',
    '"https://user@api.example.com"',
    '"https://api.example.com/a b"',
    '"https://api.example.com/a\\"b"',
    '"https://API.example.com"',
    '"https://api.example.com/a/../b"',
    '"https://api.example.com?"',
    '"https://\u00e4pi.example.com"',
    'api.example.com',
    '7',
  ])('may not be %s', async resource => {
    expect((await wrongIn(resource)).join('\n')).toContain(
      'protected_resource.resource: expected the address of this API as clients know it',
    );
  });

  it('says nothing without a provider', async () => {
    const text = `protected_resource: { resource: "https://api" }\n${REST}${ROUTES.replace('api }', 'api, authentication: none }')}`;
    expect(await diagnosticsIn(text)).toEqual([
      '1:1: "protected_resource" has no effect without "identity_provider", which issues the tokens',
    ]);
  });

  it('takes its paths from routes and other endpoints', async () => {
    const text = `protected_resource: { resource: "https://api/v1" }
sign_in: { refresh: ${PATH} }
${PROVIDER}${REST}routes: [{ path: ${PATH}/v1, upstream: api }, { path: /**, upstream: api }]
`;
    expect((await diagnosticsIn(text)).filter(line => line.includes('path'))).toEqual([
      '2:21: sign_in.refresh: this path is that of "protected_resource": choose another',
      '6:18: routes[0].path: the gateway serves this path itself, for "protected_resource": remove the route',
    ]);
  });
});

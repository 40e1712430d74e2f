import { describe, expect, it } from 'vitest';
import { runCommandLine } from '../../src/cli/index.ts';
import { startDemoProvider } from '../support/demo-provider.ts';
import { changeConfig, serves } from '../support/edit-config.ts';
import { expectError } from '../support/error-object.ts';
import { startGateway } from '../support/gateway.ts';
import { accessLines, startGatewayOf, startIdentityGateway } from '../support/identity-gateway.ts';
import { head } from '../support/requests.ts';
import { secret } from '../support/secrets.ts';
import { codeFor, json, redeem } from '../support/sign-in-client.ts';
import { tempText } from '../support/temp.ts';
import { startIssuer, type TestIssuer } from '../support/test-issuer.ts';
import { names, type Response, startUpstream, values } from '../support/wire/index.ts';

const ROUTES = [
  { path: '/orders', require: { scopes: ['orders.read', 'profile'] } },
  { path: '/clerks', require: { roles: ['clerk', 'orders-api:clerk'] } },
  { path: '/optional', authentication: 'optional', require: { scopes: ['orders.read'] } },
];

const CHALLENGE = 'Bearer error="insufficient_scope", scope="orders.read profile"';

/** Expects the refusal of a caller who lacks a right: the error object, and nothing of limits. */
function expectForbidden(response: Response, challenge: string | null = null): void {
  expectError(response, 403, 7);
  expect(values(response.fields, 'www-authenticate')).toEqual(challenge === null ? [] : [challenge]);
  expect(names(response.fields).filter(name => /ratelimit|retry-after/i.test(name))).toEqual([]);
}

async function front(settings: Parameters<typeof startGatewayOf>[1] = {}) {
  const issuer = await startIssuer();
  const started = await startGatewayOf(issuer, { routes: ROUTES, ...settings });
  const ask = (target: string, claims: Readonly<Record<string, unknown>> | null = {}) =>
    started.gateway.ask(claims === null ? head(target) : head(target, issuer.bearer(claims)));
  return { issuer, ask, ...started };
}

describe('a route that requires scopes, roles or claims', () => {
  it('serves callers who have them, tells others which scopes it needs, and the log what was lacking', async () => {
    const { ask, upstream, gateway } = await front();
    expect((await ask('GET /orders', { scp: ['orders.read', 'profile'] })).status).toBe(200);
    expectForbidden(await ask('GET /orders', { scope: 'profile' }), CHALLENGE);
    const roles = {
      realm_access: { roles: ['clerk'] },
      resource_access: { 'orders-api': { roles: ['clerk'] } },
    };
    expect((await ask('GET /clerks', roles)).status).toBe(200);
    expectForbidden(await ask('GET /clerks', { ...roles, resource_access: {} }));
    expect(upstream.requests).toHaveLength(2);
    await expect.poll(() => accessLines(gateway).length).toBe(4);
    const [, lacksScope, , lacksRole] = accessLines(gateway);
    expect(lacksScope).toMatchObject({
      ...{ status: 403, route: '/orders', class: 'user' },
      cause: 'the token lacks scopes that the route requires: orders.read, profile',
    });
    expect(lacksRole?.['cause']).toBe(
      'the token lacks roles that the route requires: clerk, orders-api:clerk',
    );
  });

  it('finds roles in further claims that the configuration names', async () => {
    const { ask } = await front({
      tokens: { roles: ['groups'] },
      routes: [{ path: '/staff', require: { roles: ['staff'], claims: { plan: ['gold'], constructor: 7 } } }],
    });
    const claims = { groups: ['staff'], plan: 'gold', constructor: 7 };
    expect((await ask('GET /staff', claims)).status).toBe(200);
    expectForbidden(await ask('GET /staff', { ...claims, groups: [], roles: ['staff'] }));
    expectForbidden(await ask('GET /staff', { ...claims, plan: 'other' }));
    expectForbidden(await ask('GET /staff', { ...claims, constructor: undefined }));
  });
});

it('a reload that requires something else judges tokens anew that are known already', async () => {
  const { ask, gateway, issuer } = await front();
  expect((await ask('GET /orders', { scope: 'orders.read profile' })).status).toBe(200);
  const bearer = issuer.bearer({ scope: 'orders.read profile' });
  const client = await gateway.connect();
  expect((await client.ask(head('GET /orders', bearer))).status).toBe(200);
  await changeConfig(gateway, {
    routes: [{ path: '/orders', upstream: 'api', require: { roles: ['clerk'], scopes: ['profile'] } }],
  });
  await serves(gateway, 2);
  expectForbidden(await client.ask(head('GET /orders', bearer)));
});

it('tokens of several providers are judged alike', async () => {
  const [one, two] = [await startIssuer(), await startIssuer()];
  const upstream = await startUpstream();
  const entry = (name: string, { url }: TestIssuer) => ({ name, issuer: url, audience: 'api' });
  const gateway = await startGateway({
    upstreamPort: upstream.port,
    config: {
      identity_providers: [entry('one', one), entry('two', two)],
      access_tokens: { roles: ['groups'] },
      routes: [{ path: '/**', upstream: 'api', require: { scopes: ['a'], roles: ['staff'] } }],
    },
  });
  await gateway.ready();
  for (const issuer of [one, two]) {
    const status = async (claims: Readonly<Record<string, unknown>>) =>
      (await gateway.ask(head('GET /', issuer.bearer(claims)))).status;
    expect(await status({ scope: 'a', groups: ['staff'] })).toBe(200);
    expect(await status({ scope: 'a' })).toBe(403);
    expect(await status({ groups: ['staff'] })).toBe(403);
  }
});

it('a user who signs in at a real provider has the scopes that the gateway asked for', async () => {
  const provider = await startDemoProvider();
  const redirectUri = provider.callbackUri;
  const { gateway } = await startIdentityGateway({
    issuer: provider.issuer,
    redirectUri,
    routes: [
      { path: '/profile', require: { scopes: ['profile'] } },
      { path: '/orders', require: { scopes: ['orders.read'] } },
    ],
  });
  await gateway.ready();
  const tokens = json(await redeem(gateway, await codeFor(gateway, redirectUri), redirectUri));
  const bearer = `Authorization: Bearer ${secret(String(tokens['accessToken']))}`;
  secret(String(tokens['refreshToken']));
  secret(String(tokens['idToken']));
  expect((await gateway.ask(head('GET /profile', bearer))).status).toBe(200);
  expectForbidden(
    await gateway.ask(head('GET /orders', bearer)),
    'Bearer error="insufficient_scope", scope="orders.read"',
  );
});

describe('weir check', () => {
  const check = async (file: string, ...words: string[]) => {
    const out: string[] = [];
    const code = await runCommandLine(['check', file, ...words], {
      env: {},
      out: text => void out.push(text),
      err: text => void out.push(text),
    });
    return { code, said: out.join('') };
  };
  const configOf = (issuer: string, scope: string) => `identity_provider: { issuer: "${issuer}" }
access_tokens: { audience: api }
upstreams: { api: { url: "http://api:3000" } }
routes:
  - { path: /**, upstream: api }
  - { path: /a, upstream: api, require: { scopes: [profile, ${scope}] } }
`;

  it('hints at a scope that the provider does not announce', async () => {
    const provider = await startDemoProvider();
    const file = await tempText('gateway.yaml', configOf(provider.issuer, 'emial'));
    const hint = `${file}:6:1: hint: no provider announces the scope "emial" that this route requires, did you mean "email"?: callers may not be able to get it\n`;
    const { code, said } = await check(file, '--strict');
    expect(said).toContain(hint);
    expect(said.match(/hint: no provider/g)).toHaveLength(1);
    expect(code).toBe(0);
    expect((await check(file, '--offline')).said).not.toContain('hint: no provider');
    const sound = await tempText('gateway.yaml', configOf(provider.issuer, 'email'));
    expect((await check(sound)).said).not.toContain('hint: no provider');
  });

  it('has nothing to say of scopes while a provider cannot be asked', async () => {
    const issuer = await startIssuer();
    await issuer.provider.close();
    const file = await tempText('gateway.yaml', configOf(issuer.url, 'other'));
    expect(await check(file)).toMatchObject({
      code: 0,
      said: expect.not.stringContaining('hint: no provider'),
    });
  });
});

it('weir explain says what a route requires, and where rights and certificates are looked for', async () => {
  const file = await tempText(
    'gateway.yaml',
    `identity_provider: { issuer: "https://id" }
access_tokens: { audience: api, roles: [groups], certificate_field: Client-Cert }
trusted_proxies: [10.0.0.0/8]
protected_resource: { resource: "https://api" }
upstreams: { api: { url: "http://api:3000" } }
routes: [{ path: /a, upstream: api, require: { scopes: [read], roles: [clerk, "shop:clerk"] } }]
`,
  );
  const out: string[] = [];
  const explain = async (...words: string[]) => {
    out.length = 0;
    const streams = {
      out: (text: string) => void out.push(text),
      err: (text: string) => void out.push(text),
    };
    expect(await runCommandLine(['explain', ...words, '--config', file], { env: {}, ...streams })).toBe(0);
    return out.join('').replaceAll(/ +/g, ' ');
  };
  const said = await explain('GET', '/a');
  for (const row of [
    ...['requires the scope read', '\n the role clerk\n', '\n the role clerk of the client shop\n'],
    ...['\n else 403, without using the bucket\n', 'roles those of the realm, and those in the claim groups'],
    'certificates of tokens that are bound to one: in Client-Cert of a trusted proxy',
  ])
    expect(said).toContain(row);
  expect(await explain('GET', '/.well-known/oauth-protected-resource')).toContain(
    'document {"resource":"https://api","authorization_servers":["https://id"]',
  );
});

import type { ServerResponse } from 'node:http';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { runCommandLine } from '../../src/cli/index.ts';
import { makeCertificates } from '../support/certificates.ts';
import { expectError, expectInvalidToken } from '../support/error-object.ts';
import { accessLines, startGatewayOf, startIdentityGateway } from '../support/identity-gateway.ts';
import { LOGOUT_PATH, logoutOf, toAdmin } from '../support/notices.ts';
import { head, withBody } from '../support/requests.ts';
import { scripts } from '../support/scripted-provider.ts';
import { secret } from '../support/secrets.ts';
import { tempText } from '../support/temp.ts';
import { aMinuteAgo, startIssuer } from '../support/test-issuer.ts';
import { issuerKey, signToken } from '../support/token-issuer.ts';
import { header } from '../support/wire/index.ts';

// Providers other than Keycloak, as their own documents and public reports describe them.

const nowS = () => Math.floor(Date.now() / 1_000);

test('scopes in a JSON array, as IdentityServer writes them, open a route that requires one', async () => {
  const issuer = await startIssuer();
  const { gateway } = await startGatewayOf(issuer, {
    routes: [{ path: '/orders', require: { scopes: ['orders.read'] } }],
  });
  const statusOf = async (scope: unknown) =>
    (await gateway.ask(head('GET /orders', issuer.bearer({ scope })))).status;
  expect(await statusOf(['openid', 'orders.read'])).toBe(200);
  expect(await statusOf('openid orders.read')).toBe(200);
  expect(await statusOf(['openid'])).toBe(403);
});

test('a logout with sid and sub, as Auth0 sends it, ends access tokens that have no sid', async () => {
  const issuer = await startIssuer();
  const notices = { back_channel_logout: 'admin' };
  const { gateway } = await startGatewayOf(issuer, { provider: { notices } });
  const [ofAlice, ofBob] = ['alice', 'bob'].map(sub => issuer.bearer({ sub, iat: nowS() - 5 }));
  const ask = (bearer = '') => gateway.ask(head('GET /a', bearer));
  expect([(await ask(ofAlice)).status, (await ask(ofBob)).status]).toEqual([200, 200]);

  expect((await toAdmin(gateway, LOGOUT_PATH, logoutOf(issuer, { sid: 's1' }))).status).toBe(200);
  expect((await ask(ofAlice)).status).toBe(200);
  expect((await toAdmin(gateway, LOGOUT_PATH, logoutOf(issuer, { sid: 's1', sub: 'alice' }))).status).toBe(
    200,
  );
  expectInvalidToken(await ask(ofAlice));
  expect((await ask(ofBob)).status).toBe(200);

  expect(await gateway.counted('weir_notices_total')).toEqual(
    new Map([
      ['{notice="back_channel_logout",outcome="accepted"}', 1],
      ['{notice="back_channel_logout",outcome="reached_none"}', 1],
    ]),
  );
  expect(gateway.logLines.filter(line => line.includes('"notice"'))).toEqual([
    expect.stringContaining('a logout ended no token'),
  ]);
  expect((await gateway.admin('/status')).text).toContain('back_channel_logout: reached_none');
});

test.each([
  [401, 'token_inactive', 0],
  [400, 'login_required', 0],
  [400, 'consent_required', 0],
  [403, 'access_denied', 0],
  [403, 'rule_of_the_house', 1],
])(
  '%d %s from the token endpoint costs the user a sign-in and is no fault of the gateway',
  async (status, error, lines) => {
    const issuer = await startIssuer();
    const refresh = '/v1/users/refresh';
    const { gateway } = await startGatewayOf(issuer, { config: { sign_in: { refresh } } });
    issuer.provider.token = scripts.json(status, { error });
    const refreshToken = secret('marker-refresh-token');
    const refreshed = await gateway.ask(withBody(`POST ${refresh}`, JSON.stringify({ refreshToken })));
    expectError(refreshed, 401, 16);
    const code = JSON.stringify({ code: secret('marker-code'), redirectUri: 'https://app.example/callback' });
    expectError(await gateway.ask(withBody('POST /v1/anonymous/auth', code)), 400, 3);
    // What nobody here knows may be about the gateway after all, so it is logged.
    const logged = gateway.logLines
      .map(line => JSON.parse(line))
      .filter(({ level }) => level !== 'info' && level !== 'debug' && level !== 'trace');
    expect(logged.filter(({ type }) => type === 'refresh' || type === 'sign-in')).toEqual(
      Array(2 * lines).fill(
        expect.objectContaining({ level: 'warn', cause: expect.stringContaining(error) }),
      ),
    );
  },
);

test.each([
  ['invalid_grant', 401, 400],
  ['bad_verification_code', 401, 400],
  ['invalid_client', 500, 500],
])('an error with a 200, as Casdoor and GitHub send it, is an error: %s', async (error, refresh, code) => {
  const issuer = await startIssuer();
  const { gateway } = await startGatewayOf(issuer, {
    config: { sign_in: { refresh: '/v1/users/refresh', sign_out: '/v1/users/sign-out' } },
  });
  const answer = scripts.json(200, { error, error_description: 'no' });
  issuer.provider.token = answer;
  issuer.provider.end = answer;
  const refreshToken = JSON.stringify({ refreshToken: secret('marker-refresh-token') });
  const redeeming = JSON.stringify({
    code: secret('marker-code'),
    redirectUri: 'https://app.example/callback',
  });
  expect((await gateway.ask(withBody('POST /v1/users/refresh', refreshToken))).status).toBe(refresh);
  expect((await gateway.ask(withBody('POST /v1/anonymous/auth', redeeming))).status).toBe(code);
  const signOut = withBody('POST /v1/users/sign-out', refreshToken, issuer.bearer());
  expect((await gateway.ask(signOut)).status).toBe(refresh === 401 ? 400 : refresh);
});

test.each([
  [{ access_token: undefined, data: {} }, 'the token response has no access_token'],
  [{ token_type: 'N_A' }, 'the token response has a token_type other than Bearer'],
])('what is wrong with a token response is logged: %j', async (members, cause) => {
  const issuer = await startIssuer();
  const { gateway } = await startGatewayOf(issuer);
  issuer.provider.token = scripts.tokens(members);
  const code = JSON.stringify({ code: secret('marker-code'), redirectUri: 'https://app.example/callback' });
  expectError(await gateway.ask(withBody('POST /v1/anonymous/auth', code)), 503, 14);
  expect(gateway.logLines.join()).toContain(`"cause":"${cause}"`);
});

test('a token of a user with many groups passes as long as max_length allows, and else its client learns why not', async () => {
  const issuer = await startIssuer();
  const groups = Array.from({ length: 400 }, (_, i) => `/company/department-${i}/team-${i}`);
  const get = head('GET /a', issuer.bearer({ groups }));
  const caps = { head: '64KiB' };
  const { gateway: wide } = await startGatewayOf(issuer, {
    tokens: { max_length: '32KiB' },
    config: { caps },
  });
  expect((await wide.ask(get)).status).toBe(200);

  const { gateway } = await startGatewayOf(issuer, { config: { caps } });
  const refused = await gateway.ask(get);
  expectError(refused, 401, 16);
  expect(header(refused, 'www-authenticate')).toBe(
    'Bearer error="invalid_token", error_description="the token is too long"',
  );
  expect(accessLines(gateway).at(-1)).toMatchObject({ tokenRefused: 'too_long' });
  expect(await gateway.counted('weir_tokens_refused_total')).toEqual(new Map([['{reason="too_long"}', 1]]));
});

test('the API that the login page names is named to the token endpoint as well, as Logto wants it', async () => {
  const issuer = await startIssuer();
  const resource = 'https://api.example.com';
  const { gateway } = await startGatewayOf(issuer, {
    provider: { authorization_parameters: { fixed: { resource, audience: 'other' } } },
    config: { sign_in: { refresh: '/v1/users/refresh' } },
  });
  issuer.provider.token = scripts.tokens({ access_token: issuer.token() });
  const code = JSON.stringify({ code: secret('marker-code'), redirectUri: 'https://app.example/callback' });
  expect((await gateway.ask(withBody('POST /v1/anonymous/auth', code))).status).toBe(200);
  const refreshToken = JSON.stringify({ refreshToken: secret('marker-refresh-token') });
  expect((await gateway.ask(withBody('POST /v1/users/refresh', refreshToken))).status).toBe(200);
  const sent = issuer.provider.tokenRequests.map(({ body }) => new URLSearchParams(body));
  expect(sent.map(form => [form.get('resource'), form.get('audience')])).toEqual([
    [resource, null],
    [resource, null],
  ]);
});

test.each([
  ['gzip', gzipSync],
  ['br', brotliCompressSync],
])('answers that are compressed unasked are read: %s', async (coding, compress) => {
  const issuer = await startIssuer();
  const compressed = (body: object) => (response: ServerResponse) =>
    void response
      .writeHead(200, { 'content-type': 'application/json', 'content-encoding': coding })
      .end(compress(JSON.stringify(body)));
  issuer.provider.keys = compressed({ keys: [issuer.key.jwk] });
  issuer.provider.token = compressed({ access_token: issuer.token(), token_type: 'Bearer' });
  const { gateway } = await startGatewayOf(issuer);
  const code = JSON.stringify({ code: secret('marker-code'), redirectUri: 'https://app.example/callback' });
  expect((await gateway.ask(withBody('POST /v1/anonymous/auth', code))).status).toBe(200);
  expect((await gateway.ask(head('GET /a', issuer.bearer()))).status).toBe(200);
  // No more is unpacked than an answer may have.
  issuer.provider.token = compressed({ access_token: 'x'.repeat(2_000_000) });
  expectError(await gateway.ask(withBody('POST /v1/anonymous/auth', code)), 503, 14);
});

test('a provider with a certificate of a private authority is reached by ca_file, and the log says so without', async () => {
  const { server, ca } = makeCertificates();
  const issuer = await startIssuer({ tls: { cert: server.certificate, key: server.key } });
  const { gateway } = await startIdentityGateway({ issuer: issuer.url });
  await expect
    .poll(() => gateway.logLines.join())
    .toContain('its certificate is from an authority that tls.ca_file of the provider has to name');
  const tls = { ca_file: await tempText('ca.pem', ca) };
  const { gateway: knowing } = await startGatewayOf(issuer, { provider: { tls } });
  expect((await knowing.ask(head('GET /a', issuer.bearer()))).status).toBe(200);
});

test('a native app signs in on whatever port of loopback the system gave it, byte for byte', async () => {
  const issuer = await startIssuer();
  const redirect_uris = ['http://127.0.0.1:*/callback', 'http://[::1]:*/callback'];
  const { gateway } = await startGatewayOf(issuer, { provider: { redirect_uris } });
  const statusOf = async (redirectUri: string) => {
    const body = JSON.stringify({ code: secret('marker-code-of-app'), redirectUri });
    return (await gateway.ask(withBody('POST /v1/anonymous/auth', body))).status;
  };
  issuer.provider.token = scripts.tokens({ access_token: issuer.token() });
  const good = ['http://127.0.0.1:51004/callback', 'http://[::1]:9/callback', 'https://app.example/callback'];
  for (const uri of good) expect(await statusOf(uri)).toBe(200);
  for (const uri of [
    'http://127.0.0.1:51004/other',
    'http://127.0.0.1:*/callback',
    'http://localhost:9/callback',
  ])
    expect(await statusOf(uri)).toBe(400);
  const sent = issuer.provider.tokenRequests.map(({ body }) => new URLSearchParams(body).get('redirect_uri'));
  expect(sent).toEqual(good);
});

test('Okta compares the audience of an assertion with the endpoint that is called, Entra ID knows a key by its certificate', async () => {
  const issuer = await startIssuer();
  const { key, certificate } = makeCertificates().client;
  const [private_key_file, certificate_file] = await Promise.all([
    tempText('client.key', key),
    tempText('client.crt', certificate),
  ]);
  const { gateway } = await startGatewayOf(issuer, {
    provider: {
      client_authentication: 'private_key_jwt',
      client_secret_file: undefined,
      private_key_file,
      client_assertion: { audience: 'token_endpoint', certificate_file },
    },
    config: { sign_in: { sign_out: '/v1/users/sign-out' } },
  });
  issuer.provider.token = scripts.tokens({ access_token: issuer.token() });
  const code = JSON.stringify({ code: secret('marker-code'), redirectUri: 'https://app.example/callback' });
  expect((await gateway.ask(withBody('POST /v1/anonymous/auth', code))).status).toBe(200);
  const refreshToken = JSON.stringify({ refreshToken: secret('marker-refresh-token') });
  const signOut = withBody('POST /v1/users/sign-out', refreshToken, issuer.bearer());
  expect((await gateway.ask(signOut)).status).toBe(204);
  const { tokenRequests, endRequests } = issuer.provider;
  const assertions = [...tokenRequests, ...endRequests].map(({ body }) =>
    (new URLSearchParams(body).get('client_assertion') ?? '').split('.', 2).map(decoded),
  );
  expect(assertions).toEqual(
    ['token', 'revoke'].map(path => [
      { alg: 'ES256', x5t: expect.any(String), 'x5t#S256': expect.any(String) },
      expect.objectContaining({ aud: `${issuer.url}/${path}`, iss: 'gateway', sub: 'gateway' }),
    ]),
  );
});

const decoded = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString());

test('access tokens of Amazon Cognito pass by their client, and its ID tokens do not', async () => {
  const issuer = await startIssuer();
  const tokens = {
    audience: ['gateway', 'web'],
    audience_claim: 'client_id',
    principal: ['client_id', 'sub'],
    bots: 'none',
  };
  const { gateway } = await startGatewayOf(issuer, { tokens });
  const access = { aud: undefined, azp: undefined, typ: undefined, token_use: 'access', client_id: 'web' };
  const statusOf = async (claims: object) =>
    (await gateway.ask(head('GET /a', issuer.bearer({ ...access, ...claims })))).status;
  expect(await statusOf({})).toBe(200);
  expect(await statusOf({ client_id: 'gateway' })).toBe(200);
  expect(await statusOf({ client_id: 'other' })).toBe(401);
  expect(await statusOf({ token_use: 'id', aud: 'web', client_id: undefined })).toBe(401);
  expect(await statusOf({ token_use: 'id', aud: 'web' })).toBe(401);
  expect(accessLines(gateway).map(line => line['tokenRefused'])).toEqual([
    ...[undefined, undefined, 'audience', 'audience', 'token_kind'],
  ]);
});

test('a sign-in that hands out tokens which the gateway refuses is said once, with the key to change', async () => {
  const issuer = await startIssuer();
  const { gateway } = await startGatewayOf(issuer);
  const signIn = async (access_token: string) => {
    issuer.provider.token = scripts.tokens({ access_token });
    const body = JSON.stringify({
      code: secret('marker-code-twice'),
      redirectUri: 'https://app.example/callback',
    });
    expect((await gateway.ask(withBody('POST /v1/anonymous/auth', body))).status).toBe(200);
  };
  await signIn(issuer.token());
  for (let i = 0; i < 3; i++) await signIn(secret('ory_at_marker-opaque.token'));
  await signIn(issuer.token({ aud: undefined }));
  await signIn(issuer.token({ at_hash: 'x' }));
  await signIn(issuer.token({ iss: 'http://adfs.example/adfs/services/trust' }));
  await signIn(issuer.token({ azp: undefined }));
  await signIn(issuer.token({ iat: undefined }));
  await signIn(issuer.token({ filler: 'x'.repeat(17_000) }));
  const linesOfSignIn = () => gateway.logLines.filter(line => line.includes('"type":"sign-in"')).length;
  // As those of Okta's org authorization server, whose keys nobody gets, and those for Microsoft Graph.
  for (const [kid, lines] of [['org', 8] as const, ['first', 9] as const]) {
    await gateway.time.advance(10_000);
    await signIn(secret(signToken(issuerKey('ES256', kid), issuer.claims())));
    await expect.poll(linesOfSignIn).toBe(lines);
    // Nobody knows before the keys may be fetched again.
    await signIn(secret(signToken(issuerKey('ES256', kid), issuer.claims())));
  }
  await signIn(issuer.token());
  const said = gateway.logLines.map(line => JSON.parse(line)).filter(({ type }) => type === 'sign-in');
  expect(said.map(({ level, reason, claim, change }) => [level, reason, claim, change])).toEqual([
    ['warn', 'malformed', undefined, expect.stringContaining('the provider issues no JWT')],
    ['warn', 'audience', undefined, 'access_tokens.audience'],
    ['warn', 'token_kind', undefined, 'access_tokens.audience or access_tokens.token_kind'],
    ['warn', 'issuer', undefined, 'identity_provider.issuer'],
    ['warn', 'claim', 'azp', 'access_tokens.principal'],
    ['warn', 'claim', 'iat', expect.stringContaining('the claims that the provider writes')],
    ['warn', 'too_long', undefined, 'access_tokens.max_length'],
    ['warn', 'unknown_key', undefined, expect.stringContaining('for the provider itself')],
    ['warn', 'signature', undefined, expect.stringContaining('for the provider itself')],
  ]);
  expect(await gateway.counted('weir_sign_in_tokens_refused_total')).toEqual(
    new Map([
      ['{reason="too_long"}', 1],
      ['{reason="malformed"}', 3],
      ['{reason="claim"}', 2],
      ['{reason="issuer"}', 1],
      ['{reason="audience"}', 1],
      ['{reason="token_kind"}', 1],
      ['{reason="unknown_key"}', 1],
      ['{reason="signature"}', 1],
    ]),
  );
  expect((await gateway.admin('/status')).text).toContain(
    'sign-in issues tokens that are refused: malformed',
  );
  // Nothing of it counts as a token that a request came with.
  expect(await gateway.counted('weir_tokens_refused_total')).toEqual(new Map());
});

test.each([
  [
    'access_or_id',
    { at_hash: 'x', nonce: 'n' },
    200,
    /ID tokens as well, unless they say that they are such/,
  ],
  [{ claim: 'uid' }, { uid: 'u' }, 401, / with uid or the mark of a standard, since ID tokens have neither/],
])(
  'tokens that look like ID tokens are judged as token_kind says: %j',
  async (token_kind, own, ofId, said) => {
    const issuer = await startIssuer();
    const { gateway } = await startGatewayOf(issuer, { tokens: { token_kind } });
    const ask = async (claims: object) =>
      (await gateway.ask(head('GET /a', issuer.bearer({ typ: undefined, ...claims })))).status;
    expect(await ask(own)).toBe(200);
    expect(await ask({ at_hash: 'y' })).toBe(ofId);
    expect(await ask({ ...own, aud: 'other' })).toBe(401);
    expect(await ask({ ...own, typ: 'ID' })).toBe(401);
    const out: string[] = [];
    const terminal = { env: process.env, out: (line: string) => void out.push(line), err: () => {} };
    await runCommandLine(['explain', 'GET', '/a', gateway.configFile], terminal);
    expect(out.join('')).toMatch(said);
  },
);

test.each([
  ['ES256', { kid: undefined }, {}],
  ['ES256', { kid: null, alg: null, use: null }, {}],
  ['EdDSA', { alg: 'Ed25519' }, {}],
  ['EdDSA', {}, { alg: 'Ed25519' }],
] as const)(
  'a key of %s that names itself less or otherwise than its tokens do is their key: %j %j',
  async (alg, members, ofToken) => {
    const issuer = await startIssuer();
    issuer.key = issuerKey(alg, 'first');
    issuer.provider.keys = scripts.json(200, { keys: [{ ...issuer.key.jwk, ...members }] });
    const { gateway } = await startGatewayOf(issuer, { tokens: { key_set: { cooldown: '20ms' } } });
    const ask = async (key = issuer.key) =>
      (
        await gateway.ask(
          head(
            'GET /a',
            `Authorization: Bearer ${secret(signToken(key, issuer.claims(aMinuteAgo()), ofToken))}`,
          ),
        )
      ).status;
    expect(await ask()).toBe(200);
    expect(await ask(issuerKey(alg, 'first'))).toBe(401);
    // The next key is found, whatever the old one is called.
    const next = issuerKey(alg, 'next');
    issuer.provider.keys = scripts.json(200, { keys: [{ ...issuer.key.jwk, ...members }, next.jwk] });
    await gateway.time.advance(20);
    expect(await ask(next)).toBe(200);
  },
);

test('an encrypted token is told as one that is no JWT', async () => {
  const issuer = await startIssuer();
  const { gateway } = await startGatewayOf(issuer);
  const header = Buffer.from('{"alg":"dir","enc":"A256GCM"}').toString('base64url');
  expectInvalidToken(await gateway.ask(head('GET /a', `Authorization: Bearer ${header}..aa.bb.cc`)));
  expect(accessLines(gateway).at(-1)).toMatchObject({ tokenRefused: 'malformed' });
});

const SIGN_IN = { sign_in: { refresh: '/v1/users/refresh', sign_out: '/v1/users/sign-out' } };
const codeOf = () =>
  withBody(
    'POST /v1/anonymous/auth',
    JSON.stringify({ code: secret('marker-code'), redirectUri: 'https://app.example/callback' }),
  );
const refreshTokenTo = (path: string, ...fields: string[]) =>
  withBody(`POST ${path}`, JSON.stringify({ refreshToken: secret('marker-refresh-token') }), ...fields);

test('a provider may say Created or Accepted where the standards have it say OK', async () => {
  const issuer = await startIssuer();
  const { gateway } = await startGatewayOf(issuer, {
    config: SIGN_IN,
    routes: [{ path: '/asked', introspection: true }],
  });
  issuer.provider.token = scripts.json(201, { access_token: issuer.token(), token_type: 'bearer' });
  expect((await gateway.ask(codeOf())).status).toBe(200);
  expect((await gateway.ask(refreshTokenTo('/v1/users/refresh'))).status).toBe(200);
  issuer.provider.end = scripts.empty(202);
  expect((await gateway.ask(refreshTokenTo('/v1/users/sign-out', issuer.bearer()))).status).toBe(204);
  issuer.provider.introspection = scripts.json(201, { active: true });
  expect((await gateway.ask(head('GET /asked', issuer.bearer({ jti: '2' })))).status).toBe(200);
});

test('errors in a form of the provider’s own send the user to sign in, as Supabase and Firebase write them', async () => {
  const issuer = await startIssuer();
  const { gateway } = await startGatewayOf(issuer, { config: SIGN_IN });
  issuer.provider.token = scripts.json(400, { code: 400, error_code: 'refresh_token_not_found', msg: 'x' });
  expectError(await gateway.ask(refreshTokenTo('/v1/users/refresh')), 401, 16);
  expectError(await gateway.ask(codeOf()), 400, 3);
  expect(gateway.logLines.join()).toContain('the token endpoint answered 400 refresh_token_not_found');
});

test('a provider that throttles is left alone for as long as it says, and clients learn how long', async () => {
  const issuer = await startIssuer();
  const { gateway } = await startGatewayOf(issuer, {
    config: SIGN_IN,
    routes: [{ path: '/asked', introspection: { cache: '1s' } }],
  });
  const throttle = scripts.json(429, {}, { 'retry-after': '20' });
  issuer.provider.token = throttle;
  const refused = await gateway.ask(refreshTokenTo('/v1/users/refresh'));
  expectError(refused, 503, 14);
  expect(header(refused, 'retry-after')).toBe('20');
  expect(refused.body.toString()).toContain('The refresh token was not used');

  issuer.provider.introspection = throttle;
  const ask = (sub: string) => gateway.ask(head('GET /asked', issuer.bearer({ sub })));
  expectError(await ask('a'), 503, 14);
  issuer.provider.introspection = scripts.json(200, { active: true });
  await gateway.time.advance(19_000);
  expectError(await ask('b'), 503, 14);
  expect(issuer.provider.introspections).toHaveLength(1);
  await gateway.time.advance(1_000);
  expect((await ask('b')).status).toBe(200);
});

test.each([
  [400, { error: 'invalid_token' }, 401],
  [200, { error: 'invalid_token' }, 401],
  [401, { error: 'invalid_token' }, 500],
  [400, { error: 'invalid_request' }, 500],
])(
  '%d %j, as older oxAuth answers about unknown tokens, refuses the token with %d',
  async (status, body, expected) => {
    const issuer = await startIssuer();
    const { gateway } = await startGatewayOf(issuer, {
      routes: [{ path: '/asked', introspection: true }],
      tokens: { opaque_tokens: { cache: '30s' } },
    });
    issuer.provider.introspection = scripts.json(status, body);
    const opaque = `Authorization: Bearer ${secret('marker-opaque-token-of-oxauth')}`;
    for (const get of [head('GET /asked', issuer.bearer()), head('GET /a', opaque)])
      expect((await gateway.ask(get)).status).toBe(expected);
    if (expected === 401) expect(accessLines(gateway).at(-1)).toMatchObject({ tokenRefused: 'inactive' });
  },
);

test.each([
  [
    ['client_secret_post', 'private_key_jwt'],
    '; its discovery document lists client_secret_post, private_key_jwt, and client_authentication is client_secret_basic"',
  ],
  [['client_secret_basic'], ' invalid_client"'],
])(
  'a provider that wants another authentication of the gateway is told: it lists %j',
  async (methods, said) => {
    const issuer = await startIssuer({ document: { token_endpoint_auth_methods_supported: methods } });
    const { gateway } = await startGatewayOf(issuer);
    issuer.provider.token = scripts.json(401, { error: 'invalid_client' });
    expectError(await gateway.ask(codeOf()), 500, 13);
    expect(gateway.logLines.join()).toContain(
      `the token endpoint answered 401 invalid_client${said.replace(' invalid_client', '')}`,
    );
  },
);

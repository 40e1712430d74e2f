import { decodeJwt } from 'jose';
import { describe, expect, onTestFinished, test } from 'vitest';
import { walkLogin } from '../../src/cli/demo/login.ts';
import { GatewayError } from '../../src/core/index.ts';
import type { SignOutEnds } from '../../src/identity/signin/index.ts';
import { startDemoProvider } from '../support/demo-provider.ts';
import { expectError, expectInvalidToken, expectUnauthenticated } from '../support/error-object.ts';
import { type IdentitySettings, startGatewayOf, startIdentityGateway } from '../support/identity-gateway.ts';
import { head, withBody } from '../support/requests.ts';
import { keycloak, type Script, scripts, startScriptedProvider } from '../support/scripted-provider.ts';
import { secret } from '../support/secrets.ts';
import { json, redeem } from '../support/sign-in-client.ts';
import { openSignInRoom } from '../support/sign-in-room.ts';
import { inTime } from '../support/test-clock.ts';
import type { TestGateway } from '../support/test-gateway.ts';
import { startIssuer, type TestIssuer } from '../support/test-issuer.ts';
import { sleep, waitFor } from '../support/wait.ts';
import { header, type Response, type Script as UpstreamScript } from '../support/wire/index.ts';
import { moveWorldClock } from '../support/world-clock.ts';

const PATH = '/v1/users/sign-out';
const SIGN_IN = { refresh: '/v1/users/refresh', sign_out: PATH };

async function front(settings: Omit<IdentitySettings, 'issuer'> = {}, ends: SignOutEnds = 'refresh_token') {
  const issuer = await startIssuer();
  const sign_in = { ...SIGN_IN, sign_out_ends: ends };
  const started = await startGatewayOf(issuer, { ...settings, config: { sign_in, ...settings.config } });
  return { issuer, ...started };
}

const post = (path: string, refreshToken: unknown, ...lines: string[]) =>
  withBody(`POST ${path}`, JSON.stringify({ refreshToken }), 'Content-Type: application/json', ...lines);
const signingOut = (bearer: string, refreshToken: unknown = secret('a-refresh-token')) =>
  post(PATH, refreshToken, bearer);

const statusOf = async (gateway: TestGateway, bearer: string) =>
  (await gateway.ask(head('GET /', bearer))).status;

function expectSignedOut(response: Response): void {
  expect(response.status, response.body.toString()).toBe(204);
  expect(response.bodyBytes).toBe(0);
  expect(header(response, 'content-length')).toBeUndefined();
  expect(header(response, 'via')).toBe('1.1 weir');
}

describe('a user who signs out', () => {
  /** Signs in in this browser, and returns the tokens. */
  async function signIn(gateway: TestGateway, redirectUri: string, browser: Map<string, string>) {
    const url = String(json(await gateway.ask(head('GET /v1/anonymous/authorize-url')))['url']);
    const { code } = await walkLogin(url, redirectUri, 'alice', 'wonderland', browser);
    const response = await redeem(gateway, code, redirectUri);
    expect(response.status).toBe(200);
    const tokens = json(response) as Record<string, string>;
    for (const name of ['accessToken', 'refreshToken', 'idToken']) secret(tokens[name] ?? '');
    return tokens;
  }

  test('is out at once, with every token of the session, and can sign in again in the same browser', async () => {
    const provider = await startDemoProvider();
    const redirectUri = provider.callbackUri;
    const config = { sign_in: SIGN_IN };
    const { gateway } = await startIdentityGateway({ issuer: provider.issuer, redirectUri, config });
    await gateway.ready();
    const browser = new Map<string, string>();
    const first = await signIn(gateway, redirectUri, browser);
    const refreshed = json(await gateway.ask(post(SIGN_IN.refresh, first['refreshToken'])));
    const bearers = [first, refreshed].map(tokens => `Authorization: Bearer ${tokens['accessToken']}`);
    const [bearer = ''] = bearers;
    for (const each of bearers) expect(await statusOf(gateway, each)).toBe(200);

    expectSignedOut(await gateway.ask(signingOut(bearer, secret(String(refreshed['refreshToken'])))));
    for (const each of bearers) expectInvalidToken(await gateway.ask(head('GET /', each)));
    expectUnauthenticated(await gateway.ask(post(SIGN_IN.refresh, refreshed['refreshToken'])));
    expect(await gateway.counted('weir_sign_outs_total')).toEqual(new Map([['{outcome="success"}', 1]]));

    // Tokens of the second in which the session ended are refused.
    moveWorldClock(1_000);
    const again = await signIn(gateway, redirectUri, browser);
    expect(decodeJwt(again['accessToken'] ?? '').sid).toBe(decodeJwt(first['accessToken'] ?? '').sid);
    expect(await statusOf(gateway, `Authorization: Bearer ${again['accessToken']}`)).toBe(200);
    expectInvalidToken(await gateway.ask(head('GET /', bearer)));
  });

  test('ends what runs on a token of the session, and nothing else', async () => {
    const trickle: UpstreamScript = async exchange => {
      await exchange.send('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
      while (exchange.connection.open) {
        await exchange.send('4\r\ntick\r\n');
        await sleep(20);
      }
    };
    const { issuer, gateway } = await front({ upstream: trickle });
    const [mine, other] = [issuer.bearer({ sid: 'session-1' }), issuer.bearer({ sid: 'session-2' })];
    const streams = await Promise.all(
      [mine, other].map(async bearer => {
        const client = await gateway.connect();
        await client.send(head('GET /stream', bearer));
        await expect.poll(() => client.received.toString()).toContain('tick');
        return client;
      }),
    );
    expectSignedOut(await gateway.ask(signingOut(issuer.bearer({ sid: 'session-1', jti: 'another' }))));
    expect(await inTime(gateway.time, streams[0]?.answer() ?? expect.fail())).toMatchObject({
      status: 200,
      complete: false,
    });
    expect(streams[1]?.end).toBeNull();
  });
});

describe('the session that ends', () => {
  test('is that of the access token, whatever the refresh token and the provider say', async () => {
    const { issuer, gateway } = await front();
    const [mine, other] = [issuer.bearer({ sid: 'session-1' }), issuer.bearer({ sid: 'session-2' })];
    const foreign = issuer.token({ sid: 'session-2', typ: 'Refresh' });
    expectSignedOut(await gateway.ask(signingOut(mine, foreign)));
    expect([await statusOf(gateway, mine), await statusOf(gateway, other)]).toEqual([401, 200]);
  });

  test('ends here where the provider says that it did not know the refresh token, as Keycloak does with a 200', async () => {
    const { issuer, gateway } = await front();
    issuer.provider.end = scripts.json(200, { error: 'invalid_token', error_description: 'Invalid token' });
    const mine = issuer.bearer({ sid: 'session-1' });
    expectSignedOut(await gateway.ask(signingOut(mine)));
    expect(await statusOf(gateway, mine)).toBe(401);
  });

  test('is the token alone if it names none', async () => {
    const { issuer, gateway } = await front();
    const [mine, other] = [issuer.bearer({ jti: 'token-1' }), issuer.bearer({ jti: 'token-2' })];
    expectSignedOut(await gateway.ask(signingOut(mine)));
    expect([await statusOf(gateway, mine), await statusOf(gateway, other)]).toEqual([401, 200]);
  });

  test('ends here alone if it is of a provider where the gateway signs no users in, which its tokens never leave for another', async () => {
    const [home, other] = [await startIssuer(), await startIssuer()];
    const identity_providers = [
      {
        ...{ name: 'home', issuer: home.url, audience: 'api', client_id: 'gateway' },
        ...{ client_authentication: 'none', redirect_uri: 'https://app.example/callback' },
      },
      { name: 'other', issuer: other.url, audience: 'api' },
    ];
    const single = { identity_provider: undefined, access_tokens: undefined };
    const config = { ...single, identity_providers, sign_in: SIGN_IN };
    const { gateway } = await startGatewayOf(home, { config });
    const [mine, same] = [other.bearer({ sid: 'session-1' }), home.bearer({ sid: 'session-1' })];
    const response = await gateway.ask(signingOut(mine));
    expectError(response, 400, 3);
    expect(response.body.toString()).toContain('does not sign users in at its provider');
    expect([await statusOf(gateway, mine), await statusOf(gateway, same)]).toEqual([401, 200]);
    expect([...home.provider.endRequests, ...other.provider.endRequests]).toEqual([]);
  });

  test('goes on when the request has no valid token or no refresh token, and the provider is not asked', async () => {
    const { issuer, gateway } = await front();
    const bearer = issuer.bearer({ sid: 'session-1' });
    const now = Math.floor(Date.now() / 1_000);
    const expired = issuer.bearer({ sid: 'session-1', iat: now - 900, exp: now - 600 });
    expectUnauthenticated(await gateway.ask(post(PATH, secret('a-refresh-token'))));
    expectInvalidToken(await gateway.ask(signingOut(expired)));
    expectInvalidToken(await gateway.ask(signingOut('Authorization: Bearer guessed')));
    for (const wrong of [undefined, 7, '']) {
      const response = await gateway.ask(post(PATH, wrong, bearer));
      expect(response.status).toBe(400);
      expect(json(response)).toMatchObject({ details: [{ fieldViolations: [{ field: 'refreshToken' }] }] });
    }
    expectError(await gateway.ask(head(`DELETE ${PATH}`, bearer)), 405, 3);
    expectError(
      await gateway.ask(withBody(`POST ${PATH}`, '{}', bearer, 'Content-Type: text/plain')),
      415,
      3,
    );
    expect(await statusOf(gateway, bearer)).toBe(200);
    expect(issuer.provider.endRequests).toEqual([]);
  });
});

describe('the provider', () => {
  test('is asked once to revoke the refresh token, by a client that it knows', async () => {
    const { issuer, gateway } = await front();
    expectSignedOut(await gateway.ask(signingOut(issuer.bearer(), secret('refresh token&='))));
    const [request, ...more] = issuer.provider.endRequests;
    expect(more).toEqual([]);
    expect(request).toMatchObject({ method: 'POST', path: '/revoke' });
    expect(request?.headers).toMatchObject({
      authorization: expect.stringMatching(/^Basic /),
      'content-type': expect.stringMatching(/^application\/x-www-form-urlencoded/),
    });
    expect(Object.fromEntries(new URLSearchParams(request?.body))).toEqual({
      token: 'refresh token&=',
      token_type_hint: 'refresh_token',
    });
  });

  test('is asked to end the session where the configuration says so', async () => {
    const { issuer, gateway } = await front({}, 'session');
    issuer.provider.end = scripts.empty(204);
    expectSignedOut(await gateway.ask(signingOut(issuer.bearer(), secret('a-refresh-token'))));
    const [request] = issuer.provider.endRequests;
    expect(request?.path).toBe('/logout');
    expect(Object.fromEntries(new URLSearchParams(request?.body))).toEqual({
      refresh_token: 'a-refresh-token',
    });
  });

  test('is not asked where it has nothing to end by', async () => {
    const { issuer, gateway } = await front({}, 'nothing');
    const bearer = issuer.bearer();
    expectSignedOut(await gateway.ask(signingOut(bearer)));
    expect(await statusOf(gateway, bearer)).toBe(401);
    expect(issuer.provider.endRequests).toEqual([]);
  });

  const html = scripts.html;
  test.each<[string, Script, SignOutEnds, outcome: string, status: number, code: number]>([
    ['fails', scripts.json(500, {}), 'refresh_token', 'broken', 503, 14],
    ['never answers', scripts.hang, 'refresh_token', 'timed_out', 504, 4],
    ['does not speak HTTP', scripts.raw('marker-token\r\n\r\n'), 'refresh_token', 'broken', 503, 14],
    ['refuses the gateway', keycloak.wrongSecret, 'refresh_token', 'gateway_refused', 500, 13],
    [
      'does not revoke such tokens',
      scripts.json(400, { error: 'unsupported_token_type' }),
      'refresh_token',
      'gateway_refused',
      500,
      13,
    ],
    [
      'knows no such token',
      scripts.json(400, { error: 'invalid_token' }),
      'refresh_token',
      'token_refused',
      400,
      3,
    ],
    ['knows no such session', keycloak.invalidRefreshToken, 'session', 'token_refused', 400, 3],
    ['shows a page in place of ending a session', html(200), 'session', 'broken', 503, 14],
  ])(
    'that %s has been asked once, the session has ended, and the response says what has not',
    async (...row) => {
      const [, script, signOutEnds, outcome, status, rpcCode] = row;
      const fake = await startScriptedProvider();
      fake.end = script;
      const room = openSignInRoom(
        { issuer: fake.issuer, timeoutMs: 300 },
        { redirectUri: 'https://app.example/cb', signOutEnds },
      );
      onTestFinished(async () => {
        room.close();
        await fake.close();
      });
      await room.ready();
      const signingOut = room.signOut({ refreshToken: 'marker-refresh' });
      await waitFor('the provider is asked', () => fake.endRequests.length === 1);
      const { response, ended } = await (script === scripts.hang
        ? inTime(room.time, signingOut)
        : signingOut);
      expect(ended).toBe(true);
      if (!(response instanceof GatewayError)) throw new Error('it went well');
      expect(response).toMatchObject({ status, rpcCode });
      expect(response.message).toMatch(/^The access tokens of this session are refused from now on\. /);
      expect(response.message).toMatch(/refresh token (is still valid|may still be valid)|ended nothing/);
      expect(response.fields[0] === 'Retry-After').toBe(status === 503);
      expect(room.signedOut).toMatchObject([{ outcome }]);
      expect(fake.endRequests).toHaveLength(1);
      expect(JSON.stringify([response.message, response.fields])).not.toMatch(/marker|sorry|HPE/);
      expect(room.everythingSaid()).not.toContain('marker');
    },
  );

  test('that is down gets no token; the session has ended all the same', async () => {
    const { issuer, gateway } = await front();
    const bearer = issuer.bearer({ sid: 'session-1' });
    await issuer.provider.close();
    const response = await gateway.ask(signingOut(bearer));
    expectError(response, 503, 14);
    expect(response.body.toString()).toContain('the refresh token is still valid');
    expect(await statusOf(gateway, bearer)).toBe(401);
    expect((await gateway.metric('weir_sign_outs_total')).get('{outcome="unreachable"}')).toBe(1);
  });

  test('that names no place to revoke tokens is a mistake that the log names', async () => {
    const issuer: TestIssuer = await startIssuer({ document: { revocation_endpoint: undefined } });
    const { gateway } = await startGatewayOf(issuer, { config: { sign_in: SIGN_IN } });
    const bearer = issuer.bearer();
    expectError(await gateway.ask(signingOut(bearer)), 500, 13);
    expect(await statusOf(gateway, bearer)).toBe(401);
    const line = gateway.logLines.map(text => JSON.parse(text)).find(({ type }) => type === 'sign-out');
    expect(line).toMatchObject({ cause: 'the provider publishes no usable revocation_endpoint' });
  });

  test('has no room for one more request from this address, and the session has ended all the same', async () => {
    const { issuer, gateway } = await front({ provider: { max_in_flight: 4, timeout: '1500ms' } });
    issuer.provider.token = scripts.hang;
    const running = gateway.ask(post(SIGN_IN.refresh, secret('another-refresh-token')));
    await expect.poll(() => issuer.provider.tokenRequests.length).toBe(1);
    const bearer = issuer.bearer();
    expectError(await gateway.ask(signingOut(bearer)), 503, 14);
    expect(await statusOf(gateway, bearer)).toBe(401);
    await inTime(gateway.time, running);
  });

  test('has not handed out a token of the session by a refresh meanwhile that is good afterwards', async () => {
    const { issuer, gateway } = await front();
    let finish: () => void = () => undefined;
    issuer.provider.end = (response, socket) => {
      finish = () => scripts.empty(200)(response, socket);
    };
    const running = gateway.ask(signingOut(issuer.bearer({ sid: 'session-1' })));
    await expect.poll(() => issuer.provider.endRequests.length).toBe(1);
    moveWorldClock(1_000);
    const refreshed = issuer.bearer({ sid: 'session-1', jti: 'refreshed' });
    expect(await statusOf(gateway, refreshed)).toBe(200);
    finish();
    expectSignedOut(await running);
    expect(await statusOf(gateway, refreshed)).toBe(401);
  });

  test('goes on revoking when the client has gone', async () => {
    const { issuer, gateway } = await front();
    issuer.provider.end = scripts.hang;
    const client = await gateway.connect();
    const bearer = issuer.bearer();
    await client.send(signingOut(bearer));
    await expect.poll(() => issuer.provider.endRequests.length).toBe(1);
    client.reset();
    expect(await statusOf(gateway, bearer)).toBe(401);
  });
});

test('a sign-out draws on the bucket of its user, and a page of an allowed origin may send it', async () => {
  const limits = { buckets: { 'sign-out': { user: '2/60s' } }, routes: { [`POST ${PATH}`]: 'sign-out' } };
  const { issuer, gateway } = await front({ limits, config: { cors: { origins: ['https://app.example'] } } });
  const origin = 'Origin: https://app.example';
  const asks = [
    'Access-Control-Request-Method: POST',
    'Access-Control-Request-Headers: authorization,content-type',
  ];
  const preflight = await gateway.ask(head(`OPTIONS ${PATH}`, origin, ...asks));
  expect(preflight.status).toBe(204);
  expect(header(preflight, 'access-control-allow-headers')).toContain('authorization');
  const response = await gateway.ask(
    post(PATH, secret('a-refresh-token'), issuer.bearer({ jti: '1' }), origin),
  );
  expectSignedOut(response);
  expect(header(response, 'access-control-allow-origin')).toBe('https://app.example');
  expect(header(response, 'x-ratelimit-remaining')).toBe('1');
  await gateway.ask(signingOut(issuer.bearer({ jti: '2' })));
  expect((await gateway.ask(signingOut(issuer.bearer({ jti: '3' })))).status).toBe(429);
  expect((await gateway.ask(signingOut(issuer.bearer({ jti: '4', sub: 'bob' })))).status).toBe(204);
});

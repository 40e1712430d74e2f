import { decodeJwt } from 'jose';
import { describe, expect, test } from 'vitest';
import { startDemoProvider } from '../support/demo-provider.ts';
import { changeConfig, serves } from '../support/edit-config.ts';
import { expectError, expectUnauthenticated } from '../support/error-object.ts';
import { type IdentitySettings, startGatewayOf, startIdentityGateway } from '../support/identity-gateway.ts';
import { head, withBody } from '../support/requests.ts';
import { keycloak, scripts } from '../support/scripted-provider.ts';
import { secret } from '../support/secrets.ts';
import { codeFor, json, redeem } from '../support/sign-in-client.ts';
import { inTime } from '../support/test-clock.ts';
import { startIssuer } from '../support/test-issuer.ts';
import { header, type Response } from '../support/wire/index.ts';

const PATH = '/v1/users/refresh';
const SIGN_IN = { sign_in: { refresh: PATH } };

async function front(settings: Omit<IdentitySettings, 'issuer'> = {}) {
  const issuer = await startIssuer();
  const started = await startGatewayOf(issuer, { ...settings, config: { ...SIGN_IN, ...settings.config } });
  return { issuer, ...started };
}

const refreshing = (refreshToken: unknown, ...lines: string[]) =>
  withBody(`POST ${PATH}`, JSON.stringify({ refreshToken }), 'Content-Type: application/json', ...lines);

/** The members of a good response, whose tokens are secrets from now on. */
function tokensIn(response: Response): Record<string, string> {
  expect(response.status, response.body.toString()).toBe(200);
  const tokens = json(response) as Record<string, string>;
  for (const name of ['accessToken', 'refreshToken', 'idToken']) secret(tokens[name] ?? '');
  return tokens;
}

test('a user stays signed in: each refresh returns new tokens of the same session, which open the API', async () => {
  const provider = await startDemoProvider();
  const redirectUri = provider.callbackUri;
  const { gateway } = await startIdentityGateway({ issuer: provider.issuer, redirectUri, config: SIGN_IN });
  await gateway.ready();
  const first = tokensIn(await redeem(gateway, await codeFor(gateway, redirectUri), redirectUri));
  let { refreshToken, accessToken, sessionState } = first;
  for (let i = 0; i < 2; i++) {
    const response = await gateway.ask(refreshing(refreshToken));
    const next = tokensIn(response);
    expect(Object.keys(next)).toEqual(Object.keys(first));
    expect(header(response, 'cache-control')).toBe('no-store');
    expect(next.accessToken).not.toBe(accessToken);
    expect(next.refreshToken).not.toBe(refreshToken);
    expect(decodeJwt(next.accessToken ?? '')).toMatchObject({ sid: sessionState, azp: 'gateway' });
    expect((await gateway.ask(head('GET /', `Authorization: Bearer ${next.accessToken}`))).status).toBe(200);
    ({ refreshToken, accessToken, sessionState } = next);
  }
  // Rotated twice: the first one is spent, and the provider takes its reuse for theft.
  expectUnauthenticated(await gateway.ask(refreshing(first.refreshToken)));
  expectUnauthenticated(await gateway.ask(refreshing(refreshToken)));
  expect(await gateway.counted('weir_refreshes_total')).toEqual(
    new Map([
      ['{outcome="success"}', 2],
      ['{outcome="token_refused"}', 2],
    ]),
  );
});

describe('the provider', () => {
  test('gets the token byte for byte, with the gateway’s secret and no scope', async () => {
    const { issuer, gateway } = await front();
    const refreshToken = secret(' token+with/all=signs&%20');
    tokensIn(await gateway.ask(refreshing(refreshToken)));
    const [request] = issuer.provider.tokenRequests;
    expect(Object.fromEntries(new URLSearchParams(request?.body))).toEqual({
      grant_type: 'refresh_token',
      refresh_token: refreshToken,
    });
    expect(request?.headers.authorization).toMatch(/^Basic /);
  });

  test('that issues no new refresh token leaves the old one in use, so the response has none', async () => {
    const { gateway } = await front();
    const tokens = tokensIn(await gateway.ask(refreshing('marker-refresh-1')));
    expect(tokens).not.toHaveProperty('refreshToken');
    expect(tokens).not.toHaveProperty('refreshExpiresIn');
  });

  test('that is down gets no token, and the response says so', async () => {
    const { issuer, gateway } = await front();
    await issuer.provider.close();
    const response = await gateway.ask(refreshing(secret('marker-refresh-2')));
    expectError(response, 503, 14);
    expect(header(response, 'retry-after')).toBe('5');
    expect(response.body.toString()).toContain('The refresh token was not used');
  });

  test('that refuses the gateway is a fault of the gateway, and only the log says why', async () => {
    const { issuer, gateway } = await front();
    issuer.provider.token = keycloak.wrongSecret;
    expectError(await gateway.ask(refreshing(secret('marker-refresh-3'))), 500, 13);
    const line = gateway.logLines.map(text => JSON.parse(text)).find(({ type }) => type === 'refresh');
    expect(line).toMatchObject({ outcome: 'gateway_refused', cause: expect.stringContaining('401') });
  });

  test('that sends a not-before mark with new tokens ends the older tokens of their subject', async () => {
    const { issuer, gateway } = await front();
    const now = Math.floor(Date.now() / 1_000);
    const [older, other] = [issuer.bearer({ iat: now - 60 }), issuer.bearer({ sub: 'bob', iat: now - 60 })];
    expect((await gateway.ask(head('GET /', older))).status).toBe(200);
    issuer.provider.token = scripts.tokens({ access_token: issuer.token(), 'not-before-policy': now - 30 });
    tokensIn(await gateway.ask(refreshing('marker-refresh-4')));
    expect((await gateway.ask(head('GET /', older))).status).toBe(401);
    expect((await gateway.ask(head('GET /', other))).status).toBe(200);
  });
});

describe('the endpoint', () => {
  test('takes POST alone, JSON alone, and no wrong body to the provider', async () => {
    const { issuer, gateway, upstream } = await front();
    const get = await gateway.ask(head(`GET ${PATH}`));
    expectError(get, 405, 3);
    expect(header(get, 'allow')).toBe('POST');
    expectError(await gateway.ask(withBody(`POST ${PATH}`, 'x=y', 'Content-Type: text/plain')), 415, 3);
    expectError(await gateway.ask(withBody(`POST ${PATH}`, '{'.padEnd(65_537))), 413, 3);
    for (const wrong of [undefined, 7, '', ['marker-refresh'], '\ud800']) {
      const response = await gateway.ask(refreshing(wrong));
      expect(response.status).toBe(400);
      expect(json(response)).toMatchObject({ details: [{ fieldViolations: [{ field: 'refreshToken' }] }] });
    }
    expect(issuer.provider.tokenRequests).toEqual([]);
    expect(upstream.requests).toEqual([]);
    expect(await gateway.counted('weir_refreshes_total')).toEqual(new Map([['{outcome="bad_body"}', 5]]));
  });

  test('does not look at Authorization: the access token may have expired', async () => {
    const { gateway } = await front();
    tokensIn(await gateway.ask(refreshing('marker-refresh-5', 'Authorization: Bearer expired')));
  });

  test('draws on a bucket that limits.yaml gives it, and its 429 reads as an error object as well', async () => {
    const limits = { buckets: { 'sign-in': { address: '1/60s' } }, routes: { [`POST ${PATH}`]: 'sign-in' } };
    const { issuer, gateway } = await front({ limits });
    const admitted = await gateway.ask(refreshing('marker-refresh-6'));
    tokensIn(admitted);
    expect(header(admitted, 'x-ratelimit-limit')).toBe('1');
    const refused = await gateway.ask(refreshing('marker-refresh-6'));
    expect(refused.status).toBe(429);
    expect(json(refused)).toMatchObject({ code: 8, details: [], global: false });
    expect(issuer.provider.tokenRequests).toHaveLength(1);
  });

  test('counts refused tokens as invalid requests, so that nobody can try many', async () => {
    const limits = { invalid_requests: { limit: '2/60s', restrict_for: '60s' } };
    const { issuer, gateway } = await front({ limits });
    issuer.provider.token = keycloak.codeNotValid;
    for (let i = 0; i < 3; i++) expectUnauthenticated(await gateway.ask(refreshing(`guess-number-${i}`)));
    const restricted = await gateway.ask(refreshing('guess-number-4'));
    expect(restricted.status).toBe(429);
    expect(json(restricted)).toMatchObject({ code: 8, global: true });
    expect(issuer.provider.tokenRequests).toHaveLength(3);
  });

  test('shares the places at the provider with sign-ins', async () => {
    const { issuer, gateway } = await front({ provider: { max_in_flight: 4, timeout: '1500ms' } });
    issuer.provider.token = scripts.hang;
    const running = redeem(gateway, 'marker-code', 'https://app.example/callback');
    await expect.poll(() => issuer.provider.tokenRequests.length).toBe(1);
    const refused = await gateway.ask(refreshing(secret('marker-refresh-7')));
    expectError(refused, 503, 14);
    expect(refused.body.toString()).toContain('The refresh token was not used');
    await inTime(gateway.time, running);
  });

  test('is not there unless it is configured: the path is that of a service, and no metric is', async () => {
    const { issuer, gateway, upstream } = await front({ config: { sign_in: undefined } });
    await gateway.ask(refreshing('marker-refresh-9', issuer.bearer()));
    expect(upstream.onlyRequest.target).toBe(PATH);
    expect(issuer.provider.tokenRequests).toEqual([]);
    expect((await gateway.metric('weir_refreshes_total')).size).toBe(0);
  });

  test('comes, moves and goes with a reload', async () => {
    const { issuer, gateway, upstream } = await front({ config: { sign_in: undefined } });
    await changeConfig(gateway, { sign_in: { refresh: '/other' } });
    await serves(gateway, 2);
    tokensIn(await gateway.ask(refreshing('marker-refresh-11').replace(PATH, '/other')));
    await gateway.ask(refreshing('marker-refresh-11', issuer.bearer()));
    expect(upstream.onlyRequest.target).toBe(PATH);
  });

  test('takes its requests from a catch-all, in any letter case and with a slash behind it', async () => {
    const { issuer, gateway, upstream } = await front();
    const other = refreshing('marker-refresh-10').replace(PATH, '/V1/users/Refresh/');
    tokensIn(await gateway.ask(other));
    expect(issuer.provider.tokenRequests).toHaveLength(1);
    expect(upstream.requests).toEqual([]);
  });
});

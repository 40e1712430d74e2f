import { decodeJwt } from 'jose';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { DemoProviderOptions } from '../../src/cli/demo/provider/demo-provider.ts';
import { startDemoProvider } from '../support/demo-provider.ts';
import { expectError } from '../support/error-object.ts';
import { type IdentitySettings, startIdentityGateway } from '../support/identity-gateway.ts';
import { startPlainProvider } from '../support/plain-provider.ts';
import { head } from '../support/requests.ts';
import { secret } from '../support/secrets.ts';
import { codeFor, json, redeem } from '../support/sign-in-client.ts';
import { header, type Response, values } from '../support/wire/index.ts';

/** A gateway of a provider that looks like a Keycloak realm. */
async function keycloakLike(options: DemoProviderOptions = {}, settings: Partial<IdentitySettings> = {}) {
  const provider = await startDemoProvider(options);
  const redirectUri = settings.redirectUri ?? provider.callbackUri;
  const started = await startIdentityGateway({ issuer: provider.issuer, redirectUri, ...settings });
  await started.gateway.ready();
  return { provider, redirectUri, ...started };
}

/** The members of a good response, whose tokens are secrets from now on. */
function tokensIn(response: Response): Record<string, unknown> {
  expect(response.status, response.body.toString()).toBe(200);
  const members = json(response);
  for (const name of ['accessToken', 'refreshToken', 'idToken']) {
    if (typeof members[name] === 'string') secret(members[name]);
  }
  return members;
}

function expectRefusedCode(response: Response): void {
  expectError(response, 400, 3);
  expect(header(response, 'connection')).not.toBe('close');
}

describe('with a provider like Keycloak', () => {
  test('a user who signs in gets every member of the contract, and the access token opens the API', async () => {
    const { gateway, upstream, redirectUri } = await keycloakLike();
    const response = await redeem(gateway, await codeFor(gateway, redirectUri), redirectUri);
    const tokens = tokensIn(response);
    expect(Object.keys(tokens)).toEqual([
      ...['accessToken', 'tokenType', 'expiresIn', 'refreshToken', 'refreshExpiresIn'],
      ...['idToken', 'notBeforePolicy', 'sessionState', 'scope'],
    ]);
    const { accessToken, idToken, sessionState } = tokens;
    expect(tokens).toMatchObject({
      tokenType: 'Bearer',
      expiresIn: 300,
      refreshToken: expect.stringMatching(/./),
      refreshExpiresIn: 1_800,
      notBeforePolicy: 0,
      scope: 'openid profile',
    });
    expect(decodeJwt(String(accessToken))).toMatchObject({
      typ: 'Bearer',
      azp: 'gateway',
      sid: sessionState,
    });
    expect(decodeJwt(String(idToken))).toMatchObject({ typ: 'ID', preferred_username: 'alice' });

    const authorization = `Authorization: Bearer ${accessToken}`;
    expect((await gateway.ask(head('GET /v1/users/me', authorization))).status).toBe(200);
    expect(values(upstream.onlyRequest.fields, 'x-auth-subject')).toEqual([
      decodeJwt(String(accessToken)).sub,
    ]);
    expect(values(upstream.onlyRequest.fields, 'x-auth-client')).toEqual(['gateway']);
  });

  test('only the access token of the three opens the API', async () => {
    const { gateway, upstream, redirectUri } = await keycloakLike();
    const tokens = tokensIn(await redeem(gateway, await codeFor(gateway, redirectUri), redirectUri));
    for (const name of ['idToken', 'refreshToken']) {
      expectError(await gateway.ask(head('GET /', `Authorization: Bearer ${tokens[name]}`)), 401, 16);
    }
    expect(upstream.requests).toEqual([]);
  });

  test('the response is exact JSON of known length, kept in no cache, and carries the fields of every response', async () => {
    const { gateway, redirectUri } = await keycloakLike();
    const response = await redeem(gateway, await codeFor(gateway, redirectUri), redirectUri);
    tokensIn(response);
    expect(response).toMatchObject({ reason: 'OK', complete: true, interim: [] });
    expect(header(response, 'content-type')).toBe('application/json');
    expect(header(response, 'content-length')).toBe(String(response.bodyBytes));
    expect(header(response, 'cache-control')).toBe('no-store');
    expect(values(response.fields, 'via')).toEqual(['1.1 weir']);
    expect(header(response, 'x-request-id')).toMatch(/^[A-Za-z0-9._-]{1,64}$/);
    expect(Date.parse(header(response, 'date') ?? '')).not.toBeNaN();
  });

  test('a code can be redeemed once', async () => {
    const { gateway, redirectUri } = await keycloakLike();
    const code = await codeFor(gateway, redirectUri);
    tokensIn(await redeem(gateway, code, redirectUri));
    expectRefusedCode(await redeem(gateway, code, redirectUri));
    expect(await gateway.counted('weir_sign_ins_total')).toEqual(
      new Map([
        ['{outcome="success"}', 1],
        ['{outcome="code_refused"}', 1],
      ]),
    );
  });

  test('a code that is sent twice at the same moment yields tokens once, and the other request is refused', async () => {
    const { gateway, redirectUri } = await keycloakLike();
    const code = await codeFor(gateway, redirectUri);
    const responses = await Promise.all([
      redeem(gateway, code, redirectUri),
      redeem(gateway, code, redirectUri),
    ]);
    expect(responses.map(({ status }) => status).toSorted()).toEqual([200, 400]);
    for (const response of responses)
      if (response.status === 200) tokensIn(response);
      else expectRefusedCode(response);
  });

  test('a malformed code is refused', async () => {
    const { gateway, redirectUri } = await keycloakLike();
    for (const code of [' ', 'a b\u0000c', 'ü'.repeat(1_000), '&code=x', '__proto__'])
      expectRefusedCode(await redeem(gateway, code, redirectUri));
  });

  test('a redirect uri that no parser would leave alone is compared byte for byte', async () => {
    const redirectUri = 'HTTP://App.example:80/cb?x=%7e';
    const { gateway } = await keycloakLike({ redirectUris: [redirectUri] }, { redirectUri });
    const code = await codeFor(gateway, redirectUri);
    expectRefusedCode(await redeem(gateway, code, new URL(redirectUri).href));
    tokensIn(await redeem(gateway, code, redirectUri));
  });

  test('a redirect uri that is not on the list is refused unasked, the default one is always on it', async () => {
    const other = 'https://other.example/cb';
    const settings = { provider: { redirect_uris: ['https://listed.example/cb'] } };
    const { gateway, redirectUri } = await keycloakLike({ redirectUris: [other] }, settings);
    const code = await codeFor(gateway, redirectUri);
    const refused = await redeem(gateway, code, other);
    expect(refused.status).toBe(400);
    expect(json(refused)).toMatchObject({
      code: 3,
      details: [{ fieldViolations: [{ field: 'redirectUri' }] }],
    });
    tokensIn(await redeem(gateway, code, redirectUri));
  });

  test('a gateway with a wrong secret says that the fault is its own, and does not burn the code', async () => {
    const { provider, gateway, redirectUri } = await keycloakLike();
    const code = await codeFor(gateway, redirectUri);
    const wrong = await startIdentityGateway({
      issuer: provider.issuer,
      redirectUri,
      secret: 'marker-wrong-secret',
    });
    await wrong.gateway.ready();
    const response = await redeem(wrong.gateway, code, redirectUri);
    expectError(response, 500, 13);
    expect(response.body.toString()).not.toMatch(/client|secret/i);
    expect(wrong.gateway.logLines.join('')).toContain('invalid_client');
    tokensIn(await redeem(gateway, code, redirectUri));
  });

  test('a bot that got its token from the provider itself is known as a bot and draws on no user', async () => {
    const { gateway, upstream, provider } = await keycloakLike();
    const response = await fetch(`${provider.issuer}/protocol/openid-connect/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa('demo-bot:demo-bot-secret')}` },
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
    });
    const { access_token: token } = (await response.json()) as Record<string, string>;
    expect((await gateway.ask(head('GET /', `Authorization: Bearer ${secret(token ?? '')}`))).status).toBe(
      200,
    );
    expect(values(upstream.onlyRequest.fields, 'x-auth-client')).toEqual(['demo-bot']);
  });
});

describe('with a provider that has nothing of Keycloak', () => {
  test('what it does not issue is derived or left out', async () => {
    const provider = await startPlainProvider();
    onTestFinished(() => provider.close());
    const { gateway } = await startIdentityGateway({
      issuer: provider.issuer,
      redirectUri: provider.callbackUri,
      secret: 'plain-secret',
      provider: { client_authentication: 'client_secret_post', scope: 'openid' },
    });
    await gateway.ready();
    const code = await codeFor(gateway, provider.callbackUri, 'anyone', 'anything');
    const response = await redeem(gateway, code, provider.callbackUri);
    expect(tokensIn(response)).toEqual({
      accessToken: expect.any(String),
      tokenType: 'Bearer',
      expiresIn: 60,
      idToken: expect.any(String),
      notBeforePolicy: 0,
      scope: 'openid',
    });
    expect(header(response, 'cache-control')).toBe('no-store');
    expectRefusedCode(await redeem(gateway, code, provider.callbackUri));
  });
});

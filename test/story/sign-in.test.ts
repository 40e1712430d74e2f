import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose';
import { afterEach, expect, test } from 'vitest';
import { walkLogin } from '../../src/cli/demo/login.ts';
import { type DemoProviderOptions, GATEWAY_CLIENT } from '../../src/cli/demo/provider/demo-provider.ts';
import { GatewayError, RpcCode } from '../../src/core/index.ts';
import type { SignInOptions } from '../../src/identity/signin/index.ts';
import { startDemoProvider } from '../support/demo-provider.ts';
import { startPlainProvider } from '../support/plain-provider.ts';
import { openSignInRoom, type SignInRoom } from '../support/sign-in-room.ts';
import { moveWorldClock } from '../support/world-clock.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

async function demo(options: DemoProviderOptions = {}, signIn: Partial<SignInOptions> = {}) {
  const provider = await startDemoProvider(options);
  const room = openSignInRoom(
    { issuer: provider.issuer },
    {
      clientAuthentication: { kind: 'client_secret_basic', secret: GATEWAY_CLIENT.secret },
      redirectUri: provider.callbackUri,
      scope: 'openid profile',
      ...signIn,
    },
  );
  cleanups.push(room.close);
  await room.ready();
  return { provider, room, redirectUri: signIn.redirectUri ?? provider.callbackUri };
}

function urlOf(room: SignInRoom): string {
  const response = room.signIn.authorizeUrl();
  if (response instanceof GatewayError) throw response;
  return JSON.parse(response.body.toString('utf8')).url;
}

async function codeOf(room: SignInRoom, redirectUri: string): Promise<string> {
  return (await walkLogin(urlOf(room), redirectUri, 'alice', 'wonderland')).code;
}

function expectRefusedCode(response: unknown): void {
  expect(response).toBeInstanceOf(GatewayError);
  expect(response).toMatchObject({
    status: 400,
    rpcCode: RpcCode.invalidArgument,
    side: 'client',
    details: [],
  });
}

test('a client that opens the authorization URL and signs in trades its code for every member of the token object', async () => {
  const { provider, room, redirectUri } = await demo();
  const response = await room.redeem({ code: await codeOf(room, redirectUri), redirectUri });
  expect(Object.keys(response)).toEqual([
    'accessToken',
    'tokenType',
    'expiresIn',
    'refreshToken',
    'refreshExpiresIn',
    'idToken',
    'notBeforePolicy',
    'sessionState',
    'scope',
  ]);
  expect(response).toMatchObject({
    tokenType: 'Bearer',
    expiresIn: 300,
    refreshExpiresIn: 1_800,
    notBeforePolicy: 0,
    scope: 'openid profile',
  });
  const { accessToken, idToken, sessionState } = response as Record<string, string>;
  const keys = createRemoteJWKSet(new URL(room.provider.metadata?.keySetUrl ?? ''));
  const access = await jwtVerify(accessToken ?? '', keys, { issuer: provider.issuer, audience: 'api' });
  expect(access.payload).toMatchObject({ typ: 'Bearer', azp: 'gateway', sid: sessionState });
  expect(access.payload['client_id']).toBeUndefined();
  const id = await jwtVerify(idToken ?? '', keys, { issuer: provider.issuer, audience: 'gateway' });
  expect(id.payload).toMatchObject({ typ: 'ID', preferred_username: 'alice' });
  expect(room.redeemed).toMatchObject([{ outcome: 'success', error: null }]);
  expect(room.marks).toEqual([]);
});

test('the authorization url holds the client, the redirect uri, the response type and the scope, and stays the same', async () => {
  const { provider, room, redirectUri } = await demo();
  const url = new URL(urlOf(room));
  expect(url.href.startsWith(`${provider.issuer}/protocol/openid-connect/auth?`)).toBe(true);
  expect(Object.fromEntries(url.searchParams)).toEqual({
    client_id: 'gateway',
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: 'openid profile',
  });
  expect(room.signIn.authorizeUrl()).toBe(room.signIn.authorizeUrl());
});

test('a token response is kept in no cache', async () => {
  const { room, redirectUri } = await demo();
  const body = Buffer.from(JSON.stringify({ code: await codeOf(room, redirectUri), redirectUri }));
  const response = await room.signIn.redeem(body, '192.0.2.1');
  expect(response.fields).toEqual(['Content-Type', 'application/json', 'Cache-Control', 'no-store']);
});

test('a code can be redeemed once', async () => {
  const { room, redirectUri } = await demo();
  const code = await codeOf(room, redirectUri);
  expect(await room.redeem({ code, redirectUri })).toHaveProperty('accessToken');
  expectRefusedCode(await room.redeem({ code, redirectUri }));
  expect(room.redeemed.map(({ outcome }) => outcome)).toEqual(['success', 'code_refused']);
});

test('a code that is redeemed twice at the same moment yields tokens once, and the other time is refused', async () => {
  const { room, redirectUri } = await demo();
  const code = await codeOf(room, redirectUri);
  const responses = await Promise.all([
    room.redeem({ code, redirectUri }),
    room.redeem({ code, redirectUri }),
  ]);
  const [refused, ...others] = responses.filter(response => response instanceof GatewayError);
  expectRefusedCode(refused);
  expect(others).toEqual([]);
  expect(responses.find(response => response !== refused)).toHaveProperty('accessToken');
});

test('an expired code is refused', async () => {
  const { room, redirectUri } = await demo();
  const code = await codeOf(room, redirectUri);
  moveWorldClock(61_000);
  expectRefusedCode(await room.redeem({ code, redirectUri }));
});

test.each(['', '/', '%2F', '?', ' '])(
  'a redirect uri with %j added is rejected, and the right one still works afterwards',
  async addition => {
    const { room, redirectUri } = await demo();
    const code = await codeOf(room, redirectUri);
    const other = addition === '' ? redirectUri.toUpperCase() : redirectUri + addition;
    expectRefusedCode(await room.redeem({ code, redirectUri: other }));
    expect(await room.redeem({ code, redirectUri })).toHaveProperty('accessToken');
  },
);

test.each(['garbage', 'a b\u0000c', 'ü'.repeat(1_000), '../../etc/passwd', '&code=x'])(
  'the malformed code %j is refused',
  async code => {
    const { room, redirectUri } = await demo();
    expectRefusedCode(await room.redeem({ code, redirectUri }));
  },
);

test.each(['HTTP://App.example:80/cb?x=%7e', 'https://app.example/a/../cb'])(
  'a sign-in with the redirect uri %s works, because it is never normalised',
  async redirectUri => {
    const { room } = await demo({ redirectUris: [redirectUri] }, { redirectUri });
    const { code } = await walkLogin(urlOf(room), redirectUri, 'bob', 'builder');
    expectRefusedCode(await room.redeem({ code, redirectUri: new URL(redirectUri).href }));
    expect(await room.redeem({ code, redirectUri })).toHaveProperty('accessToken');
  },
);

test('an app with a scheme of its own and PKCE signs in', async () => {
  const redirectUri = 'com.example.app:/callback';
  const native = {
    client_id: 'gateway',
    client_secret: GATEWAY_CLIENT.secret,
    application_type: 'native',
    grant_types: ['authorization_code', 'refresh_token'],
    redirect_uris: [redirectUri],
  };
  const { room } = await demo({ clients: [native] }, { redirectUri });
  const codeVerifier = 'v'.repeat(43);
  const digest = await crypto.subtle.digest('SHA-256', Buffer.from(codeVerifier));
  const url = new URL(urlOf(room));
  url.searchParams.set('code_challenge', Buffer.from(digest).toString('base64url'));
  url.searchParams.set('code_challenge_method', 'S256');
  const { code } = await walkLogin(url.href, redirectUri, 'alice', 'wonderland');
  expectRefusedCode(await room.redeem({ code, redirectUri, codeVerifier: 'w'.repeat(43) }));
  expectRefusedCode(await room.redeem({ code, redirectUri }));
  expect(await room.redeem({ code, redirectUri, codeVerifier })).toHaveProperty('accessToken');
});

test('a not-before mark above 0 is learnt with the subject of the access token', async () => {
  const { provider, room, redirectUri } = await demo();
  provider.setNotBefore(1_700_000_000);
  const response = await room.redeem({ code: await codeOf(room, redirectUri), redirectUri });
  expect(response).toHaveProperty('notBeforePolicy', 1_700_000_000);
  const { accessToken } = response as Record<string, string>;
  expect(room.marks).toEqual([[decodeJwt(accessToken ?? '').sub, 1_700_000_000]]);
});

test('a sign-in survives a change of the signing key in its middle', async () => {
  const { provider, room, redirectUri } = await demo();
  const code = await codeOf(room, redirectUri);
  provider.rotateKeys();
  expect(await room.redeem({ code, redirectUri })).toHaveProperty('accessToken');
});

test('a wrong client secret is a fault of the gateway, which neither burns the code nor names the secret', async () => {
  const { provider, room, redirectUri } = await demo();
  const wrong = openSignInRoom(
    { issuer: provider.issuer },
    { redirectUri, clientAuthentication: { kind: 'client_secret_basic', secret: 'marker-secret' } },
  );
  cleanups.push(wrong.close);
  await wrong.ready();
  const code = await codeOf(room, redirectUri);
  const response = await wrong.redeem({ code, redirectUri });
  expect(response).toMatchObject({ status: 500, rpcCode: RpcCode.internal });
  expect(wrong.redeemed).toMatchObject([
    { outcome: 'gateway_refused', error: { cause: { status: 401, error: 'invalid_client' } } },
  ]);
  expect(wrong.everythingSaid()).not.toContain('marker-secret');
  expect(await room.redeem({ code, redirectUri })).toHaveProperty('accessToken');
});

test('a redirect uri outside the allow list is refused before the provider sees it', async () => {
  const other = 'https://other.example/cb';
  const { room, redirectUri } = await demo(
    { redirectUris: [other] },
    { redirectAllowList: ['https://listed.example/cb'] },
  );
  const code = await codeOf(room, redirectUri);
  const refused = await room.redeem({ code, redirectUri: other });
  expect(refused).toMatchObject({ status: 400, details: [{ fieldViolations: [{ field: 'redirectUri' }] }] });
  expect(await room.redeem({ code, redirectUri })).toHaveProperty('accessToken');
});

test('a provider that is not Keycloak signs users in, and what it does not issue is left out or derived', async () => {
  const provider = await startPlainProvider();
  const room = openSignInRoom(
    { issuer: provider.issuer },
    {
      clientAuthentication: { kind: 'client_secret_post', secret: 'plain-secret' },
      redirectUri: provider.callbackUri,
      scope: 'openid',
    },
  );
  cleanups.push(room.close);
  await room.ready();
  const { code } = await walkLogin(urlOf(room), provider.callbackUri, 'anyone', 'anything');
  const response = await room.redeem({ code, redirectUri: provider.callbackUri });
  expect(response).toEqual({
    accessToken: expect.any(String),
    tokenType: 'Bearer',
    expiresIn: 60,
    idToken: expect.any(String),
    notBeforePolicy: 0,
    scope: 'openid',
  });
});

import { decodeJwt } from 'jose';
import { beforeAll, describe, expect, test } from 'vitest';
import { walkLogin } from '../../src/cli/demo/login.ts';
import { expectError, expectInvalidToken, expectUnauthenticated } from '../support/error-object.ts';
import { head, withBody } from '../support/requests.ts';
import { secret } from '../support/secrets.ts';
import { json, redeem } from '../support/sign-in-client.ts';
import type { TestGateway } from '../support/test-gateway.ts';
import { sleep, waitFor } from '../support/wait.ts';
import { gatewayOf, replicasOf } from './gateways.ts';
import { newRealm, REDIRECT_URI, type TestRealm } from './realm.ts';
import { call, signIn, type Tokens, tokensIn } from './users.ts';

const SIGN_IN = { refresh: '/v1/users/refresh', sign_out: '/v1/users/sign-out' };
const OTHER = { id: 'other', secret: 'marker-other-secret' };

let realm: TestRealm;
beforeAll(async () => {
  realm = await newRealm();
  await realm.addClient({
    clientId: OTHER.id,
    secret: OTHER.secret,
    standardFlowEnabled: true,
    redirectUris: [REDIRECT_URI],
  });
});

/** JSON in UTF-8, a character for each byte. */
function bytesOf(body: unknown): string {
  return Buffer.from(JSON.stringify(body)).toString('latin1');
}

function refresh(gateway: TestGateway, refreshToken: string) {
  return gateway.ask(withBody(`POST ${SIGN_IN.refresh}`, bytesOf({ refreshToken })));
}

function signOut(gateway: TestGateway, { accessToken, refreshToken }: Tokens) {
  const bearer = `Authorization: Bearer ${accessToken}`;
  return gateway.ask(withBody(`POST ${SIGN_IN.sign_out}`, bytesOf({ refreshToken }), bearer));
}

/** Signs in in a browser, which keeps its cookies. `password`: what it types if Keycloak asks. */
async function signInWith(gateway: TestGateway, browser: Map<string, string>, password: string) {
  const url = String(json(await gateway.ask(head('GET /v1/anonymous/authorize-url')))['url']);
  const { code } = await walkLogin(url, REDIRECT_URI, 'alice', password, browser);
  return tokensIn(await redeem(gateway, code, REDIRECT_URI));
}

describe('a refresh', () => {
  test('returns new tokens of the same session, which open the API', async () => {
    const { gateway } = await gatewayOf(realm, { config: { sign_in: SIGN_IN } });
    const first = await signIn(gateway);
    const next = tokensIn(await refresh(gateway, first.refreshToken));
    expect(next.accessToken).not.toBe(first.accessToken);
    expect(next.sessionState).toBe(first.sessionState);
    expect((await call(gateway, next.accessToken)).status).toBe(200);
  });

  test('spends its token, and a second use ends the session', async () => {
    const { gateway } = await gatewayOf(realm, { config: { sign_in: SIGN_IN } });
    const first = await signIn(gateway);
    const next = tokensIn(await refresh(gateway, first.refreshToken));
    expectUnauthenticated(await refresh(gateway, first.refreshToken));
    expectUnauthenticated(await refresh(gateway, next.refreshToken));
  });

  test.each(['guessed', 'a.b.c', 'ü'.repeat(1_000)])('with %j is refused', async guessed => {
    const { gateway } = await gatewayOf(realm, { config: { sign_in: SIGN_IN } });
    expectUnauthenticated(await refresh(gateway, guessed));
  });

  test('with an access token, an ID token or the token of another client is refused', async () => {
    const { gateway } = await gatewayOf(realm, { config: { sign_in: SIGN_IN } });
    const browser = new Map<string, string>();
    const { accessToken, idToken } = await signInWith(gateway, browser, 'wonderland');
    const foreign = secret(String((await tokensOfOther(browser))['refresh_token']));
    for (const token of [accessToken, idToken, foreign]) expectUnauthenticated(await refresh(gateway, token));
  });

  test('of a user who was disabled meanwhile is refused', async () => {
    await realm.addUser('erin', 'secret-of-erin');
    const { gateway } = await gatewayOf(realm, { config: { sign_in: SIGN_IN } });
    const { refreshToken } = await signIn(gateway, 'erin', 'secret-of-erin');
    await realm.changeUser('erin', { enabled: false });
    expectUnauthenticated(await refresh(gateway, refreshToken));
  });

  test('at a gateway with a wrong secret gets 500, and the token stays good', async () => {
    const { gateway } = await gatewayOf(realm, { config: { sign_in: SIGN_IN } });
    const wrong = await gatewayOf(realm, { secret: 'marker-wrong-secret', config: { sign_in: SIGN_IN } });
    const { refreshToken } = await signIn(gateway);
    expectError(await refresh(wrong.gateway, refreshToken), 500, 13);
    tokensIn(await refresh(gateway, refreshToken));
  });
});

/** Opens the login page of the other client in this browser, which is signed in already. */
async function tokensOfOther(browser: Map<string, string>) {
  const url = new URL(`${realm.issuer}/protocol/openid-connect/auth`);
  url.search = String(
    new URLSearchParams({
      client_id: OTHER.id,
      redirect_uri: REDIRECT_URI,
      response_type: 'code',
      scope: 'openid',
    }),
  );
  const { code } = await walkLogin(url.href, REDIRECT_URI, 'alice', 'not needed', browser);
  return realm.tokens({ grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI }, OTHER);
}

describe('a sign-out', () => {
  test('ends the access tokens of the session at every replica, and its refresh token', async () => {
    const [one, two] = (await replicasOf(realm, 2, { config: { sign_in: SIGN_IN } })).map(
      ({ gateway }) => gateway,
    );
    if (one === undefined || two === undefined) return;
    const [tokens, bystander] = [await signIn(one), await signIn(one)];
    const next = tokensIn(await refresh(two, tokens.refreshToken));
    for (const { accessToken } of [tokens, next]) expect((await call(two, accessToken)).status).toBe(200);
    expect((await signOut(one, next)).status).toBe(204);
    for (const { accessToken } of [tokens, next]) {
      expectInvalidToken(await call(one, accessToken));
      await waitFor(
        'the other one refuses',
        async () => (await call(two, accessToken)).status === 401,
        1_000,
      );
    }
    for (const { refreshToken } of [tokens, next]) expectUnauthenticated(await refresh(two, refreshToken));
    expect((await call(two, bystander.accessToken)).status).toBe(200);
  });

  test('signs the browser out if no other client uses its session', async () => {
    const { gateway } = await gatewayOf(realm, { config: { sign_in: SIGN_IN } });
    const browser = new Map<string, string>();
    expect((await signOut(gateway, await signInWith(gateway, browser, 'wonderland'))).status).toBe(204);
    await expect(signInWith(gateway, browser, 'wrong')).rejects.toThrow('got stuck');
  });

  test('leaves the browser signed in where another client uses its session, and its next tokens are good', async () => {
    const { gateway } = await gatewayOf(realm, { config: { sign_in: SIGN_IN } });
    const browser = new Map<string, string>();
    const first = await signInWith(gateway, browser, 'wonderland');
    await tokensOfOther(browser);
    expect((await signOut(gateway, first)).status).toBe(204);
    // Tokens of the second in which the session ended are refused.
    await sleep(1_000);
    const again = await signInWith(gateway, browser, 'not needed');
    expect(decodeJwt(again.accessToken)['sid']).toBe(decodeJwt(first.accessToken)['sid']);
    expect((await call(gateway, again.accessToken)).status).toBe(200);
    expectInvalidToken(await call(gateway, first.accessToken));
  });

  test('that ends the session signs the browser out, for every client', async () => {
    const sign_in = { ...SIGN_IN, sign_out_ends: 'session' };
    const { gateway } = await gatewayOf(realm, { config: { sign_in } });
    const browser = new Map<string, string>();
    const first = await signInWith(gateway, browser, 'wonderland');
    const other = await tokensOfOther(browser);
    expect((await signOut(gateway, first)).status).toBe(204);
    expectInvalidToken(await call(gateway, first.accessToken));
    const form = { grant_type: 'refresh_token', refresh_token: String(other['refresh_token']) };
    expect((await realm.post('/token', form, OTHER)).ok).toBe(false);
    await expect(signInWith(gateway, browser, 'wrong')).rejects.toThrow('got stuck');
  });

  test.each(['refresh_token', 'session'] as const)(
    'with the token of another session ends its own session here (%s)',
    async sign_out_ends => {
      const { gateway } = await gatewayOf(realm, { config: { sign_in: { ...SIGN_IN, sign_out_ends } } });
      const [mine, other] = [await signIn(gateway), await signIn(gateway)];
      const mixed = { ...mine, refreshToken: other.refreshToken };
      expect((await signOut(gateway, mixed)).status).toBe(204);
      expectInvalidToken(await call(gateway, mine.accessToken));
      expect((await call(gateway, other.accessToken)).status).toBe(200);
    },
  );

  test.each([
    ['refresh_token', 204],
    ['session', 400],
  ] as const)('with a guessed token ends its session here (%s)', async (sign_out_ends, status) => {
    const { gateway } = await gatewayOf(realm, { config: { sign_in: { ...SIGN_IN, sign_out_ends } } });
    const mine = await signIn(gateway);
    expect((await signOut(gateway, { ...mine, refreshToken: 'guessed' })).status).toBe(status);
    expectInvalidToken(await call(gateway, mine.accessToken));
    tokensIn(await refresh(gateway, mine.refreshToken));
  });
});

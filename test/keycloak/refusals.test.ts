import { decodeJwt } from 'jose';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Representation } from '../../src/cli/demo/keycloak-realm.ts';
import { expectError, expectInvalidToken } from '../support/error-object.ts';
import { accessLines } from '../support/identity-gateway.ts';
import { secret } from '../support/secrets.ts';
import { codeFor, redeem } from '../support/sign-in-client.ts';
import { sleep } from '../support/wait.ts';
import { gatewayOf } from './gateways.ts';
import { newRealm, REDIRECT_URI, type TestRealm } from './realm.ts';
import { call, signIn, tokensIn } from './users.ts';

let realm: TestRealm;
beforeAll(async () => {
  realm = await newRealm();
});

/** The refresh token that Keycloak gives for this one, past the gateway; null: it refuses. */
async function refreshed(refreshToken: string): Promise<string | null> {
  const response = await realm.post('/token', { grant_type: 'refresh_token', refresh_token: refreshToken });
  return response.ok ? secret(String(((await response.json()) as Representation)['refresh_token'])) : null;
}

describe('a code', () => {
  test('that is redeemed a second time is refused, and Keycloak ends the session of the first', async () => {
    const { gateway } = await gatewayOf(realm);
    const code = await codeFor(gateway, REDIRECT_URI);
    const { accessToken, refreshToken } = tokensIn(await redeem(gateway, code, REDIRECT_URI));
    const next = (await refreshed(refreshToken)) ?? expect.fail('it is refreshed');
    expectError(await redeem(gateway, code, REDIRECT_URI), 400, 3);
    expect(await refreshed(next)).toBeNull();
    // Keycloak tells no client that this session ended: docs/keycloak.md, "What to expect".
    expect((await call(gateway, accessToken)).status).toBe(200);
  });

  test.each([
    ['one character more', (uri: string) => `${uri}/`],
    ['one in the other case', (uri: string) => uri.replace(/k$/, 'K')],
  ])('with a redirect uri that has %s is refused, and burnt', async (_, change) => {
    const { gateway } = await gatewayOf(realm);
    const code = await codeFor(gateway, REDIRECT_URI);
    expectError(await redeem(gateway, code, change(REDIRECT_URI)), 400, 3);
    expectError(await redeem(gateway, code, REDIRECT_URI), 400, 3);
  });

  test.each(['guessed', 'a.b.c', ' ', 'ü'.repeat(1_000)])('like %j is refused', async code => {
    const { gateway } = await gatewayOf(realm);
    expectError(await redeem(gateway, code, REDIRECT_URI), 400, 3);
  });

  test('that has expired is refused', async () => {
    const { gateway } = await gatewayOf(realm);
    await realm.change({ accessCodeLifespan: 1 });
    const code = await codeFor(gateway, REDIRECT_URI);
    await sleep(2_100);
    await realm.change({ accessCodeLifespan: 60 });
    expectError(await redeem(gateway, code, REDIRECT_URI), 400, 3);
  });

  test('at a gateway with a wrong secret gets 500 without a word about it, and can still be redeemed', async () => {
    const { gateway } = await gatewayOf(realm);
    const wrong = await gatewayOf(realm, { secret: 'marker-wrong-secret' });
    const code = await codeFor(gateway, REDIRECT_URI);
    const refused = await redeem(wrong.gateway, code, REDIRECT_URI);
    expectError(refused, 500, 13);
    expect(refused.body.toString()).not.toMatch(/client|secret|unauthorized/i);
    expect(wrong.gateway.logLines.join('')).toContain('unauthorized_client');
    tokensIn(await redeem(gateway, code, REDIRECT_URI));
  });
});

describe('a disabled user', () => {
  test('cannot sign in, redeem a code or refresh, and a token issued before lasts until it expires', async () => {
    await realm.addUser('carol', 'looking-glass');
    const { gateway } = await gatewayOf(realm);
    const { accessToken, refreshToken } = await signIn(gateway, 'carol', 'looking-glass');
    const code = await codeFor(gateway, REDIRECT_URI, 'carol', 'looking-glass');
    await realm.changeUser('carol', { enabled: false });
    expectError(await redeem(gateway, code, REDIRECT_URI), 400, 3);
    await expect(codeFor(gateway, REDIRECT_URI, 'carol', 'looking-glass')).rejects.toThrow('stuck');
    expect(await refreshed(refreshToken)).toBeNull();
    expect((await call(gateway, accessToken)).status).toBe(200);
  });

  test('with a wrong password is told so by the form', async () => {
    const { gateway } = await gatewayOf(realm);
    await expect(codeFor(gateway, REDIRECT_URI, 'bob', 'wrong')).rejects.toThrow('stuck');
  });
});

describe('a lightweight token', () => {
  /** Signs in through a client of its own, whose tokens are lightweight and have these of the realm file's claims. */
  async function callWithLightweight(...mappers: readonly string[]) {
    const client = { id: `light-${mappers.length}`, secret: 'light-client-secret' };
    await realm.addClient({
      clientId: client.id,
      secret: client.secret,
      redirectUris: [REDIRECT_URI],
      attributes: { 'client.use.lightweight.access.token.enabled': 'true' },
      protocolMappers: realm.mappers.filter(({ name }) => mappers.includes(String(name))),
    });
    const { gateway } = await gatewayOf(realm, { secret: client.secret, provider: { client_id: client.id } });
    const { accessToken } = await signIn(gateway);
    expect(decodeJwt(accessToken)).not.toHaveProperty('preferred_username');
    return { response: await call(gateway, accessToken), line: accessLines(gateway).at(-1) };
  }

  test('opens the API with the mappers of the realm file', async () => {
    const { response } = await callWithLightweight('audience of the API', 'subject');
    expect(response.status).toBe(200);
  });

  test('without an audience is refused, and the log says so', async () => {
    const { response, line } = await callWithLightweight();
    expectInvalidToken(response);
    expect(line).toMatchObject({ tokenRefused: 'audience' });
  });

  test('without a subject is refused, and the log names the claim', async () => {
    const { response, line } = await callWithLightweight('audience of the API');
    expectInvalidToken(response);
    expect(line).toMatchObject({ tokenRefused: 'claim', claim: 'sub' });
  });
});

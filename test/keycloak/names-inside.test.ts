import { decodeJwt } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Keycloak, provideKeycloak, startKeycloak } from '../../src/cli/demo/keycloak.ts';
import { demoRealm, KeycloakAdmin } from '../../src/cli/demo/keycloak-realm.ts';
import { GATEWAY_CLIENT } from '../../src/cli/demo/provider/index.ts';
import { expectError, expectInvalidToken } from '../support/error-object.ts';
import { freePort } from '../support/free-port.ts';
import { startIdentityGateway } from '../support/identity-gateway.ts';
import { head, withBody } from '../support/requests.ts';
import { json, redeem } from '../support/sign-in-client.ts';
import type { TestGateway } from '../support/test-gateway.ts';
import { REDIRECT_URI } from './realm.ts';
import { call, tokensIn } from './users.ts';

// A Keycloak whose public name nobody reaches here, as docs/keycloak.md has it under "Other names inside the cluster".

const OUTSIDE = 'https://id.outside.invalid';
const SIGN_OUT = '/v1/users/sign-out';

let keycloak: Keycloak;
beforeAll(async () => {
  const home = await provideKeycloak(() => {});
  keycloak = await startKeycloak({ home, port: await freePort(), hostname: OUTSIDE });
  const realm = await demoRealm({ name: 'main', redirectUris: [REDIRECT_URI] });
  await new KeycloakAdmin(keycloak.origin).createRealm({ ...realm });
});
afterAll(() => keycloak.close());

const inside = (url: string) => url.replace(OUTSIDE, keycloak.origin);

async function gatewayWith(sign_out_ends: string, hasEndpoints: boolean): Promise<TestGateway> {
  const realm = `${keycloak.origin}/realms/main`;
  const endpoint = (name: string) => `${realm}/protocol/openid-connect/${name}`;
  const { gateway } = await startIdentityGateway({
    issuer: `${OUTSIDE}/realms/main`,
    redirectUri: REDIRECT_URI,
    provider: {
      discovery_url: `${realm}/.well-known/openid-configuration`,
      ...(hasEndpoints && { endpoints: { revocation: endpoint('revoke'), end_session: endpoint('logout') } }),
    },
    config: { sign_in: { sign_out: SIGN_OUT, sign_out_ends } },
  });
  await gateway.ready();
  return gateway;
}

/** Signs in as a browser outside would, to which the public name leads. */
async function signIn(gateway: TestGateway) {
  const { url } = json(await gateway.ask(head('GET /v1/anonymous/authorize-url')));
  expect(url).toMatch(`${OUTSIDE}/realms/main/protocol/openid-connect/auth?`);
  const page = await fetch(inside(String(url)), { redirect: 'manual' });
  const cookie = page.headers
    .getSetCookie()
    .map(line => line.split(';', 1)[0])
    .join('; ');
  const [, action = ''] = /action="([^"]+)"/.exec(await page.text()) ?? [];
  const response = await fetch(inside(action.replaceAll('&amp;', '&')), {
    ...{ method: 'POST', redirect: 'manual', headers: { cookie } },
    body: new URLSearchParams({ username: 'alice', password: 'wonderland' }),
  });
  const code = new URL(response.headers.get('location') ?? '').searchParams.get('code') ?? '';
  return tokensIn(await redeem(gateway, code, REDIRECT_URI));
}

function signOut(gateway: TestGateway, { accessToken, refreshToken }: Awaited<ReturnType<typeof signIn>>) {
  const body = JSON.stringify({ refreshToken });
  return gateway.ask(withBody(`POST ${SIGN_OUT}`, body, `Authorization: Bearer ${accessToken}`));
}

test.each(['refresh_token', 'session'])(
  'with the endpoints of sign-outs named inside, tokens of the public name pass, and a sign-out ends the %s',
  async ends => {
    const gateway = await gatewayWith(ends, true);
    const tokens = await signIn(gateway);
    expect(decodeJwt(tokens.accessToken).iss).toBe(`${OUTSIDE}/realms/main`);
    expect((await call(gateway, tokens.accessToken)).status).toBe(200);
    expect((await signOut(gateway, tokens)).status).toBe(204);
    expectInvalidToken(await call(gateway, tokens.accessToken));
    const refreshed = await fetch(`${keycloak.origin}/realms/main/protocol/openid-connect/token`, {
      method: 'POST',
      body: new URLSearchParams({
        ...{ grant_type: 'refresh_token', refresh_token: tokens.refreshToken, client_id: 'gateway' },
        client_secret: GATEWAY_CLIENT.secret,
      }),
    });
    expect(await refreshed.json()).toMatchObject({ error: 'invalid_grant' });
  },
);

test('without them the document leads outside, and a sign-out is 503', async () => {
  const gateway = await gatewayWith('refresh_token', false);
  expectError(await signOut(gateway, await signIn(gateway)), 503, 14);
});

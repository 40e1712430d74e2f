import { expect, test } from 'vitest';
import { expectInvalidToken } from '../support/error-object.ts';
import { sleep } from '../support/wait.ts';
import { gatewayOf } from './gateways.ts';
import { newRealm } from './realm.ts';
import { call, signIn } from './users.ts';

/** Since 26.6.2 Keycloak calls a token active only if `aud` names the client that asks. */
const AUDIENCE_OF_GATEWAY = {
  name: 'gateway may introspect',
  protocol: 'openid-connect',
  protocolMapper: 'oidc-audience-mapper',
  config: { 'included.client.audience': 'gateway', 'access.token.claim': 'true' },
};

test('a session that an administrator ends is over where a route asks, and goes on elsewhere', async () => {
  const realm = await newRealm();
  await realm.changeClient('gateway', { protocolMappers: [...realm.mappers, AUDIENCE_OF_GATEWAY] });
  const routes = [{ path: '/asked/**', introspection: { cache: '1s' } }];
  const { gateway } = await gatewayOf(realm, { routes });
  const { accessToken, sessionState } = await signIn(gateway);
  expect((await call(gateway, accessToken, '/asked/1')).status).toBe(200);
  await realm.ask('DELETE', `/sessions/${sessionState}`);
  // The answer of before holds for a second.
  await sleep(1_100);
  expectInvalidToken(await call(gateway, accessToken, '/asked/1'));
  expect((await call(gateway, accessToken)).status).toBe(200);
  expect((await gateway.metric('weir_introspections_total')).get('{outcome="inactive"}')).toBe(1);
});

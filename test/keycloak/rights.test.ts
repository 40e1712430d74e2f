import { createHash } from 'node:crypto';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { beforeAll, expect, test } from 'vitest';
import type { Representation } from '../../src/cli/demo/keycloak-realm.ts';
import { GATEWAY_CLIENT } from '../../src/cli/demo/provider/index.ts';
import { expectInvalidToken } from '../support/error-object.ts';
import { head } from '../support/requests.ts';
import { secret } from '../support/secrets.ts';
import { header } from '../support/wire/index.ts';
import { gatewayOf } from './gateways.ts';
import { newRealm, type TestRealm } from './realm.ts';
import { call, signIn } from './users.ts';

let realm: TestRealm;
beforeAll(async () => {
  realm = await newRealm();
});

const ROUTES = [
  { path: '/profile', require: { scopes: ['profile'] } },
  { path: '/orders', require: { scopes: ['orders.read'] } },
  { path: '/clerks', require: { roles: ['clerk'] } },
  { path: '/admins', require: { roles: ['orders-api:admin'] } },
  { path: '/other', require: { roles: ['other-api:admin'] } },
];

async function clientOf(clientId: string): Promise<Representation> {
  const [client] = (await realm.ask('GET', `/clients?clientId=${clientId}`)) as readonly Representation[];
  return client ?? expect.fail(`there is no client ${clientId}`);
}

/** Puts the roles of users into the tokens of the gateway's client, as the client scope `roles` does. */
async function writeRoles(): Promise<void> {
  const gateway = await clientOf(GATEWAY_CLIENT.id);
  await realm.ask('PUT', `/clients/${gateway['id']}`, { ...gateway, fullScopeAllowed: true });
  const mapper = (kind: 'realm' | 'client', claim: string) =>
    realm.ask('POST', `/clients/${gateway['id']}/protocol-mappers/models`, {
      name: `roles of the ${kind}`,
      protocol: 'openid-connect',
      protocolMapper: `oidc-usermodel-${kind}-role-mapper`,
      config: {
        'claim.name': claim,
        multivalued: 'true',
        'jsonType.label': 'String',
        'access.token.claim': 'true',
      },
    });
  await mapper('realm', 'realm_access.roles');
  // The dollar and the braces are Keycloak's.
  await mapper('client', ['resource_access.$', '{client_id}.roles'].join(''));
}

/** Gives alice a role of the realm, and the same role of one of two clients. */
async function grantRoles(): Promise<void> {
  const alice = await realm.user('alice');
  await realm.ask('POST', '/roles', { name: 'clerk' });
  const clerk = await realm.ask('GET', '/roles/clerk');
  await realm.ask('POST', `/users/${alice['id']}/role-mappings/realm`, [clerk]);
  for (const clientId of ['orders-api', 'other-api']) {
    await realm.addClient({ clientId, bearerOnly: true });
    await realm.ask('POST', `/clients/${(await clientOf(clientId))['id']}/roles`, { name: 'admin' });
  }
  const orders = await clientOf('orders-api');
  const admin = await realm.ask('GET', `/clients/${orders['id']}/roles/admin`);
  await realm.ask('POST', `/users/${alice['id']}/role-mappings/clients/${orders['id']}`, [admin]);
}

test('scopes, roles of the realm and roles of a client open the routes that require them', async () => {
  const { gateway } = await gatewayOf(realm, { routes: ROUTES });
  const before = await signIn(gateway);
  const statuses = async (token: string) =>
    Object.fromEntries(
      await Promise.all(ROUTES.map(async ({ path }) => [path, (await call(gateway, token, path)).status])),
    );
  const poor = { '/profile': 200, '/orders': 403, '/clerks': 403, '/admins': 403, '/other': 403 };
  expect(await statuses(before.accessToken)).toEqual(poor);
  await writeRoles();
  await grantRoles();
  const { accessToken } = await signIn(gateway);
  expect(await statuses(accessToken)).toEqual({ ...poor, '/clerks': 200, '/admins': 200 });
  const challenge = header(await call(gateway, accessToken, '/orders'), 'www-authenticate');
  expect(challenge).toBe('Bearer error="insufficient_scope", scope="orders.read"');
});

test('a token that Keycloak binds to a key of DPoP is no bearer token, and is valid with proofs of it', async () => {
  const bot = { id: 'bound', secret: secret('bound-secret') };
  await realm.addClient({
    clientId: bot.id,
    secret: bot.secret,
    serviceAccountsEnabled: true,
    standardFlowEnabled: false,
    attributes: { 'dpop.bound.access.tokens': 'true' },
    protocolMappers: realm.mappers,
  });
  const { gateway } = await gatewayOf(realm);
  const endpoint = `${realm.issuer}/protocol/openid-connect/token`;
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  const proof = await new SignJWT({ htm: 'POST', htu: endpoint, jti: crypto.randomUUID() })
    .setProtectedHeader({ alg: 'ES256', typ: 'dpop+jwt', jwk: await exportJWK(publicKey) })
    .setIssuedAt()
    .sign(privateKey);
  const response = await fetch(endpoint, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${bot.id}:${bot.secret}`)}`, DPoP: proof },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
  const { access_token, token_type } = (await response.json()) as Record<string, string>;
  expect(token_type).toBe('DPoP');
  expectInvalidToken(await call(gateway, secret(String(access_token))));

  const front = await gatewayOf(realm, { tokens: { dpop: 'accepted' } });
  const ath = createHash('sha256').update(String(access_token)).digest('base64url');
  const ofCall = await new SignJWT({ htm: 'GET', htu: 'http://gateway.test/', jti: crypto.randomUUID(), ath })
    .setProtectedHeader({ alg: 'ES256', typ: 'dpop+jwt', jwk: await exportJWK(publicKey) })
    .setIssuedAt()
    .sign(privateKey);
  const asked = head('GET /', `Authorization: DPoP ${access_token}`, `DPoP: ${secret(ofCall)}`);
  expect((await front.gateway.ask(asked)).status).toBe(200);
  expect((await front.gateway.ask(asked)).status).toBe(401);
});

import { decodeJwt } from 'jose';
import { beforeAll, expect, test } from 'vitest';
import { expectInvalidToken } from '../support/error-object.ts';
import { secret } from '../support/secrets.ts';
import type { TestGateway } from '../support/test-gateway.ts';
import { sleep, waitFor } from '../support/wait.ts';
import { gatewayOf, replicasOf } from './gateways.ts';
import { newRealm, REDIRECT_URI, type TestRealm } from './realm.ts';
import { call, signIn } from './users.ts';

const provider = { notices: { not_before_push: 'admin', back_channel_logout: 'admin' } };

let realm: TestRealm;
beforeAll(async () => {
  realm = await newRealm();
});

/** Two gateways on one Redis, of which the realm tells the first. */
async function toldGateways(): Promise<{ readonly told: TestGateway; readonly other: TestGateway }> {
  const [told, other] = (await replicasOf(realm, 2, { provider })).map(({ gateway }) => gateway);
  if (told === undefined || other === undefined) throw new Error('two gateways were started');
  await tell(told);
  return { told, other };
}

function tell({ adminPort }: TestGateway): Promise<void> {
  const url = `http://127.0.0.1:${adminPort}/notices`;
  return realm.changeClient('gateway', {
    adminUrl: url,
    attributes: {
      'backchannel.logout.url': `${url}/back_channel_logout`,
      'backchannel.logout.session.required': 'true',
    },
  });
}

const statusOf = async (gateway: TestGateway, token: string) => (await call(gateway, token)).status;
const becomes = (status: number, gateway: TestGateway, token: string) =>
  waitFor(`it is answered ${status}`, async () => (await statusOf(gateway, token)) === status, 3_000);
const received = async (gateway: TestGateway) =>
  Object.fromEntries(
    [...(await gateway.counted('weir_notices_total'))].map(([labels, count]) => [
      labels.replaceAll(/notice=|outcome=|[{}"]/g, ''),
      count,
    ]),
  );

async function push(notBefore: number): Promise<void> {
  await realm.change({ notBefore });
  expect(await realm.ask('POST', '/push-revocation')).toMatchObject({
    successRequests: [expect.any(String)],
  });
}

test('a not-before push refuses older tokens at both gateways, and a later one lowers the mark again', async () => {
  const { told, other } = await toldGateways();
  const { accessToken } = await signIn(told);
  for (const gateway of [told, other]) expect(await statusOf(gateway, accessToken)).toBe(200);
  const { iat = 0 } = decodeJwt(accessToken);
  await sleep(1_000);

  await push(iat + 1);
  for (const gateway of [told, other]) await becomes(401, gateway, accessToken);
  expect(await statusOf(other, (await signIn(told)).accessToken)).toBe(200);
  // Pushes of one second expire in one second.
  await push(0);
  for (const gateway of [told, other]) await becomes(200, gateway, accessToken);
  expect(await received(told)).toEqual({ 'not_before_push,accepted': 2 });
});

test('a logout by the admin console refuses that session at both gateways, and no other user’s', async () => {
  const { told, other } = await toldGateways();
  const alices = await signIn(told);
  const bobs = await signIn(told, 'bob', 'builder');
  for (const gateway of [told, other])
    for (const { accessToken } of [alices, bobs]) expect(await statusOf(gateway, accessToken)).toBe(200);
  await realm.ask('DELETE', `/sessions/${alices.sessionState}`);
  for (const gateway of [told, other]) await becomes(401, gateway, alices.accessToken);
  const { id } = await realm.user('bob');
  for (const gateway of [told, other]) expect(await statusOf(gateway, bobs.accessToken)).toBe(200);
  await realm.ask('POST', `/users/${id}/logout`);
  for (const gateway of [told, other]) await becomes(401, gateway, bobs.accessToken);
  expect(await received(told)).toEqual({ 'back_channel_logout,accepted': 2 });
  const status = JSON.parse((await other.admin('/status.json')).text);
  // Each ends a session, and the tokens of its subject that name none.
  expect(status.provider.revocations).toMatchObject({ sessions: 4, subjects: 0 });
});

test('a logout by the user refuses the session, and not without sid the tokens of a later sign-in', async () => {
  const { told, other } = await toldGateways();
  const { accessToken, idToken } = await signIn(told);
  const page = new URL(`${realm.issuer}/protocol/openid-connect/logout`);
  page.searchParams.set('id_token_hint', idToken);
  page.searchParams.set('post_logout_redirect_uri', REDIRECT_URI);
  await fetch(page, { redirect: 'manual' });
  for (const gateway of [told, other]) await becomes(401, gateway, accessToken);

  // Without sid it is the user who signs out.
  await realm.changeClient('gateway', { attributes: { 'backchannel.logout.session.required': 'false' } });
  const again = await signIn(told);
  expect(await statusOf(other, again.accessToken)).toBe(200);
  await realm.ask('DELETE', `/sessions/${again.sessionState}`);
  for (const gateway of [told, other]) await becomes(401, gateway, again.accessToken);
  await sleep(1_000);
  expect(await statusOf(other, (await signIn(told)).accessToken)).toBe(200);
});

test('tokens of Keycloak that are no notices change nothing, nor does a notice for another client', async () => {
  await realm.changeClient('gateway', { adminUrl: '' });
  const { gateway } = await gatewayOf(realm, { provider });
  const { accessToken, idToken, refreshToken } = await signIn(gateway);
  const url = `http://127.0.0.1:${gateway.adminPort}/notices`;
  for (const token of [accessToken, idToken, refreshToken]) {
    const body = new URLSearchParams({ logout_token: token });
    expect((await fetch(`${url}/back_channel_logout`, { method: 'POST', body })).status).toBe(400);
    expect((await fetch(`${url}/k_push_not_before`, { method: 'POST', body: token })).status).toBe(400);
  }
  await realm.addClient({ clientId: 'neighbour', secret: secret('marker-neighbour'), adminUrl: url });
  await realm.change({ notBefore: Math.floor(Date.now() / 1_000) });
  expect(await realm.ask('POST', '/push-revocation')).toMatchObject({ failedRequests: [expect.any(String)] });
  expect(await statusOf(gateway, accessToken)).toBe(200);
  expectInvalidToken(await call(gateway, idToken));
});

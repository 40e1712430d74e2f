import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { walkLogin } from '../../src/cli/demo/login.ts';
import { expectInvalidToken, expectUnauthenticated } from '../support/error-object.ts';
import { head, withBody } from '../support/requests.ts';
import { secret } from '../support/secrets.ts';
import { json, redeem } from '../support/sign-in-client.ts';
import type { TestGateway } from '../support/test-gateway.ts';
import { sleep, waitFor } from '../support/wait.ts';
import { gatewayOf, replicasOf } from './gateways.ts';
import { newRealm, REDIRECT_URI, type TestRealm } from './realm.ts';
import { call, signIn, type Tokens, tokensIn } from './users.ts';

const sign_in = { refresh: '/v1/users/refresh', sign_out: '/v1/users/sign-out' };
const provider = { notices: { not_before_push: 'admin', back_channel_logout: 'admin' } };

let realm: TestRealm;
beforeAll(async () => {
  realm = await newRealm();
});

const refresh = (gateway: TestGateway, refreshToken: string) =>
  gateway.ask(withBody(`POST ${sign_in.refresh}`, JSON.stringify({ refreshToken })));

const signOut = (gateway: TestGateway, accessToken: string, refreshToken: string) =>
  gateway.ask(
    withBody(
      `POST ${sign_in.sign_out}`,
      JSON.stringify({ refreshToken }),
      `Authorization: Bearer ${accessToken}`,
    ),
  );

const kidOf = ({ accessToken }: Tokens) => decodeProtectedHeader(accessToken).kid;
const statusOf = async (gateway: TestGateway, token: string) => (await call(gateway, token)).status;
const becomes = (status: number, gateway: TestGateway, token: string) =>
  waitFor(`it is answered ${status}`, async () => (await statusOf(gateway, token)) === status, 5_000);

/** A code for the browser that keeps these cookies. */
async function codeIn(gateway: TestGateway, browser: Map<string, string>, password: string): Promise<string> {
  const url = String(json(await gateway.ask(head('GET /v1/anonymous/authorize-url')))['url']);
  return (await walkLogin(url, REDIRECT_URI, 'alice', password, browser)).code;
}

describe('two tabs of one browser', () => {
  test('share a session: both have tokens, and when one signs out the other is refused as well', async () => {
    const { gateway } = await gatewayOf(realm, { config: { sign_in } });
    const browser = new Map<string, string>();
    const first = await codeIn(gateway, browser, 'wonderland');
    const second = await codeIn(gateway, browser, 'not asked');
    const [one, two] = (
      await Promise.all([first, second].map(code => redeem(gateway, code, REDIRECT_URI)))
    ).map(tokensIn) as [Tokens, Tokens];
    expect(one.sessionState).toBe(two.sessionState);
    for (const { accessToken } of [one, two]) expect(await statusOf(gateway, accessToken)).toBe(200);
    expect((await signOut(gateway, one.accessToken, one.refreshToken)).status).toBe(204);
    for (const { accessToken } of [one, two]) expectInvalidToken(await call(gateway, accessToken));
  });

  test('that refresh with one token at the same time end their session: one of them gets tokens, for the last time', async () => {
    const { gateway } = await gatewayOf(realm, { config: { sign_in } });
    const { refreshToken } = await signIn(gateway);
    const responses = await Promise.all([1, 2, 3].map(() => refresh(gateway, refreshToken)));
    const good = responses.filter(({ status }) => status === 200);
    expect(good).toHaveLength(1);
    for (const response of responses) if (response.status !== 200) expectUnauthenticated(response);
    for (const response of good) {
      const last = tokensIn(response);
      expectUnauthenticated(await refresh(gateway, last.refreshToken));
      // Keycloak says nothing of it: the access token lasts until it expires.
      expect(await statusOf(gateway, last.accessToken)).toBe(200);
    }
  });
});

test('a sign-out with the refresh token of another user ends the own session, and not the other’s access tokens', async () => {
  const { gateway } = await gatewayOf(realm, { config: { sign_in } });
  const [alices, bobs] = [await signIn(gateway), await signIn(gateway, 'bob', 'builder')];
  expect((await signOut(gateway, alices.accessToken, bobs.refreshToken)).status).toBe(204);
  expectInvalidToken(await call(gateway, alices.accessToken));
  expect(await statusOf(gateway, bobs.accessToken)).toBe(200);
  // The holder of a refresh token can end it. Alice's own was not named.
  expectUnauthenticated(await refresh(gateway, bobs.refreshToken));
  tokensIn(await refresh(gateway, alices.refreshToken));
});

test('a key that is rotated while tokens are refreshed costs nobody a token or a call', async () => {
  const { gateway } = await gatewayOf(realm, {
    config: { sign_in },
    tokens: { key_set: { refresh: '10m', cooldown: '1s' } },
  });
  const before = await signIn(gateway);
  await sleep(1_100);
  const [, response] = await Promise.all([realm.addKey(300), refresh(gateway, before.refreshToken)]);
  const after = tokensIn(response);
  const last = tokensIn(await refresh(gateway, after.refreshToken));
  expect(kidOf(last)).not.toBe(kidOf(before));
  for (const { accessToken } of [before, after, last]) expect(await statusOf(gateway, accessToken)).toBe(200);
});

test('a logout and pushes that Keycloak has sent work once, at all gateways together, also after the mark was lowered', async () => {
  const replicas = await replicasOf(realm, 2, { provider, config: { sign_in } });
  const [told, other] = replicas.map(({ gateway }) => gateway);
  if (told === undefined || other === undefined) throw new Error('two gateways were started');
  const sent = await recordNoticesTo(told);
  const tokens = await signIn(told);
  await realm.ask('DELETE', `/sessions/${tokens.sessionState}`);
  for (const gateway of [told, other]) await becomes(401, gateway, tokens.accessToken);
  expectUnauthenticated(await refresh(told, tokens.refreshToken));

  // Without a session id, a logout ends every token of the user that was issued by the end of its second.
  await sleep(1_000);
  const later = await signIn(told);
  expect(await statusOf(told, later.accessToken)).toBe(200);
  const { iat = 0 } = decodeJwt(later.accessToken);
  await push(iat + 1);
  for (const gateway of [told, other]) await becomes(401, gateway, later.accessToken);
  await sleep(1_000);
  await push(0);
  for (const gateway of [told, other]) await becomes(200, gateway, later.accessToken);

  expect(sent.map(({ path }) => path)).toEqual([
    '/back_channel_logout',
    '/k_push_not_before',
    '/k_push_not_before',
  ]);
  for (const gateway of [told, other])
    for (const notice of sent) {
      const response = await passOn(notice, gateway);
      expect([response.status, await response.text()]).toEqual([400, expect.stringContaining('sent before')]);
    }
  for (const gateway of [told, other]) expect(await statusOf(gateway, later.accessToken)).toBe(200);
});

async function push(notBefore: number): Promise<void> {
  await realm.change({ notBefore });
  await realm.ask('POST', '/push-revocation');
}

interface Sent {
  readonly path: string;
  readonly type: string;
  readonly body: string;
}

/** Stands between Keycloak and a gateway from now on, and keeps what is sent. */
async function recordNoticesTo(gateway: TestGateway): Promise<readonly Sent[]> {
  const sent: Sent[] = [];
  const server = createServer(async (request, response) => {
    const body = secret(await text(request));
    const notice = { path: request.url ?? '', type: request.headers['content-type'] ?? '', body };
    sent.push(notice);
    response.writeHead((await passOn(notice, gateway)).status).end();
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const attributes = { 'backchannel.logout.url': `${url}/back_channel_logout` };
  await realm.changeClient('gateway', { adminUrl: url, attributes });
  return sent;
}

function passOn({ path, type, body }: Sent, { adminPort }: TestGateway): Promise<Response> {
  const url = `http://127.0.0.1:${adminPort}/notices${path}`;
  return fetch(url, { method: 'POST', headers: { 'content-type': type }, body });
}

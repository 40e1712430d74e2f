import { decodeJwt } from 'jose';
import { beforeAll, expect, test } from 'vitest';
import { BOT_CLIENT, GATEWAY_CLIENT } from '../../src/cli/demo/provider/index.ts';
import { expectInvalidToken } from '../support/error-object.ts';
import { secret } from '../support/secrets.ts';
import { codeFor, json, redeem } from '../support/sign-in-client.ts';
import { values } from '../support/wire/index.ts';
import { gatewayOf, replicasOf } from './gateways.ts';
import { newRealm, REDIRECT_URI, type TestRealm } from './realm.ts';
import { call, signIn, tokensIn } from './users.ts';

let realm: TestRealm;
beforeAll(async () => {
  realm = await newRealm();
});

test('a user signs in by the form, and the access token opens the API on every replica', async () => {
  const replicas = await replicasOf(realm, 2);
  const [{ gateway } = expect.fail()] = replicas;
  const response = await redeem(gateway, await codeFor(gateway, REDIRECT_URI), REDIRECT_URI);
  const { accessToken } = tokensIn(response);
  const { sub, aud, sid } = decodeJwt(accessToken);
  expect(aud).toBe('api');
  expect(json(response)).toEqual({
    accessToken,
    tokenType: 'Bearer',
    // Whole seconds, counted by Keycloak at two moments.
    expiresIn: expect.closeTo(300, -1),
    refreshToken: expect.any(String),
    refreshExpiresIn: expect.closeTo(1_800, -1),
    idToken: expect.any(String),
    notBeforePolicy: 0,
    sessionState: sid,
    scope: expect.stringMatching(/\bopenid\b/),
  });
  for (const replica of replicas) {
    expect((await call(replica.gateway, accessToken)).status).toBe(200);
    const { fields } = replica.upstream.onlyRequest;
    expect(values(fields, 'x-auth-subject')).toEqual([sub]);
    expect(values(fields, 'x-auth-client')).toEqual([GATEWAY_CLIENT.id]);
  }
});

test('only the access token of the three opens the API', async () => {
  const { gateway, upstream } = await gatewayOf(realm);
  const { idToken, refreshToken } = await signIn(gateway);
  for (const token of [idToken, refreshToken]) expectInvalidToken(await call(gateway, token));
  expect(upstream.requests).toEqual([]);
});

test('two users draw on limits of their own, and a refreshed token draws on those of its user', async () => {
  const limits = { buckets: { all: { user: '2/1h' } }, routes: { '/things': 'all' } };
  const { gateway } = await gatewayOf(realm, { limits });
  const alice = await signIn(gateway);
  const bob = await signIn(gateway, 'bob', 'builder');
  expect((await call(gateway, alice.accessToken)).status).toBe(200);
  const refreshed = await realm.tokens({ grant_type: 'refresh_token', refresh_token: alice.refreshToken });
  const newer = secret(String(refreshed['access_token']));
  expect(newer).not.toBe(alice.accessToken);
  const statuses: number[] = [];
  for (const token of [newer, newer, alice.accessToken, bob.accessToken])
    statuses.push((await call(gateway, token)).status);
  expect(statuses).toEqual([200, 429, 429, 200]);
});

test('a bot that has its token from Keycloak is known as a bot', async () => {
  const limits = { buckets: { all: { user: '1/1h', bot: '7/1h' } }, routes: { '/things': 'all' } };
  const { gateway, upstream } = await gatewayOf(realm, { limits });
  const tokens = await realm.clientCredentials(BOT_CLIENT.id, BOT_CLIENT.secret);
  const token = secret(String(tokens['access_token']));
  const response = await call(gateway, token);
  expect(response.status).toBe(200);
  expect(values(response.fields, 'x-ratelimit-limit')).toEqual(['7']);
  expect(values(upstream.onlyRequest.fields, 'x-auth-client')).toEqual([BOT_CLIENT.id]);
});

test('after a sign-out at Keycloak the session cannot be refreshed, and its access token lasts until it expires', async () => {
  const { gateway } = await gatewayOf(realm);
  const { accessToken, refreshToken } = await signIn(gateway);
  expect((await realm.post('/logout', { refresh_token: refreshToken })).status).toBe(204);
  const form = { grant_type: 'refresh_token', refresh_token: refreshToken };
  expect((await realm.post('/token', form)).status).toBe(400);
  expect((await call(gateway, accessToken)).status).toBe(200);
});

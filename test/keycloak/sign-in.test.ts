import { decodeJwt } from 'jose';
import { beforeAll, expect, test } from 'vitest';
import { BOT_CLIENT } from '../../src/demo/provider/demo-provider.ts';
import { head } from '../support/requests.ts';
import { secret } from '../support/secrets.ts';
import { codeFor, json, redeem } from '../support/sign-in-client.ts';
import { values } from '../support/wire/index.ts';
import { gatewayOf, replicasOf } from './gateways.ts';
import { newRealm, REDIRECT_URI, type TestRealm } from './realm.ts';

let realm: TestRealm;
beforeAll(async () => {
  realm = await newRealm();
});

test('a user signs in by the form, and the access token opens the API on every replica', async () => {
  const replicas = await replicasOf(realm, 2);
  const [{ gateway } = expect.fail()] = replicas;
  const response = await redeem(gateway, await codeFor(gateway, REDIRECT_URI), REDIRECT_URI);
  expect(response.status, response.body.toString()).toBe(200);
  const tokens = json(response);
  expect(tokens).toEqual({
    accessToken: expect.any(String),
    tokenType: 'Bearer',
    expiresIn: 300,
    refreshToken: expect.any(String),
    refreshExpiresIn: 1_800,
    idToken: expect.any(String),
    notBeforePolicy: 0,
    sessionState: decodeJwt(String(tokens['accessToken']))['sid'],
    scope: expect.stringMatching(/openid/),
  });
  const { sub, aud } = decodeJwt(secret(String(tokens['accessToken'])));
  expect(aud).toBe('api');
  for (const replica of replicas) {
    const called = await replica.gateway.ask(
      head('GET /things', `Authorization: Bearer ${tokens['accessToken']}`),
    );
    expect(called.status).toBe(200);
    expect(values(replica.upstream.onlyRequest.fields, 'x-auth-subject')).toEqual([sub]);
  }
});

test('a bot that has its token from Keycloak is known as a bot', async () => {
  const { gateway, upstream } = await gatewayOf(realm);
  const tokens = await realm.clientCredentials(BOT_CLIENT.id, BOT_CLIENT.secret);
  const token = secret(String(tokens['access_token']));
  expect((await gateway.ask(head('GET /things', `Authorization: Bearer ${token}`))).status).toBe(200);
  expect(values(upstream.onlyRequest.fields, 'x-auth-client')).toEqual([BOT_CLIENT.id]);
});

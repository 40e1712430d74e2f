import { decodeProtectedHeader } from 'jose';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { secret } from '../support/secrets.ts';
import { sleep } from '../support/wait.ts';
import { gatewayOf } from './gateways.ts';
import { newRealm, type TestRealm } from './realm.ts';
import { call, signIn } from './users.ts';

let realm: TestRealm;
beforeAll(async () => {
  realm = await newRealm();
});

const botToken = async () => {
  const tokens = await realm.clientCredentials('demo-bot', 'demo-bot-secret');
  return secret(String(tokens['access_token']));
};
const kidOf = (token: string) => decodeProtectedHeader(token).kid;

test('a token of a new key is accepted at once, those of the old one as well, and no valid token is refused meanwhile', async () => {
  // The regular fetch of the keys is ten minutes away: the token itself makes the gateway ask.
  const { gateway } = await gatewayOf(realm, { tokens: { key_set: { refresh: '10m', cooldown: '1s' } } });
  const { accessToken: old } = await signIn(gateway);
  const refused: number[] = [];
  let stopped = false;
  const watch = (async () => {
    for (let fresh = old; !stopped; fresh = await botToken()) {
      await sleep(50);
      for (const token of [old, fresh]) {
        const { status } = await call(gateway, token);
        if (status !== 200) refused.push(status);
      }
    }
  })();
  onTestFinished(() => {
    stopped = true;
  });
  for (let rotation = 1; rotation <= 2; rotation++) {
    // Within the cooldown of a fetch, tokens of a key that is newer than it get 503.
    await sleep(1_200);
    await realm.addKey(100 + rotation);
    const { accessToken } = await signIn(gateway);
    expect(kidOf(accessToken)).not.toBe(kidOf(old));
    expect((await call(gateway, accessToken)).status).toBe(200);
  }
  stopped = true;
  await watch;
  expect(refused).toEqual([]);
  expect((await call(gateway, old)).status).toBe(200);
});

test('a key that is disabled is refused once the keys are fetched again, and the tokens of the others are not', async () => {
  const { gateway } = await gatewayOf(realm, { tokens: { key_set: { refresh: '2s', cooldown: '1s' } } });
  const { accessToken: old } = await signIn(gateway);
  await realm.addKey(200);
  const fresh = await botToken();
  expect(kidOf(fresh)).not.toBe(kidOf(old));
  await expect.poll(async () => (await call(gateway, fresh)).status).toBe(200);
  expect((await call(gateway, old)).status).toBe(200);
  await realm.disableKey(String(kidOf(old)));
  await expect.poll(async () => (await call(gateway, old)).status, { timeout: 10_000 }).toBe(401);
  expect((await call(gateway, old)).status).not.toBe(200);
  for (const token of [fresh, await botToken()]) expect((await call(gateway, token)).status).toBe(200);
});

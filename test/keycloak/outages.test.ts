import { expect, test } from 'vitest';
import { expectError } from '../support/error-object.ts';
import { head, withBody } from '../support/requests.ts';
import { secret } from '../support/secrets.ts';
import { codeFor, json, redeem } from '../support/sign-in-client.ts';
import { header } from '../support/wire/index.ts';
import { gatewayOf } from './gateways.ts';
import { controlKeycloak, newRealm, REDIRECT_URI } from './realm.ts';

test('while Keycloak is stopped known tokens and new ones of known keys pass, sign-ins get 503, and all is well after', async () => {
  const realm = await newRealm();
  // The keys are fetched in vain several times meanwhile.
  const tokens = { key_set: { refresh: '1s', cooldown: '1s' } };
  const config = { sign_in: { refresh: '/v1/users/refresh' } };
  const { gateway } = await gatewayOf(realm, { tokens, config });
  const call = (token: unknown) =>
    gateway.ask(head('GET /things', `Authorization: Bearer ${secret(String(token))}`));
  const known = json(await redeem(gateway, await codeFor(gateway, REDIRECT_URI), REDIRECT_URI));
  expect((await call(known['accessToken'])).status).toBe(200);
  const fresh = await realm.clientCredentials('demo-bot', 'demo-bot-secret');
  const code = await codeFor(gateway, REDIRECT_URI);

  await controlKeycloak('stop');
  try {
    const failed = async () =>
      (await gateway.counted('weir_key_set_fetches_total')).get('{outcome="failed"}') ?? 0;
    await expect.poll(failed, { timeout: 30_000 }).toBeGreaterThanOrEqual(3);
    expect((await call(known['accessToken'])).status).toBe(200);
    expect((await call(fresh['access_token'])).status).toBe(200);
    const refused = await redeem(gateway, code, REDIRECT_URI);
    expectError(refused, 503, 14);
    expect(header(refused, 'retry-after')).toMatch(/^\d+$/);
    expect(await gateway.admin('/readyz')).toMatchObject({ status: 200 });
  } finally {
    await controlKeycloak('start');
  }
  const refreshed = json(
    await gateway.ask(
      withBody('POST /v1/users/refresh', JSON.stringify({ refreshToken: known['refreshToken'] })),
    ),
  );
  const again = json(await redeem(gateway, await codeFor(gateway, REDIRECT_URI), REDIRECT_URI));
  for (const token of [known['accessToken'], refreshed['accessToken'], again['accessToken']])
    expect((await call(token)).status).toBe(200);
});

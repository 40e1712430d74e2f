import { beforeAll, describe, expect, test } from 'vitest';
import { walkLogin } from '../../src/cli/demo/login.ts';
import { EXAMPLE_CLIENTS } from '../support/example-clients.ts';
import { sleep } from '../support/wait.ts';
import { gatewayOf } from './gateways.ts';
import { startKotlin } from './kotlin/start-kotlin.ts';
import { newRealm, REDIRECT_URI, type TestRealm } from './realm.ts';

const TOKEN_SECONDS = 2;

let realm: TestRealm;
beforeAll(async () => {
  // A refresh token works once, by the realm file: a second use of one would end the session.
  realm = await newRealm({ accessTokenLifespan: TOKEN_SECONDS });
});

describe.each([...EXAMPLE_CLIENTS, ['Kotlin', startKotlin] as const])('the client in %s', (_, start) => {
  test('signs in with state, nonce and PKCE, and refreshes its tokens again and again', async () => {
    const { gateway } = await gatewayOf(realm, { config: { sign_in: { refresh: '/v1/users/refresh' } } });
    const client = await start(`http://127.0.0.1:${gateway.port}`);
    const { url, pending } = await client.begin();
    const { location } = await walkLogin(url, REDIRECT_URI, 'alice', 'wonderland');
    const other = { ...pending, codeVerifier: 'x'.repeat(43) };
    await client.finish(location, pending);
    const seen = new Set<string>();
    for (let round = 0; round < 3; round++) {
      if (round > 0) await sleep(TOKEN_SECONDS * 800 + 50);
      expect(await client.call('/things', 3)).toEqual([200, 200, 200]);
      seen.add(await client.accessToken());
    }
    expect(seen.size).toBe(3);

    const again = await walkLogin(url, REDIRECT_URI, 'alice', 'wonderland');
    await expect(client.finish(again.location, other)).rejects.toThrow();
  });
});

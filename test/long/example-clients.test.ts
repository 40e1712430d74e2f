import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { walkLogin } from '../../src/cli/demo/login.ts';
import { type DemoProvider, startProvider } from '../../src/cli/demo/provider/demo-provider.ts';
import { EXAMPLE_CLIENTS, type ExampleClient } from '../support/example-clients.ts';
import { startIdentityGateway } from '../support/identity-gateway.ts';

const REDIRECT_URI = 'https://app.example/callback';

const TOKEN_SECONDS = 300;

let provider: DemoProvider;
beforeAll(async () => {
  provider = await startProvider({ redirectUris: [REDIRECT_URI], accessTokenSeconds: TOKEN_SECONDS });
});
afterAll(() => provider.close());

async function front() {
  const { gateway } = await startIdentityGateway({
    issuer: provider.issuer,
    config: { sign_in: { refresh: '/v1/users/refresh' } },
    limits: { buckets: { one: { user: '1/1s' } }, routes: { '/limited': 'one' } },
  });
  await gateway.ready();
  return { gateway, url: `http://127.0.0.1:${gateway.port}` };
}

const login = async (url: string) => (await walkLogin(url, REDIRECT_URI, 'alice', 'wonderland')).location;

async function signedIn(client: ExampleClient): Promise<void> {
  const { url, pending } = await client.begin();
  await client.finish(await login(url), pending);
}

describe.each(EXAMPLE_CLIENTS)('the client in %s', (_, start) => {
  test('signs in with state, nonce and PKCE, and refuses answers to other sign-ins', async () => {
    const client = await start((await front()).url);
    const { url, pending } = await client.begin();
    const names = ['state', 'nonce', 'code_challenge', 'code_challenge_method'];
    const sent = new URL(url).searchParams;
    expect(names.filter(name => (sent.get(name) ?? '') === '')).toEqual([]);
    const address = await login(url);
    await expect(client.finish(address, { ...pending, state: 'another' })).rejects.toThrow('another sign-in');
    await expect(client.finish(address, { ...pending, codeVerifier: 'x'.repeat(43) })).rejects.toThrow();
    await expect(client.finish(await login(url), { ...pending, nonce: 'another' })).rejects.toThrow(
      'ID token',
    );
    const denied = `${REDIRECT_URI}?error=access_denied&state=${pending.state}`;
    await expect(client.finish(denied, pending)).rejects.toThrow('access_denied');
    await signedIn(client);
    expect(await client.call('/things', 1)).toEqual([200]);
  });

  test('waits on a 429 for as long as it is told, and asks once more', async () => {
    const { gateway, url } = await front();
    const client = await start(url);
    await signedIn(client);
    expect(await client.call('/limited', 1)).toEqual([200]);
    expect(await client.call('/limited', 1)).toEqual([200]);
    const refused = (await gateway.metric('weir_limit_decisions_total')).get(
      '{bucket="one",class="user",outcome="caller"}',
    );
    expect(refused).toBe(1);
  });

  test('refreshes its token before it expires, once for calls at the same time', async () => {
    const { gateway, url } = await front();
    const client = await start(url);
    await signedIn(client);
    const first = await client.accessToken();
    await client.pass(TOKEN_SECONDS * 0.8 + 1);
    expect(await client.call('/things', 3)).toEqual([200, 200, 200]);
    expect(await client.accessToken()).not.toBe(first);
    expect(await gateway.counted('weir_refreshes_total')).toEqual(new Map([['{outcome="success"}', 1]]));
  });
});

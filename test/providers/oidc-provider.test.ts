import { expect, test } from 'vitest';
import { atEnd } from '../support/lifetime.ts';
import { startPlainProvider } from '../support/plain-provider.ts';
import { expectSecretsKept } from '../support/secrets.ts';
import { values } from '../support/wire/index.ts';
import { OIDC_PROVIDER } from './imitations/index.ts';
import { REDIRECT, startBefore } from './real-provider.ts';

const RESOURCE = 'https://api.example.com';

/** The package as the table says that it must be told. */
async function startProvider(accessTokenFormat: string) {
  const provider = await startPlainProvider({
    client: {
      grant_types: ['authorization_code', 'refresh_token'],
      redirect_uris: [REDIRECT],
      token_endpoint_auth_method: 'client_secret_basic',
    },
    resource: RESOURCE,
    features: {
      introspection: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: () => ({
          ...{ scope: 'orders', audience: RESOURCE, accessTokenFormat },
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
    },
  });
  atEnd(() => provider.close());
  return provider;
}

test.each(['jwt', 'opaque'])(
  'oidc-provider itself signs users in with tokens that pass: %s',
  async format => {
    const provider = await startProvider(format);
    const config = OIDC_PROVIDER.config.replaceAll('https://id.example.com', provider.issuer);
    const { gateway, upstream, signIn, refresh, ask, handedOut } = await startBefore(config, 'plain-secret', {
      accessTokens: format === 'opaque' ? { opaque_tokens: { cache: '30s' } } : {},
      route: { require: { scopes: ['orders'] } },
    });
    const signedIn = await signIn();
    const refreshed = await refresh(signedIn.refreshToken);
    for (const { accessToken } of [signedIn, refreshed]) {
      expect(accessToken.split('.').length).toBe(format === 'jwt' ? 3 : 1);
      expect(await ask(accessToken)).toBe('200');
    }
    expect(values(upstream.requests[0]?.fields ?? [], 'x-user')).toEqual(['ada']);
    for (const other of [signedIn.idToken, refreshed.refreshToken]) expect(await ask(other)).toMatch(/^401/);
    expect(handedOut()).toEqual([]);
    await expectSecretsKept(gateway);
  },
);

import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { walkLogin } from '../../src/cli/demo/login.ts';
import { startGateway } from '../support/gateway.ts';
import { atEnd } from '../support/lifetime.ts';
import { startPlainProvider } from '../support/plain-provider.ts';
import { head, withBody } from '../support/requests.ts';
import { expectSecretsKept, secret } from '../support/secrets.ts';
import { authorizeUrl, json } from '../support/sign-in-client.ts';
import { tempText } from '../support/temp.ts';
import { startUpstream, values } from '../support/wire/index.ts';
import { OIDC_PROVIDER } from './imitations/index.ts';

const REFRESH = '/v1/users/refresh';
const RESOURCE = 'https://api.example.com';
const REDIRECT = 'https://app.example.com/callback';

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
    const written = parse(OIDC_PROVIDER.config.replaceAll('https://id.example.com', provider.issuer));
    const upstream = await startUpstream();
    const gateway = await startGateway({
      upstreamPort: upstream.port,
      config: {
        identity_provider: {
          ...written.identity_provider,
          client_secret_file: await tempText('client-secret', secret('plain-secret')),
        },
        access_tokens: {
          ...written.access_tokens,
          ...(format === 'opaque' && { opaque_tokens: { cache: '30s' } }),
          identity_headers: { 'X-User': 'sub' },
        },
        sign_in: { refresh: REFRESH },
        routes: [{ path: '/**', upstream: 'api', require: { scopes: ['orders'] } }],
        log: { level: 'trace', access: true },
      },
    });
    await gateway.ready();
    const { code } = await walkLogin(await authorizeUrl(gateway), REDIRECT, 'ada', 'any');
    const tokensIn = async (line: string, body: object) => {
      const answer = await gateway.ask(withBody(`POST ${line}`, JSON.stringify(body)));
      expect(answer.status).toBe(200);
      const { accessToken, refreshToken, idToken } = json(answer) as Record<string, string>;
      for (const token of [accessToken, refreshToken, idToken]) secret(token ?? '');
      return { accessToken, refreshToken, idToken };
    };
    const signedIn = await tokensIn('/v1/anonymous/auth', { code: secret(code), redirectUri: REDIRECT });
    const refreshed = await tokensIn(REFRESH, { refreshToken: signedIn.refreshToken });
    const ask = async (token: string | undefined) =>
      (await gateway.ask(head('GET /orders', `Authorization: Bearer ${token}`))).status;
    for (const { accessToken } of [signedIn, refreshed]) {
      expect(accessToken?.split('.').length).toBe(format === 'jwt' ? 3 : 1);
      expect(await ask(accessToken)).toBe(200);
    }
    expect(values(upstream.requests[0]?.fields ?? [], 'x-user')).toEqual(['ada']);
    for (const other of [signedIn.idToken, refreshed.refreshToken]) expect(await ask(other)).toBe(401);
    expect(gateway.logLines.filter(line => line.includes('handed out'))).toEqual([]);
    await expectSecretsKept(gateway);
  },
);

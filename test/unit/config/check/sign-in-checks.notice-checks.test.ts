import { describe, expect, it } from 'vitest';
import { diagnosticsIn } from '../../../support/config-text.ts';

interface Written {
  readonly issuer?: string;
  readonly listen?: string;
  readonly signIn?: string;
  /** Paths of routes besides the one for all. */
  readonly paths?: readonly string[];
}

/** The diagnostics of these `notices`, written in line 4, with routes from line 9 on. */
function diagnosticsOf(
  notices: string,
  {
    issuer = 'http://127.0.0.1:8080',
    listen = '{}',
    signIn = '{ refresh: /refresh }',
    paths = [],
  }: Written = {},
): Promise<string[]> {
  const routes = ['/**', ...paths].map(path => `  - { path: ${path}, upstream: api }\n`).join('');
  return diagnosticsIn(`listen: ${listen}
identity_provider:
  { issuer: "${issuer}", client_id: g, client_authentication: none, redirect_uri: "https://a/",
    notices: ${notices} }
access_tokens: { audience: api }
upstreams: { api: { url: "http://api:3000" } }
sign_in: ${signIn}
routes:
${routes}`);
}

const BOTH = '{ not_before_push: admin, back_channel_logout: admin }';
const PATHS = '{ not_before_push: /idp/k_push_not_before, back_channel_logout: /idp/logout }';

describe('a place of a notice', () => {
  it('is the admin listener, or a path that no route has', async () => {
    expect(await diagnosticsOf(BOTH)).toEqual([]);
    expect(await diagnosticsOf(PATHS, { paths: ['/idp/**'] })).toEqual([]);
    expect(await diagnosticsOf('{}')).toEqual([]);
  });

  it.each(['public', '{}', '7'])('is not %s', async place => {
    expect(await diagnosticsOf(`{ back_channel_logout: ${place} }`)).toEqual([
      expect.stringMatching(
        /^4:37: identity_provider\.notices\.back_channel_logout: expected admin, or a path of your choice on the public listeners that begins with "\/"/,
      ),
    ]);
  });

  it('is one path', async () => {
    const [first = ''] = await diagnosticsOf('{ back_channel_logout: "/idp/{x}" }');
    expect(first).toContain('4:37: identity_provider.notices.back_channel_logout: ');
  });

  it('may not be that of a route, a sign-in endpoint or the other notice', async () => {
    expect(await diagnosticsOf(PATHS, { paths: ['/IDP/Logout/'] })).toEqual([
      '10:13: routes[1].path: the gateway serves this path itself, for notices of the provider: remove the route',
    ]);
    const taken = '4:37: identity_provider.notices.back_channel_logout: this path is that of';
    for (const path of ['/refresh/', '/v1/anonymous/auth'])
      expect(await diagnosticsOf(`{ back_channel_logout: ${path} }`)).toEqual([
        `${taken} a sign-in endpoint: choose another`,
      ]);
    const twice = '{ not_before_push: /k_push_not_before, back_channel_logout: /k_push_not_before }';
    expect(await diagnosticsOf(twice)).toEqual([
      '4:74: identity_provider.notices.back_channel_logout: this path is that of "not_before_push": choose another',
    ]);
  });

  it('that Keycloak cannot call is reported', async () => {
    expect(await diagnosticsOf('{ not_before_push: /idp/push }')).toEqual([
      '4:33: warning: identity_provider.notices.not_before_push: Keycloak only calls paths that end in /k_push_not_before, which it adds to the admin URL of the client',
    ]);
  });
});

describe('notices on the admin listener', () => {
  it('need one', async () => {
    expect(await diagnosticsOf('{ back_channel_logout: admin }', { listen: '{ admin: off }' })).toEqual([
      '4:37: identity_provider.notices.back_channel_logout: there is no admin listener: "listen.admin" is off',
    ]);
  });

  it('do not come from a provider elsewhere while it is bound to loopback', async () => {
    const issuer = 'https://id.example';
    expect(await diagnosticsOf('{ back_channel_logout: admin }', { issuer })).toEqual([
      '4:37: warning: identity_provider.notices.back_channel_logout: the provider cannot reach the admin listener, which is bound to 127.0.0.1: bind "listen.admin" to an address that only your network reaches',
    ]);
    const listen = '{ admin: "10.0.0.1:9090" }';
    expect(await diagnosticsOf('{ back_channel_logout: admin }', { issuer, listen })).toEqual([]);
    for (const host of ['localhost', '[::1]', '127.0.0.2'])
      expect(
        await diagnosticsOf('{ back_channel_logout: admin }', { issuer: `http://${host}/realms/x` }),
      ).toEqual([]);
  });
});

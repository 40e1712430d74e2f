import { describe, expect, it } from 'vitest';
import { diagnosticsIn, loadText } from '../../../support/config-text.ts';

const PROVIDER = 'issuer: "https://id", client_id: gateway, redirect_uri: "https://app"';
const SECRET = 'client_secret: "$' + '{SECRET}"';
const text = (provider: string, route = 'introspection: true') =>
  `identity_provider: { ${PROVIDER}, ${provider} }\naccess_tokens: { audience: api }\nupstreams: { api: { url: "http://api" } }\nroutes: [{ path: /**, upstream: api, ${route} }]\n`;
const diagnosticsOf = (...given: Parameters<typeof text>) =>
  diagnosticsIn(text(...given), { SECRET: 'hunter2' });

describe('introspection of a route', () => {
  it('is off, asks at most every 5 seconds, or as often as it says', async () => {
    for (const [written, ms] of [
      ['introspection: false', null],
      ['introspection: true', 5_000],
      ['introspection: {}', 5_000],
      ['introspection: { cache: 1m }', 60_000],
    ] as const) {
      const loaded = await loadText(text(SECRET, written), { SECRET: 'hunter2' });
      const route = loaded.ok ? loaded.snapshot.routes.find('GET', '', '/a')?.value : null;
      expect(route, written).toMatchObject({ introspectionMs: ms });
    }
    expect(await diagnosticsOf(SECRET, 'introspection: { cache: 0s }')).toEqual([
      expect.stringContaining('routes[0].introspection.cache'),
    ]);
  });

  it('needs a token to ask about', async () => {
    expect(await diagnosticsOf(SECRET, 'authentication: none, introspection: true')).toContainEqual(
      expect.stringMatching(/^4:\d+: routes\[0\]\.introspection: has no effect with "authentication: none"/),
    );
  });

  it('needs a client that authenticates at every provider', async () => {
    expect(await diagnosticsOf('client_authentication: none')).toEqual([
      expect.stringMatching(
        /^1:\d+: identity_provider\.client_authentication: the route in line 4 asks this provider about its tokens, .*: none is not enough$/,
      ),
    ]);
    const several = text(SECRET)
      .replace(
        /^identity_provider: \{(.*)\}$/m,
        'identity_providers: [{ name: a, audience: api,$1}, { name: b, issuer: "https://b", audience: api }]',
      )
      .replace('access_tokens: { audience: api }', '');
    expect(await diagnosticsIn(several, { SECRET: 'hunter2' })).toEqual([
      expect.stringMatching(
        /^1:\d+: identity_providers\[1\]: the route in line 4 asks .*: add "client_id" and a secret$/,
      ),
    ]);
  });

  it('needs an address to ask at', async () => {
    const endpoints = 'authorization: "https://id/a", token: "https://id/t", key_set: "https://id/k"';
    expect(await diagnosticsOf(`${SECRET}, endpoints: { ${endpoints} }`)).toEqual([
      expect.stringMatching(
        /^1:\d+: identity_provider\.endpoints: the route in line 4 .*: add "introspection"$/,
      ),
    ]);
    expect(
      await diagnosticsOf(`${SECRET}, endpoints: { ${endpoints}, introspection: "https://id/i" }`),
    ).toEqual([]);
    expect(await diagnosticsOf(`${SECRET}, endpoints: { introspection: "http://id/i" }`)).toEqual([
      expect.stringContaining('identity_provider.endpoints.introspection: is plain http'),
    ]);
  });
});

import { describe, expect, it } from 'vitest';
import { diagnosticsIn, loadText } from '../../../support/config-text.ts';

const PROVIDER = 'issuer: "https://id", client_id: gateway, redirect_uri: "https://app"';
const SECRET = 'client_secret: "$' + '{SECRET}"';
const text = (provider: string, route = 'introspection: true') =>
  `identity_provider: { ${PROVIDER}, ${provider} }\naccess_tokens: { audience: api }\nupstreams: { api: { url: "http://api" } }\nroutes: [{ path: /**, upstream: api, ${route} }]\n`;
const diagnosticsOf = (...given: Parameters<typeof text>) =>
  diagnosticsIn(text(...given), { SECRET: 'hunter2' });

describe('opaque_tokens', () => {
  const opaque = (provider: string, cache = '30s') =>
    diagnosticsIn(
      text(provider, 'methods: [GET]').replace(
        'audience: api',
        `audience: api, opaque_tokens: { cache: ${cache} }`,
      ),
      { SECRET: 'hunter2' },
    );

  it('are off, or accepted with answers that are used for 30 seconds unless written', async () => {
    for (const [written, found] of [
      ['', null],
      [', opaque_tokens: off', null],
      [', opaque_tokens: {}', { cacheMs: 30_000 }],
      [', opaque_tokens: { cache: 10m }', { cacheMs: 600_000 }],
    ] as const) {
      const file = text(SECRET).replace('audience: api', `audience: api${written}`);
      const loaded = await loadText(file, { SECRET: 'hunter2' });
      expect(loaded.ok && loaded.snapshot.identity?.providers[0]?.opaqueTokens, written).toEqual(found);
    }
    expect(await opaque(SECRET, '11m')).toEqual([
      expect.stringContaining('access_tokens.opaque_tokens.cache'),
    ]);
  });

  it('need a client that authenticates, and an address to ask at', async () => {
    expect(await opaque(SECRET)).toEqual([]);
    expect(await opaque('client_authentication: none')).toEqual([
      expect.stringMatching(/client_authentication: "opaque_tokens" in line 2 asks .*: none is not enough$/),
    ]);
    const endpoints = 'authorization: "https://id/a", token: "https://id/t", key_set: "https://id/k"';
    expect(await opaque(`${SECRET}, endpoints: { ${endpoints} }`)).toEqual([
      expect.stringMatching(/endpoints: "opaque_tokens" in line 2 .*: add "introspection"$/),
    ]);
  });

  it('belong to one provider', async () => {
    const entry = (name: string) =>
      `- { name: ${name}, issuer: "https://${name}", client_id: g, ${SECRET}, audience: api, opaque_tokens: {} }\n`;
    const file = (...names: readonly string[]) =>
      `identity_providers:\n${names.map(entry).join('')}upstreams: { api: { url: "http://api" } }\nroutes: [{ path: /**, upstream: api }]\n`;
    expect(await diagnosticsIn(file('a'), { SECRET: 'hunter2' })).toEqual([]);
    expect(await diagnosticsIn(file('a', 'b'), { SECRET: 'hunter2' })).toEqual([
      expect.stringMatching(
        /^3:\d+: identity_providers\[1\]: opaque tokens are those of the provider in line 2: nothing in such a token says/,
      ),
    ]);
  });
});

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

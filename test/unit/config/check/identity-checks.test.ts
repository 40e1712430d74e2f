import { describe, expect, it } from 'vitest';
import { diagnosticsIn, loadText } from '../../../support/config-text.ts';

const PROVIDER =
  'identity_provider: { issuer: "https://id", client_id: gateway, client_authentication: none, redirect_uri: "https://app" }\n';
const TOKENS = 'access_tokens: { audience: api }\n';
const UPSTREAMS = 'upstreams: { api: { url: "http://api:3000" } }\n';

const routeWith = (keys = '') => `routes: [{ path: /**, upstream: api${keys} }]\n${UPSTREAMS}`;

describe('a route without an identity provider', () => {
  it('has to say that it requires no token', async () => {
    expect(await diagnosticsIn(routeWith())).toEqual([
      '1:10: routes[0]: a route requires a token by default, and there is no "identity_provider" to check it: add one, or write "authentication: none"',
    ]);
  });

  it.each(['required', 'optional'])('may not say authentication: %s', async kind => {
    expect(await diagnosticsIn(routeWith(`, authentication: ${kind}`))).toEqual([
      '1:54: routes[0].authentication: there is no "identity_provider" to check tokens with: add one, or write none',
    ]);
  });

  it('is not reported if the key is misspelt', async () => {
    expect(await diagnosticsIn(PROVIDER.replace('provider', 'providr') + TOKENS + routeWith())).toEqual([
      '1:1: unknown key "identity_providr", did you mean "identity_provider"?',
    ]);
  });
});

describe('the two sections about tokens', () => {
  it('go together: a provider needs access_tokens', async () => {
    expect(await diagnosticsIn(PROVIDER + routeWith())).toEqual([
      '1:1: missing key "access_tokens" next to it: its "audience" says which tokens are for this API',
    ]);
  });

  it('go together: access_tokens need a provider', async () => {
    expect(await diagnosticsIn(TOKENS + routeWith(', authentication: none'))).toEqual([
      '1:1: "access_tokens" has no effect without "identity_provider", which issues the tokens',
    ]);
  });

  it('need an audience, which audience_claim does not stand for', async () => {
    const tokens = 'access_tokens: { audience_claim: client_id }\n';
    expect(await diagnosticsIn(tokens + PROVIDER + routeWith())).toEqual([
      '1:16: access_tokens: missing key "audience": expected the name of this API in the aud of its tokens, in quotes if it is a number, or any',
    ]);
  });

  const withKind = (keys: string) => `access_tokens: { token_kind: access_or_id, ${keys} }\n`;

  it('accept ID tokens only for an audience, and then it says what that means', async () => {
    expect(await diagnosticsIn(withKind('audience: any') + PROVIDER + routeWith())).toEqual([
      '1:30: access_tokens.token_kind: would accept the ID tokens of every client: name the audience, since nothing else distinguishes them',
    ]);
    for (const audience of ['gateway', '[api, gateway]'])
      expect(await diagnosticsIn(withKind(`audience: ${audience}`) + PROVIDER + routeWith())).toEqual([
        '1:30: warning: access_tokens.token_kind: every ID token that the client "gateway" ever gets opens this API, and ID tokens are often passed on and logged: have the provider issue tokens for an audience of their own',
      ]);
    const result = await loadText(withKind('audience: api') + PROVIDER + routeWith());
    expect(result).toMatchObject({
      warnings: [],
      hints: [
        {
          message:
            'access_tokens.token_kind: ID tokens for this audience open this API as well: keep them as secret as access tokens',
        },
      ],
    });
  });

  it('are of use to some route, else there is a warning', async () => {
    expect(await diagnosticsIn(PROVIDER + TOKENS + routeWith(', authentication: none'))).toEqual([
      '1:1: warning: "identity_provider" has no effect: every route says "authentication: none"',
    ]);
  });
});

describe('a provider that only issues tokens', () => {
  const VERIFIED = 'identity_provider: { issuer: "https://id" }\n';
  const withKeys = (keys: string, rest = routeWith()) =>
    diagnosticsIn(VERIFIED.replace(' }', `, ${keys} }`) + TOKENS + rest);

  it('needs nothing but its issuer', async () => {
    expect(await diagnosticsIn(VERIFIED + TOKENS + routeWith())).toEqual([]);
    const loaded = await loadText(VERIFIED + TOKENS + routeWith());
    expect(loaded.ok && loaded.snapshot.identity?.providers[0]).toMatchObject({ client: null, signIn: null });
  });

  it('may know the gateway as a client where nobody signs in', async () => {
    expect(await withKeys('client_id: gateway, client_authentication: none')).toEqual([]);
  });

  it.each([
    ['redirect_uri: "https://app"', '"redirect_uri" needs it'],
    ['client_authentication: none', '"client_authentication" needs it'],
    [
      'client_secret_file: /none, redirect_uri: "https://app"',
      '"redirect_uri" and "client_secret_file" need it',
    ],
    ['notices: { back_channel_logout: /logout }', '"notices" needs it'],
    [
      'private_key_id: k, notices: { back_channel_logout: /logout }, redirect_uri: "https://app"',
      '"redirect_uri", "private_key_id" and "notices" need it',
    ],
  ])('needs a client_id for %s, in one message', async (keys, why) => {
    expect((await withKeys(keys)).filter(line => !line.includes('client_secret_file: '))).toEqual([
      `1:20: identity_provider: missing key "client_id", the id of the gateway at the provider: ${why}`,
    ]);
  });

  it('needs a client_id where a route asks it about tokens', async () => {
    expect(await diagnosticsIn(VERIFIED + TOKENS + routeWith(', introspection: true'))).toEqual([
      expect.stringMatching(
        /^1:20: identity_provider: the route in line 3 asks .*: add "client_id" and a secret$/,
      ),
    ]);
  });

  it.each(['scope: openid', 'redirect_uris: any'])('has no key of a sign-in: %s', async key => {
    const [name] = key.split(':');
    expect(await withKeys(key)).toEqual([
      `1:44: identity_provider: "${name}" has no effect without "redirect_uri"`,
    ]);
  });

  it('serves no path of sign_in', async () => {
    const signIn = 'sign_in: { refresh: /r }\n';
    expect(await diagnosticsIn(signIn + VERIFIED + TOKENS + routeWith())).toEqual([
      '1:1: "sign_in" needs "redirect_uri" and "client_id" in identity_provider: without them nobody signs in through the gateway',
    ]);
    const withClient = VERIFIED.replace(' }', ', client_id: g, client_authentication: none }');
    expect(await diagnosticsIn(signIn + withClient + TOKENS + routeWith())).toEqual([
      '1:1: "sign_in" needs "redirect_uri" in identity_provider: without it nobody signs in through the gateway',
    ]);
    const misspelt = withClient.replace(' }', ', redirect_url: "https://app" }');
    expect(await diagnosticsIn(signIn + misspelt + TOKENS + routeWith())).toEqual([
      '2:87: identity_provider: unknown key "redirect_url", did you mean "redirect_uri"?',
    ]);
  });
});

describe('a route where no token is looked at', () => {
  it('cannot be closed when one expires', async () => {
    const route = routeWith(', authentication: none, close_at_expiry: true');
    expect(await diagnosticsIn(route)).toEqual([
      '1:77: routes[0].close_at_expiry: has no effect with "authentication: none", which ignores tokens',
    ]);
  });
});

describe('the two paths of the sign-in', () => {
  it.each(['/v1/anonymous/auth', '/V1/Anonymous/authorize-url/'])("are nobody else's: %s", async path => {
    const text = PROVIDER + TOKENS + routeWith(', methods: [PATCH]').replace('/**', path);
    expect(await diagnosticsIn(text)).toEqual([
      '3:18: routes[0].path: the gateway serves this path itself, for sign-in: remove the route',
    ]);
  });

  it.each(['/v1/anonymous/**', '/v1/anonymous/auth/more'])('may have neighbours: %s', async path => {
    expect(await diagnosticsIn(PROVIDER + TOKENS + routeWith().replace('/**', path))).toEqual([]);
  });
});

describe('an identity header', () => {
  const diagnosticsOfHeaders = (headers: string, more = '') =>
    diagnosticsIn(
      `access_tokens: { audience: api, identity_headers: { ${headers} } }\n${PROVIDER}${more}${routeWith()}`,
    );

  it.each([
    ...['Authorization', 'Host', 'Content-Length', 'connection', 'Via', 'X-Request-Id', 'X-Real-IP'],
    ...['X-Forwarded-Port', 'X-Original-URL', 'x_real_ip', 'X-Middleware-Subrequest'],
  ])('cannot be %s', async name => {
    expect(await diagnosticsOfHeaders(`${name}: sub`)).toEqual([
      `1:53: access_tokens.identity_headers: the gateway uses "${name}" itself: choose another name`,
    ]);
  });

  it.each([
    ...['Remote-User', 'X-Consumer-Username', 'x_userinfo', 'X-Forwarded-User', 'Impersonate-User'],
    ...['SM_USER', 'OIDC_CLAIM_sub', 'X-Auth-Subject'],
  ])('may be one in which another gateway names callers: %s', async name => {
    expect(await diagnosticsOfHeaders(`${name}: sub`)).toEqual([]);
    const keep = `forwarding_headers: { keep: [X-Consumer-*, X-Auth-Request-*] }\n`;
    expect(await diagnosticsOfHeaders(`${name}: sub`, keep)).toEqual([]);
  });

  it('cannot be one that trusted proxies may send', async () => {
    expect(await diagnosticsOfHeaders('X-Edge: sub', 'forwarding_headers: [x-edge]\n')).toEqual([
      '1:53: access_tokens.identity_headers: "X-Edge" is listed in forwarding_headers, so trusted proxies may send it: choose another name',
    ]);
  });

  it('cannot be one that anyone may send', async () => {
    expect(
      await diagnosticsOfHeaders('X-Remote-User: sub', 'forwarding_headers: { keep: [x_remote_user] }\n'),
    ).toEqual([
      '1:53: access_tokens.identity_headers: "X-Remote-User" is kept by forwarding_headers, so anyone could send it: choose another name',
    ]);
  });

  it.each(['X-Remote-User', 'Remote-Email', 'X-Auth-Request-User'])(
    'can be one by which a proxy in front would say who sends: %s',
    async name => {
      expect(await diagnosticsOfHeaders(`${name}: sub`)).toEqual([]);
    },
  );

  it('has a name that no other has, however servers spell it', async () => {
    expect(await diagnosticsOfHeaders('X-Caller: sub, x_caller: azp')).toEqual([
      '1:68: access_tokens.identity_headers: "x_caller" is the same header field as "X-Caller"',
    ]);
    expect(await diagnosticsOfHeaders('X-Caller: sub, X.Caller: azp')).toEqual([
      '1:68: access_tokens.identity_headers: "X.Caller" is the same header field as "X-Caller"',
    ]);
  });
});

describe('the longest token', () => {
  const withLength = (length: string, caps = '') =>
    diagnosticsIn(
      `access_tokens: { audience: api, max_length: ${length} }\n${PROVIDER}${caps}${routeWith()}`,
    );

  it.each([
    ['16KiB', ''],
    ['1KiB', ''],
    ['64KiB', 'caps: { head: 64KiB }\n'],
  ])('may be %s where the head has room: %j', async (length, caps) => {
    expect(await withLength(length, caps)).toEqual([]);
  });

  it.each([
    ['17KiB', '', '16KiB'],
    ['64KiB', 'caps: { head: 32KiB }\n', '32KiB'],
  ])('is not %s where the head of a request ends before: %j', async (length, caps, head) => {
    expect(await withLength(length, caps)).toEqual([
      `1:45: access_tokens.max_length: is more than the head of a request may have: raise "head" under "caps" (${head}) above it as well`,
    ]);
  });

  it('is only compared where it is written: a small head refuses long tokens by itself', async () => {
    expect(await diagnosticsIn(`${TOKENS}${PROVIDER}caps: { head: 8KiB }\n${routeWith()}`)).toEqual([]);
  });
});

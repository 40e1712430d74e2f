import { describe, expect, it } from 'vitest';
import { diagnosticsIn, NEEDED } from '../../../support/config-text.ts';

const REST = `routes: [{ path: /**, upstream: api }]
upstreams: { api: { url: "http://api:3000" } }
`;
const PROVIDER: Readonly<Record<string, string>> = {
  issuer: '"https://id.example.com"',
  client_id: 'gateway',
  client_secret: '"$' + '{SECRET}"',
  redirect_uri: '"https://app.example.com/cb"',
};
const ENV = {
  SECRET: 'hunter2hunter2',
  EMPTY: '',
  LINES: 'hunter2\nhunter2',
  BLANK: 'https://id.example.com\n',
};

const RESERVED =
  'is neither fixed nor for clients to choose: the gateway writes it, or clients add it to the URL themselves';
const URI = 'expected an absolute URI such as https://app.example.com/callback';
const HTTP = 'is plain http and not on loopback: use https, or set allow_http: true';
const MOMENT = 'expected none, a moment such as 2026-01-31T12:00:00Z, or Unix seconds';
const CLAIM = 'expected the name of a claim such as sub';
const SECRET =
  'this file must not contain secrets: write "$' +
  '{NAME}" to read an environment variable, or name a file with client_secret_file';

/** The diagnostics of `identity_provider` in line 1, with this key before those that are needed, from column 22 on. */
function diagnosticsOfProvider(written: string): Promise<string[]> {
  const [key] = written.split(':');
  const others = Object.entries(PROVIDER).filter(([name]) => name !== key);
  const needed = others.map(([name, value]) => `${name}: ${value}`).join(', ');
  return diagnosticsIn(
    `identity_provider: { ${written}, ${needed} }\naccess_tokens: { audience: api }\n${REST}`,
    ENV,
  );
}

/** The diagnostics of `access_tokens` in line 1, with this key before its audience, from column 18 on. */
function diagnosticsOfTokens(written: string): Promise<string[]> {
  const needed = Object.entries(PROVIDER).map(([name, value]) => `${name}: ${value}`);
  const audience = written.startsWith('audience') ? '' : ', audience: api';
  return diagnosticsIn(
    `access_tokens: { ${written}${audience} }\nidentity_provider: { ${needed.join(', ')} }\n${REST}`,
    ENV,
  );
}

describe('a value of identity_provider', () => {
  it.each([
    ['issuer: 7', '30: issuer: write the issuer, an address such as https://id.example.com/realms/main'],
    ['issuer: id.example.com', '30: issuer: has no scheme: write https:// before it'],
    ['issuer: id.example.com:8443/realms/main', '30: issuer: has no scheme: write https:// before it'],
    [
      'issuer: https://id.example.com/.well-known/openid-configuration',
      '30: issuer: is the address of the discovery document: leave out "/.well-known/openid-configuration"',
    ],
    ['issuer: "ftp://id.example.com"', '30: issuer: must begin with https://'],
    ['issuer: "http://id.example.com"', `30: issuer: ${HTTP}`],
    ['issuer: "https://u:hunter2@id"', '30: issuer: must not contain a user name or password'],
    ['issuer: "https://id?a=b"', '30: issuer: must not have a query'],
    ['issuer: "https://id#a"', '30: issuer: must not have a fragment'],
    ['issuer: "https://id.example.com "', '30: issuer: must not contain spaces or line breaks'],
    ['issuer: "$' + '{BLANK}"', '30: issuer: "$' + '{BLANK}" must not contain spaces or line breaks'],
    ['discovery_url: ""', '22: discovery_url: write an address such as https://id.example.com/token'],
    ['discovery_url: id', '37: discovery_url: has no scheme: write https:// before it'],
    ['discovery_url: "http://id.svc"', `37: discovery_url: ${HTTP}`],
    [
      'endpoints: { authorization: id }',
      '50: endpoints.authorization: has no scheme: write https:// before it',
    ],
    ['endpoints: { token: "http://id.svc" }', `42: endpoints.token: ${HTTP}`],
    [
      'endpoints: { key_set: "https://u:hunter2@id" }',
      '44: endpoints.key_set: must not contain a user name or password',
    ],
    ['endpoints: { jwks: x }', '35: endpoints: unknown key "jwks"'],
    ['allow_http: yes', '34: allow_http: expected true or false, found "yes"'],
    ['timeout: 5', '31: timeout: expected a time such as 250ms, 5s, 10m or 1h, found 5'],
    ['timeout: 0s', '31: timeout: expected a time from 1ms to 24h, found "0s"'],
    [
      'client_id: 7',
      '33: client_id: expected the id of the gateway at the provider, in quotes if it is a number, found 7',
    ],
    [
      'client_authentication: basic',
      '45: client_authentication: expected "client_secret_basic", "client_secret_post", "private_key_jwt", "tls_client_auth" or "none", found "basic"',
    ],
    ['client_secret: hunter2', `37: client_secret: ${SECRET}`],
    ['client_secret: 12345678', `37: client_secret: ${SECRET}`],
    ['client_secret: [hunter2]', `37: client_secret: ${SECRET}`],
    ['client_secret: ""', `22: client_secret: ${SECRET}`],
    ['client_secret: "hunter2$' + '{SECRET}"', `37: client_secret: ${SECRET}`],
    ['client_secret: "$' + '{GONE:-hunter2hunter2}"', `37: client_secret: ${SECRET}`],
    ['client_secret: "$' + '{EMPTY}"', '37: client_secret: the secret is empty'],
    [
      'client_secret: "$' + '{LINES}"',
      '37: client_secret: a secret must be one line without control characters',
    ],
    ['client_secret: "$' + '{NOPE}"', '37: the environment variable NOPE is not set'],
    ['redirect_uri: /cb', `36: redirect_uri: ${URI}, found "/cb"`],
    [
      'redirect_uri: "https://app/#a"',
      '36: redirect_uri: "https://app/#a" must not have a fragment (RFC 6749, 3.1.2)',
    ],
    ['redirect_uris: none', '37: redirect_uris: expected any, or a list of redirect URIs, found "none"'],
    ['redirect_uris: [app, any]', `38: redirect_uris[0]: ${URI}, found "app"`],
    ...['https://app:*/cb', 'http://localhost:*/cb', 'https://127.0.0.1:*/cb', 'http://127.0.0.1:*0/cb'].map(
      (uri): [string, string] => [
        `redirect_uris: ["${uri}"]`,
        '38: redirect_uris[0]: a port of * is for http://127.0.0.1 and http://[::1] alone (RFC 8252, 7.3)',
      ],
    ),
    ['redirect_uri: "http://127.0.0.1:*/cb"', `36: redirect_uri: ${URI}, found "http://127.0.0.1:*/cb"`],
    [
      'redirect_uris: ["http://[::1]:*/cb#a"]',
      '38: redirect_uris[0]: "http://[::1]:*/cb#a" must not have a fragment (RFC 6749, 3.1.2)',
    ],
    ...[
      ...['redirect_uri', 'client_id', 'response_type', 'scope', 'state', 'nonce', 'code_challenge'],
      ...['code_challenge_method', 'request', 'request_uri', 'Scope'],
    ].flatMap((name): [string, string][] => [
      [
        `authorization_parameters: { fixed: { ${name}: x } }`,
        `59: authorization_parameters.fixed: "${name}" ${RESERVED}`,
      ],
      [
        `authorization_parameters: { allow: [${name}] }`,
        `58: authorization_parameters.allow[0]: "${name}" ${RESERVED}`,
      ],
    ]),
    [
      'authorization_parameters: { fixed: { a: 1 } }',
      '62: authorization_parameters.fixed.a: expected the value of the parameter, in quotes if it is a number, found 1',
    ],
    [
      'authorization_parameters: { fixed: { a: b }, allow: [a] }',
      '75: authorization_parameters.allow[0]: "a" is fixed, so no client can choose it: remove it from one of the two',
    ],
    [
      'authorization_parameters: { allow: ["a b"] }',
      '58: authorization_parameters.allow[0]: expected the name of a parameter such as login_hint, found "a b"',
    ],
    [
      'authorization_parameters: { allow: [a, a] }',
      '61: authorization_parameters.allow[1]: "a" is listed twice',
    ],
    [
      'scope: "openid  profile"',
      '29: scope: expected scopes separated by single spaces, such as "openid profile", found "openid  profile"',
    ],
    ['max_in_flight: 0', '37: max_in_flight: expected a whole number from 1 to 1000000, found 0'],
  ])('is refused: %s', async (written, diagnostic) => {
    const [first = '', ...more] = await diagnosticsOfProvider(written);
    expect(first.replace('identity_provider.', '').replace('identity_provider: ', '')).toBe(
      `1:${diagnostic}`,
    );
    expect(more.filter(other => !other.includes('redirect_uris[1]'))).toEqual([]);
    expect(first).not.toContain('hunter2');
  });

  it.each([
    'issuer: "http://127.0.0.1:8180/realms/main"',
    'allow_http: true, discovery_url: "http://id.svc/.well-known/openid-configuration"',
    'redirect_uris: []',
    'redirect_uris: ["com.example.app:/callback"]',
    'redirect_uris: ["http://127.0.0.1:*/cb", "http://[::1]:*/cb", "http://127.0.0.1:*"]',
    'scope: openid profile email',
    'client_authentication: client_secret_post',
  ])('is accepted: %s', async written => {
    expect(await diagnosticsOfProvider(written)).toEqual([]);
  });

  it.each(['http://app/*/cb', 'https://*.app.example/cb', 'https://app.example/*'])(
    'is warned of a * that stands for itself: %s',
    async uri => {
      const said = await diagnosticsOfProvider(`redirect_uris: ["https://app.example/cb", "${uri}"]`);
      expect(said).toEqual([expect.stringContaining('redirect_uris[1]: the * stands for itself')]);
    },
  );

  it('must be there where it has no default', async () => {
    const diagnostics = await diagnosticsIn(`identity_provider: {}\naccess_tokens: {}\n${REST}`);
    expect(diagnostics.map(diagnostic => diagnostic.split(': ').slice(0, 3).join(': '))).toEqual([
      '1:20: identity_provider: missing key "issuer"',
      '2:16: access_tokens: missing key "audience"',
    ]);
  });

  it('is worth a warning where no ID token will come', async () => {
    expect(await diagnosticsOfProvider('scope: profile')).toEqual([
      '1:29: warning: identity_provider.scope: without "openid" the provider issues no ID token',
    ]);
  });
});

describe('a value of access_tokens', () => {
  it.each([
    [
      'audience: 7',
      '28: audience: expected the name of this API in the aud of its tokens, in quotes if it is a number, or any, found 7',
    ],
    ['audience: []', '28: audience: an empty list lets nobody in: name at least one audience'],
    ['audience: [api, any]', '28: audience: any stands alone: audience: any'],
    ['audience: [api, api]', '34: audience[1]: "api" is listed twice'],
    [
      'audience: api, audience_claim: ""',
      '33: audience_claim: expected the name of a claim such as sub, found nothing',
    ],
    [
      'token_kind: id',
      '30: token_kind: expected access, access_or_id, or a claim that access tokens have and ID tokens lack, such as { claim: uid }, found "id"',
    ],
    ['token_kind: { value: access }', `30: token_kind: missing key "claim": ${CLAIM}`],
    [
      'token_kind: { claim: typ }',
      '39: token_kind.claim: "typ" is judged anyway, as typ, token_use, at_hash, events are: name another claim, or leave token_kind out',
    ],
    ['principal: sub', '29: principal: expected a list of claims such as [azp, sub], found "sub"'],
    ['principal: []', '29: principal: an empty list cannot distinguish callers: name at least one claim'],
    ['principal: [sub, sub]', '35: principal[1]: "sub" is listed twice'],
    [
      'principal: [sub, jti]',
      '29: principal: exp, nbf, iat, jti change with every token: use claims that stay the same for a caller',
    ],
    ['principal: [7]', `30: principal[0]: ${CLAIM}, found 7`],
    ['bots: all', '24: bots: expected the word none, or a map such as { claim: client_id }, found "all"'],
    ['bots: {}', `24: bots: missing key "claim": ${CLAIM}`],
    ['bots: { clam: x }', '26: bots: unknown key "clam", did you mean "claim"?'],
    [
      'bots: { claim: x, value: [a] }',
      '43: bots.value: expected text, a number, true or false, found a list',
    ],
    [
      'bots: { claim: x, principal: [] }',
      '47: bots.principal: an empty list cannot distinguish callers: name at least one claim',
    ],
    ['identity_headers: [X-A]', '36: identity_headers: expected a map of keys, found a list'],
    ['identity_headers: { X-A: 7 }', `43: identity_headers.X-A: ${CLAIM}, found 7`],
    [
      'identity_headers: { "X A": sub }',
      '38: identity_headers: "X A" is not a header field name: use letters, digits and "-", such as X-Auth-Subject',
    ],
    ['schemes: Bearer', '27: schemes: expected a list of schemes such as [Bearer, Bot], found "Bearer"'],
    ['schemes: [Bot]', '27: schemes: Bearer must be among them: it is the scheme of every standard client'],
    ['schemes: [Bearer, bearer]', '36: schemes[1]: "bearer" is listed twice (case does not matter)'],
    ['schemes: [Bearer, "a b"]', '36: schemes[1]: expected a scheme such as Bearer or Bot, found "a b"'],
    ['leeway: 11m', '26: leeway: expected a time from 0s to 10m, found "11m"'],
    ['not_before: yesterday', `30: not_before: ${MOMENT}, found "yesterday"`],
    ['not_before: 2026-02-30T00:00:00Z', `30: not_before: ${MOMENT}, found "2026-02-30T00:00:00Z"`],
    ['not_before: -1', `30: not_before: ${MOMENT}, found -1`],
    ['key_set: { refresh: 500ms }', '38: key_set.refresh: expected a time from 1s to 24h, found "500ms"'],
    ['key_set: { cooldown: 0s }', '39: key_set.cooldown: expected a time from 1ms to 24h, found "0s"'],
    ['cache: { tokens: 0 }', '35: cache.tokens: expected a whole number from 1 to 1000000, found 0'],
  ])('is refused: %s', async (written, diagnostic) => {
    const diagnostics = await diagnosticsOfTokens(written);
    expect(diagnostics.map(each => each.replace(/access_tokens(\.|: )/, ''))).toEqual([`1:${diagnostic}`]);
  });

  it.each([
    'audience: any',
    'audience: [api, "https://api.example.com"]',
    'audience: api, audience_claim: client_id',
    'token_kind: access',
    'token_kind: { claim: uid }',
    'token_kind: { claim: /token/name, value: access_token }',
    'bots: none',
    'bots: { claim: roles, value: bot, principal: [azp, sub] }',
    'schemes: [Bot, bearer]',
    'leeway: 0s',
    'not_before: 1700000000',
    'not_before: 2026-01-31T12:00:00+01:00',
  ])('is accepted: %s', async written => {
    expect(await diagnosticsOfTokens(written)).toEqual([]);
  });
});

describe('an address of the provider', () => {
  const WITH = (keys: string) =>
    `identity_provider:\n${keys}  client_authentication: none\naccess_tokens: { audience: api }\n${NEEDED.replace(', authentication: none', '')}`;

  it('is reported even beside another error in the section', async () => {
    const keys = '  issuer: id.example.com\n  client_id: 7\n  redirect_uri: https://app.example.com/cb\n';
    expect(await diagnosticsIn(WITH(keys))).toEqual([
      '2:11: identity_provider.issuer: has no scheme: write https:// before it',
      '3:14: identity_provider.client_id: expected the id of the gateway at the provider, in quotes if it is a number, found 7',
    ]);
  });

  it('is not reported as plain http if the error may be about that', async () => {
    const keys =
      '  issuer: http://id.example.com\n  client_id: gateway\n  redirect_uri: https://app.example.com/cb\n';
    for (const wrong of ['  allow_http: yes\n', '  allowhttp: true\n']) {
      const diagnostics = await diagnosticsIn(WITH(keys + wrong));
      expect(diagnostics).toEqual([expect.stringContaining('allow')]);
    }
  });

  it('that is missing is reported, and nothing about what stands in for it', async () => {
    const diagnostics = await diagnosticsIn(WITH('  client_id: gateway\n'));
    expect(diagnostics.map(diagnostic => diagnostic.replace(/:[^:]*$/, ''))).toEqual([
      '2:3: identity_provider: missing key "issuer": write the issuer, an address such as https',
    ]);
  });
});

import { describe, expect, it } from 'vitest';
import { formatDiagnostic } from '../../../../src/config/index.ts';
import { apiKeyOf, digestOfApiKey } from '../../../../src/identity/auth/index.ts';
import { loadFiles } from '../../../support/config-text.ts';
import { secret } from '../../../support/secrets.ts';

const DIGEST = 'a'.repeat(64);
const OTHER = 'b'.repeat(64);
const ROUTE = 'accept: [api_key]';

interface Written {
  readonly apiKeys?: string;
  readonly route?: string;
  readonly keys?: string | null;
  readonly more?: string;
  readonly limits?: string;
}

async function load({ apiKeys = '', route = ROUTE, keys = '[]', more = '', limits }: Written) {
  const gateway = `api_keys: { file: keys.yaml${apiKeys} }
upstreams: { api: { url: "http://api" } }
routes: [{ path: /**, upstream: api, ${route} }]
${more}
${limits === undefined ? '' : 'limits: limits.yaml\n'}`;
  const files = {
    'gateway.yaml': gateway,
    ...(keys === null ? {} : { 'keys.yaml': keys }),
    ...(limits === undefined ? {} : { 'limits.yaml': limits }),
  };
  const loaded = await loadFiles(files);
  const all = loaded.ok ? [...loaded.warnings, ...loaded.hints] : loaded.diagnostics;
  return { loaded, found: all.map(each => formatDiagnostic(each).replace(/^.*\//, '')) };
}

const found = async (written: Written) => (await load(written)).found;
const ofKeys = (keys: string) => found({ keys });

describe('the file of API keys', () => {
  it('is read with all that a line may say, without a provider', async () => {
    const keys = `- { name: partner-7, sha256: "${DIGEST.toUpperCase()}" }
- name: robot
  sha256: ["${OTHER}", "${'c'.repeat(64)}"]
  class: partner
  bot: true
  scopes: [a]
  roles: [clerk, "shop:admin"]
  not_after: 2999-01-31T00:00:00Z
`;
    const { loaded, found: diagnostics } = await load({ keys });
    expect(diagnostics).toEqual([]);
    expect(loaded.ok && loaded.snapshot.identity?.apiKeys).toMatchObject({
      ...{ header: 'X-API-Key', forward: false },
      lines: [
        { name: 'partner-7', digests: [DIGEST], class: null, isBot: false, scopes: [], notAfterMs: null },
        {
          ...{ name: 'robot', class: 'partner', isBot: true, notAfterMs: Date.UTC(2999, 0, 31) },
          digests: [OTHER, 'c'.repeat(64)],
          roles: [
            { client: null, name: 'clerk' },
            { client: 'shop', name: 'admin' },
          ],
        },
      ],
    });
  });

  it('is watched: it belongs to what a reload reads', async () => {
    const { loaded } = await load({});
    const { loaded: other } = await load({ keys: `- { name: a, sha256: "${DIGEST}" }` });
    expect(loaded.ok && other.ok && loaded.snapshot.hash !== other.snapshot.hash).toBe(true);
  });

  it.each<[string, string, RegExp]>([
    ['no list', 'partner-7: x', /^keys\.yaml:1:1: expected a list of lines/],
    ['an empty file', '', /^keys\.yaml:1:1: the file is empty/],
    ['no name', `- { sha256: "${DIGEST}" }`, /^keys\.yaml:1:\d+: \[0\]: missing key "name"/],
    [
      'a bad name',
      `- { name: "a b", sha256: "${DIGEST}" }`,
      /^keys\.yaml:1:\d+: \[0\]\.name: "a b" is not a valid name/,
    ],
    ['no digest', '- { name: a }', /^keys\.yaml:1:\d+: \[0\]: missing key "sha256"/],
    [
      'a short digest',
      '- { name: a, sha256: abc }',
      /^keys\.yaml:1:\d+: \[0\]\.sha256: expected the SHA-256 of a key/,
    ],
    ['no digests', '- { name: a, sha256: [] }', /\[0\]\.sha256: expected a digest, or 2/],
    [
      'three digests',
      `- { name: a, sha256: ["${DIGEST}", "${OTHER}", "${'c'.repeat(64)}"] }`,
      /expected a digest, or 2/,
    ],
    [
      'a misspelt key',
      `- name: a\n  sha256: "${DIGEST}"\n  scope: [a]\n`,
      /^keys\.yaml:3:3: \[0\]: unknown key .*, did you mean "scopes"\?/,
    ],
    ['no moment', `- { name: a, sha256: "${DIGEST}", not_after: tomorrow }`, /not_after: expected a moment/],
    [
      'a built-in class',
      `- { name: a, sha256: "${DIGEST}", class: bot }`,
      /\[0\]\.class: .*has a meaning of its own/,
    ],
    ['a class that is a number', `- { name: a, sha256: "${DIGEST}", class: "7" }`, /class: .*is a number/],
    [
      'a day that does not exist',
      `- { name: a, sha256: "${DIGEST}", not_after: 2027-02-30T00:00:00Z }`,
      /not_after: expected a moment/,
    ],
    [
      'one name twice',
      `- { name: a, sha256: "${DIGEST}" }\n- { name: a, sha256: "${OTHER}" }`,
      /^keys\.yaml:2:\d+: \[1\]\.name: the line 1 has this name already/,
    ],
    [
      'one digest twice',
      `- { name: a, sha256: "${DIGEST}" }\n- { name: b, sha256: "${DIGEST}" }`,
      /^keys\.yaml:2:\d+: \[1\]\.sha256: the line 1 has this key already/,
    ],
    [
      'too many classes',
      Array.from(
        { length: 9 },
        (_, i) => `- { name: a${i}, class: c${i}, sha256: "${String(i).repeat(64)}" }`,
      ).join('\n'),
      /there are 9 classes .* at most 8/,
    ],
  ])('with %s is an error by its line', async (_, keys, message) => {
    expect(await ofKeys(keys)).toContainEqual(expect.stringMatching(message));
  });

  it('that is missing is an error of gateway.yaml', async () => {
    expect(await found({ keys: null })).toEqual([
      expect.stringMatching(/^gateway\.yaml:1:\d+: api_keys\.file: no such file/),
    ]);
  });

  it('with a key in place of a digest is an error that does not repeat it', async () => {
    const key = secret(apiKeyOf(Buffer.alloc(32, 7)));
    for (const text of [
      `- { name: a, sha256: "${key}" }`,
      `- { name: a, sha256: ["${key}"] }`,
      `- { name: a, key: "${key}" }`,
      `- { name: a, sha256: { is: "${key}" } }`,
      `- { name: a, sha256: "${key}`,
    ]) {
      const diagnostics = await ofKeys(text);
      expect(diagnostics.length, text).toBeGreaterThan(0);
      expect(diagnostics.join('\n')).not.toContain(key.slice(5));
    }
    expect(await ofKeys(`- { name: a, sha256: "${key}" }`)).toEqual([
      expect.stringMatching(/\[0\]\.sha256: this is a key, which must stand in no file/),
    ]);
    expect(await ofKeys(`- { name: a, sha256: "${digestOfApiKey(key)}" }`)).toEqual([]);
  });

  it('with a line that is over is a warning', async () => {
    expect(await ofKeys(`- { name: a, sha256: "${DIGEST}", not_after: 2020-01-31T00:00:00Z }`)).toEqual([
      expect.stringMatching(/\[0\]\.not_after: is over: this key is refused/),
    ]);
  });
});

describe('api_keys', () => {
  it.each([
    'Authorization',
    'host',
    'X-Forwarded-For',
    'Connection',
    'X-Request-Id',
    'Via',
    'Cookie',
    'x_forwarded_for',
    'dpop',
    'Content-Type',
    'grpc-timeout',
    'Max-Forwards',
    'traceparent',
    'Sec-WebSocket-Protocol',
    'Origin',
    'Access-Control-Request-Method',
  ])('cannot come in %s', async header => {
    expect(await found({ apiKeys: `, header: ${header}` })).toContainEqual(
      expect.stringMatching(/api_keys\.header: ".*" has a meaning of its own/),
    );
  });

  it('without a provider may have identity_headers, and nothing else of access_tokens', async () => {
    const more = 'access_tokens: { identity_headers: { X-User: sub } }';
    expect(await found({ more })).toEqual(await found({}));
    expect(
      await found({ more: 'access_tokens: { identity_headers: { X-User: sub }, leeway: 1m }' }),
    ).toContainEqual(
      expect.stringMatching(/access_tokens: "leeway" has no effect without "identity_provider"/),
    );
  });

  it('need a field that nobody else writes', async () => {
    const provider = 'identity_provider: { issuer: "https://id" }\n';
    const tokens = (more: string) => `${provider}access_tokens: { audience: api, ${more} }`;
    const trusted = '\ntrusted_proxies: [10.0.0.0/8]';
    for (const more of [
      tokens('identity_headers: { X_Api-Key: sub }'),
      `${tokens('certificate_field: x-api-key')}${trusted}`,
      'forwarding_headers: { remove: [X-API-Key] }',
    ])
      expect(await found({ more }), more).toContainEqual(expect.stringContaining('api_keys: '));
    expect(await found({ route: `${ROUTE}, request_headers: { set: { X-Api-Key: a } }` })).toContainEqual(
      expect.stringContaining('clients send API keys in it'),
    );
  });

  it('are of no use where no route accepts them', async () => {
    expect(await found({ route: 'authentication: none' })).toEqual([
      expect.stringMatching(/"api_keys" has no effect: no route says/),
    ]);
  });

  it('give the classes of their lines to limits.yaml, and callers to its lists', async () => {
    const keys = `- { name: a, class: partner, bot: true, sha256: "${DIGEST}" }`;
    const limits = `never_restrict: [{ key: a }]
blocked: { callers: [{ key: b }] }
buckets: { all: { scope: user, user: 1/1s, bot: 2/1s, classes: { partner: 3/1s } } }
routes: { /**: all }
`;
    expect(await found({ keys, limits })).toEqual([]);
    const { loaded } = await load({ keys, limits });
    expect(loaded.ok && [...loaded.snapshot.limits.neverRestrict.callers]).toEqual(['key:a']);
    expect(await found({ keys, limits: limits.replace('key: a', 'name: a') })).toContainEqual(
      expect.stringContaining('{ key } for an API key'),
    );
    expect(await found({ keys, limits: limits.replace('partner:', 'other:') })).toContainEqual(
      expect.stringContaining('"other" has no effect'),
    );
  });
});

describe('accept of a route', () => {
  it.each<[string, Written, RegExp]>([
    ['without keys', { route: ROUTE, more: '' }, /accept: there is no "api_keys"/],
    [
      'beside none',
      { route: `${ROUTE}, authentication: none` },
      /accept: has no effect with "authentication: none"/,
    ],
    [
      'of claims',
      { route: `${ROUTE}, require: { claims: { a: b } }` },
      /require\.claims: no caller could meet it/,
    ],
    [
      'with introspection',
      { route: `${ROUTE}, introspection: true` },
      /introspection: has no effect without "token"/,
    ],
    ['of nothing', { route: 'accept: []' }, /accept: an empty list lets nobody in/],
    ['twice', { route: 'accept: [api_key, api_key]' }, /accept\[1\]: "api_key" is listed twice/],
    [
      'of tokens without a provider',
      { route: 'accept: [token, api_key]' },
      /there is no "identity_provider" to check it/,
    ],
  ])('is wrong %s', async (_, written, message) => {
    const isWithout = message.source.includes('there is no "api_keys"');
    const { found: diagnostics } = await load(written);
    if (!isWithout) expect(diagnostics).toContainEqual(expect.stringMatching(message));
    else {
      const text =
        'upstreams: { api: { url: "http://api" } }\nroutes: [{ path: /**, upstream: api, accept: [api_key] }]\n';
      const loaded = await loadFiles({ 'gateway.yaml': text });
      expect(loaded.ok ? [] : loaded.diagnostics.map(formatDiagnostic)).toContainEqual(
        expect.stringMatching(message),
      );
    }
  });
});

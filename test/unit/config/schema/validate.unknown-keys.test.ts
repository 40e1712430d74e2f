import { describe, expect, it } from 'vitest';
import { diagnosticsIn, diagnosticsOf, loadFiles, NEEDED } from '../../../support/config-text.ts';

describe('an unknown key', () => {
  it.each([
    // Where it belongs instead, when nothing near is spelt like it.
    [
      'a key of a section at the top',
      'admin: 127.0.0.1:1\n',
      '1:1: unknown key "admin": it belongs in "listen"',
    ],
    [
      'a key of the top in a section',
      'log: { trusted_proxies: [] }\n',
      '1:8: log: unknown key "trusted_proxies": it belongs at the top of the file, without an indent',
    ],
    [
      'a key of every upstream',
      'max_requests: 5\n',
      '1:1: unknown key "max_requests": it belongs in "upstreams.NAME"',
    ],
    ['a key of a route', 'webhook: true\n', '1:1: unknown key "webhook": it belongs in an entry of "routes"'],
    [
      'a key of two places',
      'first_byte: 5s\n',
      '1:1: unknown key "first_byte": it belongs in "upstreams.NAME.timeouts" or in "routes.timeouts"',
    ],
    ['a key of limits.yaml', 'buckets: {}\n', '1:1: unknown key "buckets": it belongs in limits.yaml'],
    [
      'a key of a section of limits.yaml',
      'restrict_for: 10m\n',
      '1:1: unknown key "restrict_for": it belongs in "invalid_requests" of limits.yaml or in "webhook_not_found" of limits.yaml',
    ],
    ['a key that there is nowhere', 'soap: {}\n', '1:1: unknown key "soap"'],
    // What is wrong beside its spelling.
    [
      'no space after its ":"',
      'log: { access:false }\n',
      '1:8: log: unknown key "access:...", did you mean "access"?',
    ],
    [
      'no space before the map behind it',
      'log:{ access: false }\n',
      '1:1: unknown key "log:...", did you mean "log"?',
    ],
    [
      '"=" for its ":"',
      'log: { access=false }\n',
      '1:8: log: unknown key "access=...", did you mean "access"?',
    ],
    [
      'no space after the "-" of its item',
      'log:\n  -access: false\n',
      '2:3: log: unknown key "-access", did you mean "access"?',
    ],
    [
      'a no-break space before it',
      'log:\n \u00a0access: false\n',
      '2:2: log: unknown key "\u00a0access": U+00A0 looks like a space but is not one: type a space',
    ],
    [
      'a zero-width space behind it',
      'log\u200b: {}\n',
      '1:1: unknown key "log\u200b": U+200B looks like a space but is not one: type a space',
    ],
  ])('is told with what is meant: %s', async (_, text, diagnostic) => {
    expect(await diagnosticsIn(`${text}${NEEDED}`)).toEqual([diagnostic]);
  });

  const BUCKET =
    'limits stand in limits.yaml: a bucket such as { user: 20/5s }, and a line of "routes" that names it';

  it.each([
    ['services: {}\n', '1:1: unknown key "services": write "upstreams"'],
    ['rate_limit: {}\n', `1:1: unknown key "rate_limit": ${BUCKET}`],
    // A section that says something else by the same word.
    ['cors: { headers: [X-A] }\n', '1:9: cors: unknown key "headers"'],
  ])("in another gateway's words is told with ours: %s", async (text, diagnostic) => {
    expect(await diagnosticsIn(`${text}${NEEDED}`)).toContain(diagnostic);
  });

  it.each([
    ['location', ': write path: /v1/things, with /** at its end for everything below'],
    ['proxy_pass', ': name the upstream: "upstream"'],
    ['strip_path', ': write strip_prefix: /api'],
    ['plugins', ': plug-ins are not there yet, see docs/configuration.md#not-there-yet'],
    ['limit', `: ${BUCKET}`],
    ['scope', ''],
    ['webhok', ', did you mean "webhook"?'],
  ])('of a route: %s', async (key, hint) => {
    const text = NEEDED.replace('path:', `${key}: x, path:`);
    const [message = '', ...others] = await diagnosticsIn(text);
    expect(others).toEqual([]);
    expect(message.replace(/^[\d:]+ /, '')).toBe(`routes[0]: unknown key "${key}"${hint}`);
  });

  it.each([
    ['servers: [a]', 'upstreams.api: unknown key "servers": list the addresses under "urls": ["http://'],
    ['weight: 2', 'upstreams.api: unknown key "weight": it belongs in an entry of "upstreams.NAME.urls"'],
    ['port: 1', 'upstreams.api: unknown key "port": host and port are one value'],
    ['retries: 3', 'unknown key "retries": leave it out: docs/upstreams.md#when-an-endpoint-fails says'],
  ])('of an upstream: %s', async (key, message) => {
    expect(await diagnosticsIn(NEEDED.replace('url:', `${key}, url:`))).toEqual([
      expect.stringContaining(message),
    ]);
  });

  it('is told without advice where the word means nothing', async () => {
    const told = await diagnosticsIn(NEEDED.replace('url:', 'prefix: /a, url:'));
    expect(told).toEqual([expect.stringMatching(/upstreams\.api: unknown key "prefix"$/)]);
  });

  it('of the TLS of an upstream', async () => {
    const text = NEEDED.replace('http://api:3000"', 'https://api", tls: { insecure_skip_verify: true }');
    expect(await diagnosticsIn(text)).toEqual([
      expect.stringContaining('write ca_file with the certificate of its authority, or verify: false'),
    ]);
  });

  it('of a bucket, and of limits.yaml itself', async () => {
    const files = {
      'gateway.yaml': `${NEEDED}limits: limits.yaml\n`,
      'limits.yaml': 'buckets: { a: { user: 1/1s, burst: 5 } }\nroutes: { /v1: a }\nrate_limits: {}\n',
    };
    const told = diagnosticsOf(await loadFiles(files));
    expect(told).toContainEqual(expect.stringContaining('unknown key "burst": write "algorithm: smooth"'));
    expect(told).toContainEqual(expect.stringContaining('unknown key "rate_limits": write "buckets"'));
  });

  it.each(['invalid_requests', 'webhook_not_found', 'ignored_refusals'])(
    'of a rule that restricts, if it is shadow, is told with the reason: %s',
    async rule => {
      const files = {
        'gateway.yaml': `${NEEDED}limits: limits.yaml\n`,
        'limits.yaml': `${rule}: { shadow: true }\n`,
      };
      expect(diagnosticsOf(await loadFiles(files))).toContainEqual(
        expect.stringContaining(
          `${rule}: unknown key "shadow": a restriction cannot be tried in shadow, since`,
        ),
      );
    },
  );

  it('of limits.yaml may belong in gateway.yaml', async () => {
    const files = {
      'gateway.yaml': `${NEEDED}limits: limits.yaml\n`,
      'limits.yaml': 'upstreams: {}\nurl: x\n',
    };
    expect(diagnosticsOf(await loadFiles(files))).toEqual([
      'limits.yaml:1:1: unknown key "upstreams": it belongs in gateway.yaml',
      'limits.yaml:2:1: unknown key "url": it belongs in "upstreams.NAME" of gateway.yaml or in an entry of "upstreams.NAME.urls" of gateway.yaml',
    ]);
  });
});

describe('very many errors', () => {
  const MANY = Array.from({ length: 5_000 }, (_, index) => `k${index}: 1\n`).join('');

  it('are reported up to two hundred, with the number of the rest', async () => {
    const diagnostics = await diagnosticsIn(`${MANY}${NEEDED}`);
    expect(diagnostics).toHaveLength(201);
    expect(diagnostics.slice(-2)).toEqual([
      '200:1: unknown key "k199"',
      '200:1: and 4800 more below, not shown: is this the right file?',
    ]);
  });

  it('do not hide behind very many warnings', async () => {
    const lines = Array.from({ length: 300 }, (_, index) => `  /v1/${index}: b\n`).join('');
    const files = {
      'gateway.yaml': `${NEEDED.replace('/**', '/v2')}limits: limits.yaml\n`,
      'limits.yaml': `buckets: { b: { user: 5/5s } }\nroutes:\n${lines}keys_per_caller: 0\n`,
    };
    const diagnostics = diagnosticsOf(await loadFiles(files));
    expect(diagnostics).toHaveLength(202);
    expect(diagnostics.at(-1)).toContain('keys_per_caller: expected a whole number');
  });
});

import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { type JsonSchema, jsonSchemaOf } from '../../../../src/config/index.ts';
import { parseRoutePattern } from '../../../../src/config/routing/index.ts';
import { parseHost } from '../../../../src/config/values/index.ts';
import { parseLimitRoute } from '../../../../src/config/values/patterns.ts';
import { parseQuota } from '../../../../src/limits/index.ts';
import { NEEDED } from '../../../support/config-text.ts';

const schema = jsonSchemaOf('gateway');

const validators = new Map<JsonSchema, z.ZodType>();

/** Paths of what a file would get wrong by the JSON Schema alone. */
function refusedIn(text: string, by: JsonSchema = schema): string[] {
  const validator = validators.get(by) ?? z.fromJSONSchema(by as Parameters<typeof z.fromJSONSchema>[0]);
  validators.set(by, validator);
  const result = validator.safeParse(parse(text));
  return (result.error?.issues ?? []).map(issue => issue.path.join('.'));
}

/** Every schema within, by the path of its keys. */
function* parts(part: JsonSchema, path = ''): Generator<readonly [string, JsonSchema]> {
  yield [path, part];
  for (const [key, child] of Object.entries(part.properties ?? {}))
    yield* parts(child as JsonSchema, `${path}.${key}`);
  for (const child of [part.items, part.additionalProperties]) {
    if (typeof child === 'object' && child !== null) yield* parts(child as JsonSchema, `${path}.*`);
  }
  for (const way of part.anyOf ?? []) {
    for (const [inner, child] of parts(way, path)) if (inner !== path) yield [inner, child];
  }
}

/** Hosts of routes, sound ones and others. */
const HOSTS = [
  ...[
    'api.example.com',
    'API.example.com',
    'a_b.test',
    'localhost',
    'intranet',
    'intranet.',
    'api.example.com.',
  ],
  ...['*.example.com', '*.com', '[::1]', '192.0.2.7', 'xn--bcher-kva.example.com'],
  ...[
    '*',
    '*.',
    '**.a',
    'a.*.b',
    'a*.b',
    '.a.b',
    'a..b',
    'a.b:80',
    'a.b..',
    'a@b.c',
    'b\u00fccher.test',
    'a%2eb.c',
  ],
  ...['http://a.b', '{a}.b', 'a b.c', '*.*.a', '*.[::1]'],
];

/** Paths of routes, sound ones and others. */
const PATHS = [
  ...[
    '/',
    '/**',
    '/v1',
    '/v1/',
    '/v1/**',
    '/v1/**/',
    '/{id}',
    '/v1/{a}/x/{_b2}/**',
    '/...',
    '/.well-known',
    '/a:b',
  ],
  ...["/a!$&'()+,=:@~_-.b", '/%20', '/%C3%A9', '/a%2Cb'],
  ...[
    '',
    'v1',
    '//',
    '/v1//x',
    '/./x',
    '/../x',
    '/..',
    '/v1/*',
    '/v1/*.json',
    '/**/x',
    '/:id',
    '/a b',
    '/a?b',
    '/a#b',
  ],
  ...[
    '/a;b',
    '/a\\\\b',
    '/é',
    '/{id',
    '/{}',
    '/{1}',
    '/{a-b}',
    '/x{id}',
    '/%2f',
    '/%',
    '/%4',
    '/a%zz',
    '^/v1/.*$',
    '/v1/(.*)*',
  ],
];

function isSound(read: () => unknown): boolean {
  try {
    read();
    return true;
  } catch {
    return false;
  }
}

const PROVIDER =
  'issuer: https://id.example.com, client_id: gateway, redirect_uri: https://app.example.com/cb';

describe('the JSON Schema of gateway.yaml', () => {
  it('is of draft 7, which every editor understands', () => {
    expect(schema.$schema).toBe('http://json-schema.org/draft-07/schema#');
  });

  it('accepts the shipped configuration', async () => {
    expect(refusedIn(await readFile('config/gateway.yaml', 'utf8'))).toEqual([]);
  });

  it.each([
    ['an unknown key', `foo: 1\n${NEEDED}`],
    ['an unknown key in a section', `log: { foo: 1 }\n${NEEDED}`],
    ['a missing key', 'upstreams: {}\n'],
    ['a wrong type', `log: { access: 1 }\n${NEEDED}`],
    ['a word that is none of those', `log: { level: loud }\n${NEEDED}`],
    ['a time without a unit', `timeouts: { keep_alive: "75" }\n${NEEDED}`],
    ['a number that is too large', `caps: { fields: 1001 }\n${NEEDED}`],
    ['a name that is none', `upstreams: { "a b": { url: "http://a" } }\nroutes: []\n`],
    [
      'a secret that is written down',
      `identity_provider: { ${PROVIDER}, client_secret: hunter2 }\n${NEEDED}`,
    ],
    ['an unknown key of the rule for bots', `access_tokens: { audience: any, bots: { clam: x } }\n${NEEDED}`],
    ['a moment that is not one', `access_tokens: { audience: any, not_before: today }\n${NEEDED}`],
    [
      'a method that is none',
      `upstreams: {}\nroutes: [{ path: /, upstream: a, authentication: none, methods: [G T] }]\n`,
    ],
  ])('refuses %s', (_, text) => {
    expect(refusedIn(text)).not.toEqual([]);
  });

  it('has the id by which the shipped file names it', async () => {
    expect(schema.$id).toBe('gateway.schema.json');
    expect(await readFile('config/gateway.yaml', 'utf8')).toContain(
      `\n# yaml-language-server: $schema=${schema.$id}\n`,
    );
  });

  it('takes a path exactly as the gateway does', () => {
    for (const path of PATHS) {
      const text = `upstreams: {}\nroutes: [{ path: ${JSON.stringify(path)}, upstream: a, authentication: none }]\n`;
      const accepted = refusedIn(text).length === 0;
      expect(accepted, path).toBe(isSound(() => parseRoutePattern(path, null)));
    }
  });

  it('takes a host exactly as the gateway does', () => {
    for (const host of HOSTS) {
      const text = `upstreams: {}\nroutes: [{ path: /, hosts: [${JSON.stringify(host)}], upstream: a, authentication: none }]\n`;
      expect(refusedIn(text).length === 0, host).toBe(isSound(() => parseHost(host)));
    }
  });

  it('accepts a variable in the place of a number, of true and of false', () => {
    const text = `
upstreams: { api: { url: "http://a", max_requests: "\${A}" } }
routes: [{ path: /, upstream: a, webhook: "\${A}", close_at_expiry: "\${A}", cors: "\${A}" }]
caps: { fields: "\${A}", limit_keys: "\${A}" }
log: { access: "\${A}" }
metrics: { route_durations: "\${A}" }
store: { redis: "redis://a", replicas: "\${A}" }
`;
    expect(refusedIn(text)).toEqual([]);
    for (const wrong of ['fields: "200"', 'fields: 0', 'fields: 1001', 'fields: 2.5', 'fields: true'])
      expect(refusedIn(`caps: { ${wrong} }\n${NEEDED}`), wrong).not.toEqual([]);
  });

  it('accepts a variable wherever text may stand', () => {
    const text = `
listen: { http: "\${A}", admin: "\${A}" }
trusted_proxies: ["\${A}"]
forwarding_headers: ["\${A}"]
upstreams:
  api: { url: "http://\${A}:\${B}", host: "\${A}", timeouts: { connect: "\${A}" }, max_head: "\${A}" }
routes:
  - { path: "/\${A}", hosts: ["\${A}", "\${A}.test"], methods: ["\${A}"], upstream: "\${A}", authentication: "\${A}", max_body: "\${A}" }
log: { level: "\${A}" }
identity_provider:
  issuer: "\${A}"
  client_id: "\${A}"
  client_authentication: "\${A}"
  client_secret: "\${A}"
  redirect_uri: "\${A}"
  redirect_uris: ["\${A}"]
  timeout: "\${A}"
  tls: { ca_file: "\${A}" }
access_tokens:
  audience: "\${A}"
  principal: ["\${A}"]
  bots: { claim: "\${A}", value: "\${A}" }
  identity_headers: { X-Caller: "\${A}" }
  schemes: ["\${A}"]
  leeway: "\${A}"
  not_before: "\${A}"
limits: "\${A}"
`;
    expect(refusedIn(text)).toEqual([]);
  });

  it('accepts each way to write what may be written in several', () => {
    for (const tokens of [
      'bots: none, not_before: none',
      'bots: { claim: client_id, value: true }, not_before: 1790000000',
      'bots: { claim: client_id, value: 7 }, not_before: 2026-01-31T12:00:00Z',
    ]) {
      expect(refusedIn(`access_tokens: { audience: any, ${tokens} }\n${NEEDED}`)).toEqual([]);
    }
    for (const uris of ['any', '[]', '["https://app.example.com/other"]']) {
      expect(refusedIn(`identity_provider: { ${PROVIDER}, redirect_uris: ${uris} }\n${NEEDED}`)).toEqual([]);
    }
  });

  it('describes every key', () => {
    const silent = [...parts(schema)].filter(
      ([path, { description }]) => !/(^|\*)$/.test(path) && !description,
    );
    expect(silent.map(([path]) => path)).toEqual([]);
  });

  it('knows no key but those of the sections below', () => {
    expect([...parts(schema)].map(([path]) => path).filter(path => /^\.\w+$/.test(path))).toEqual([
      '.listen',
      '.workers',
      '.trusted_proxies',
      '.forwarding_headers',
      '.identity_provider',
      '.access_tokens',
      '.identity_providers',
      '.api_keys',
      '.sign_in',
      '.protected_resource',
      '.upstreams',
      '.defaults',
      '.routes',
      '.cors',
      '.error_pages',
      '.store',
      '.state',
      '.limits',
      '.timeouts',
      '.min_read_rate',
      '.caps',
      '.http2',
      '.shutdown',
      '.warm_up',
      '.log',
      '.tracing',
      '.metrics',
    ]);
  });
});

describe('the JSON Schema of limits.yaml', () => {
  const ofLimits = jsonSchemaOf('limits');

  it('is of draft 7, too, and describes every key', () => {
    expect(ofLimits.$schema).toBe('http://json-schema.org/draft-07/schema#');
    const silent = [...parts(ofLimits)].filter(
      ([path, { description }]) => !/(^|\*)$/.test(path) && !description,
    );
    expect(silent.map(([path]) => path)).toEqual([]);
  });

  it('has the id by which the shipped file names it', async () => {
    expect(ofLimits.$id).toBe('limits.schema.json');
    expect(await readFile('config/limits.yaml', 'utf8')).toContain(
      `\n# yaml-language-server: $schema=${ofLimits.$id}\n`,
    );
  });

  it('takes a quota as the gateway does, but for periods that are too long', () => {
    const numbers = ['', '0', '1', '07', '9', '10', '59999', '999999999', '1000000000', '1000000001', '1e3'];
    const periods = [
      ...['s', '1s', '0s', '01s', '59s', '2678400s', '99999999s', '1', '1ms', '1.5m', '1m', '44640m', '744h'],
      ...['1d', '31d', 'day', 'week', 'month', 'year', '1day'],
    ];
    const quotas = numbers.flatMap(number => periods.map(period => `${number}/${period}`));
    expect(refusedIn('buckets: { b: { user: 5/32d } }', ofLimits)).toEqual([]);
    for (const quota of [
      ...quotas,
      '5',
      '5/',
      '/5s',
      '5/5s/5s',
      '5 / 5s',
      ' 5/5s',
      '5/5s\n',
      'off',
      'OFF',
      '-5/5s',
    ]) {
      const bucket = refusedIn(JSON.stringify({ buckets: { b: { user: quota } } }), ofLimits).length === 0;
      expect(bucket, quota).toBe(isSound(() => parseQuota(quota)));
      const global = refusedIn(JSON.stringify({ global: { user: quota } }), ofLimits).length === 0;
      expect(global, quota).toBe(bucket || quota === 'off');
    }
    expect(refusedIn(`global: { bot: "\${A}" }\nfailed_verifications: "\${B}"\n`, ofLimits)).toEqual([]);
  });

  it('takes the line of a route exactly as the gateway does', () => {
    const methods = [
      '',
      'GET ',
      'GET  ',
      'M-SEARCH ',
      'get ',
      'GET,POST ',
      'TRACE ',
      'CONNECT ',
      'NONE ',
      'BREW ',
      'get-pot ',
      'Trace ',
      'any ',
      '* ',
      ' ',
      'GET',
    ];
    const lines = [...methods.flatMap(method => PATHS.map(path => method + path)), 'GET /a/b c', '/a '];
    const ofHosts = ['', 'GET '].flatMap(method => HOSTS.map(host => `${method}${host}/v1`));
    const ofCalls = HOSTS.filter(host => /[.*]|localhost/.test(host)).map(host => `GRPC ${host}/a.B/C`);
    for (const line of [...lines, ...ofHosts, ...ofCalls]) {
      const accepted = refusedIn(JSON.stringify({ routes: { [line]: 'b' } }), ofLimits).length === 0;
      expect(accepted, line).toBe(isSound(() => parseLimitRoute(line)));
    }
  });

  it('accepts the shipped file', async () => {
    expect(refusedIn(await readFile('config/limits.yaml', 'utf8'), ofLimits)).toEqual([]);
  });

  it('refuses an unknown key and a number where text is expected', () => {
    expect(refusedIn('foo: 1\n', ofLimits)).not.toEqual([]);
    expect(refusedIn('failed_verifications: 1000\n', ofLimits)).not.toEqual([]);
  });
});

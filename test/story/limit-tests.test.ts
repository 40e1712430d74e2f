import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCommandLine } from '../../src/cli/index.ts';
import { jsonSchemaOf } from '../../src/config/index.ts';
import { tempFolder } from '../support/temp.ts';

const LIMITS = `global: { user: 4/1s }
buckets: { files: { main: id, user: 2/5s, resource: 3/10s } }
routes: { "GET /files/{id}": files }
`;

async function weir(...words: readonly string[]) {
  const [out, err]: [string[], string[]] = [[], []];
  const code = await runCommandLine(words, {
    env: {},
    out: text => void out.push(text),
    err: text => void err.push(text),
  });
  return { code, out: out.join(''), err: err.join('') };
}

const GATEWAY = `identity_provider: { issuer: "https://id.example.com", client_id: weir, client_secret: "\${SECRET}", redirect_uri: "https://app.example.com/cb" }
access_tokens: { audience: api, principal: [tenant, sub], bots: { claim: kind, value: bot, principal: [sub] } }
listen: { http: { address: "127.0.0.1:0", tls: { certificates: [{ certificate_file: none.pem, key_file: none.pem }] } } }
store: { redis: "rediss://redis", password: "\${SECRET}" }
upstreams: { api: { url: "https://api", tls: { ca_file: none.pem } }, calls: { url: "http://calls", protocol: grpc } }
limits: limits.yaml
caps: { limit_keys: 2000 }
routes:
  - { path: "/files/{id}", methods: [GET], upstream: api }
  - { path: /open/**, upstream: api, authentication: none, global_limit: exempt }
  - { path: "/hooks/{id}", upstream: api, authentication: none, webhook: true }
  - { grpc: a.B/*, upstream: calls, authentication: optional }
`;

/** Runs one test with these requests against the limits above. */
async function test(...requests: readonly string[]) {
  return testWith({ 'limits.yaml': LIMITS }, '', requests);
}

/** The same behind the gateway above, with these further limits. */
async function testBehind(more: string, ...requests: readonly string[]) {
  const files = { 'gateway.yaml': GATEWAY, 'limits.yaml': `${LIMITS}${more}` };
  return testWith(files, 'gateway: gateway.yaml\n', requests);
}

async function testWith(files: Readonly<Record<string, string>>, named: string, requests: readonly string[]) {
  const folder = await tempFolder();
  const list = requests.map(request => `      - ${request}\n`).join('');
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  await writeFile(join(folder, 'a.yaml'), `${named}tests:\n  - name: it is so\n    requests:\n${list}`);
  const ended = await weir('test', join(folder, 'a.yaml'));
  return {
    ...ended,
    out: ended.out.replaceAll(`${folder}/`, ''),
    err: ended.err.replaceAll(`${folder}/`, ''),
  };
}

const ALICE = 'by: { user: [web, alice] }, send: GET /files/1';

describe('weir test', () => {
  it('sends further claims in the token of a caller, for routes that require some', async () => {
    const route = '{ path: "/rights/{id}", upstream: api, require: { scopes: [read], roles: [clerk] } }';
    const by = 'by: { user: [web, alice], claims: { scope: read, realm_access: { roles: [clerk] } } }';
    const files = { 'gateway.yaml': `${GATEWAY}  - ${route}\n`, 'limits.yaml': LIMITS };
    const requests = [
      `{ ${by}, send: GET /rights/1, repeat: 4, expect: { outcome: admitted } }`,
      // It is the same caller with other claims: its global limit is used up.
      '{ by: { user: [web, alice] }, send: GET /rights/1, expect: { outcome: global } }',
      '{ at: 2s, by: { user: [web, alice] }, send: GET /rights/1, expect: { outcome: refused, status: 403, bucket: none } }',
      '{ by: { user: [web, alice], claims: { scope: read } }, send: GET /rights/1, expect: { outcome: refused } }',
    ];
    expect(await testWith(files, 'gateway: gateway.yaml\n', requests)).toMatchObject({ code: 0 });
  });

  it('passes the tests that ship with the example', async () => {
    expect(await weir('test', 'config/limits.test.yaml')).toEqual({ code: 0, out: '7 passed\n', err: '' });
  });

  it('passes the tests of plans and prices in its document', async () => {
    const document = await readFile('docs/changing-limits.md', 'utf8');
    const folder = await tempFolder();
    for (const name of ['limits.yaml', 'limits.test.yaml']) {
      const [, text] = document.split(`\n# ${name}\n`);
      await writeFile(join(folder, name), text?.slice(0, text.indexOf('```')) ?? '');
    }
    const ended = await weir('test', join(folder, 'limits.test.yaml'));
    expect(ended).toEqual({ code: 0, out: '2 passed\n', err: '' });
  });

  it('draws on the global limit for what no service answers', async () => {
    const ended = await testBehind(
      '',
      '{ by: { user: [acme, alice] }, send: GET /nowhere, repeat: 50, expect: { outcome: refused, status: 404 } }',
      '{ by: { user: [acme, alice] }, send: GET /nowhere, expect: { outcome: global, status: 429 } }',
    );
    expect(ended).toEqual({ code: 0, out: '1 passed\n', err: '' });
  });

  it('decides in virtual time, with the slack of the gateway', async () => {
    const ended = await test(
      `{ ${ALICE}, repeat: 2, expect: { outcome: admitted, bucket: files, limit: 2, remaining: 0, reset_after: 5s } }`,
      `{ at: 4979ms, ${ALICE}, expect: { outcome: bucket, retry_after: 21ms } }`,
      `{ at: 4980ms, ${ALICE}, expect: { outcome: admitted } }`,
    );
    expect(ended).toEqual({ code: 0, out: '1 passed\n', err: '' });
  });

  it('holds no request, whatever the patience of the limits', async () => {
    const ended = await testWith({ 'limits.yaml': `patience: 1s\n${LIMITS}` }, '', [
      `{ ${ALICE}, repeat: 2, expect: { outcome: admitted } }`,
      `{ at: 4500ms, ${ALICE}, expect: { outcome: bucket, retry_after: 500ms } }`,
    ]);
    expect(ended.out).toBe('1 passed\n');
  });

  it('says what would have refused a request if it were not in shadow, or held for all callers', async () => {
    const limits = `global: { user: 9/1s, shadow: { user: 3/1s } }
buckets:
  files: { main: id, user: 2/5s, resource: 1/5s, shadow: true }
  tried: { user: 9/5s, enforce: 1% }
  both: { user: 2/5s, shadow: { user: 1/5s } }
routes: { "GET /files/{id}": files, GET /tried: tried, GET /both: both }
`;
    const by = 'by: { user: [web, alice] }';
    const ended = await testWith({ 'limits.yaml': limits }, '', [
      `{ ${ALICE}, expect: { outcome: admitted, shadow: none } }`,
      `{ ${ALICE}, expect: { outcome: admitted, shadow: resource } }`,
      `{ ${ALICE}, repeat: 2, expect: { outcome: admitted, shadow: [global, resource, bucket] } }`,
      `{ at: 10s, ${by}, send: GET /tried, repeat: 10, every: 400ms, expect: { shadow: bucket } }`,
      `{ at: 20s, ${by}, send: GET /both, repeat: 2, expect: { outcome: admitted, shadow: bucket } }`,
      `{ at: 20s, ${by}, send: GET /both, expect: { outcome: bucket, shadow: none } }`,
      `{ at: 21500ms, ${by}, send: GET /both, repeat: 2, expect: { outcome: bucket } }`,
    ]);
    expect(ended).toEqual({ code: 0, out: '1 passed\n', err: '' });
    const wrong = await testWith({ 'limits.yaml': limits }, '', [
      `{ ${ALICE}, repeat: 4, expect: { shadow: [global, bucket] } }`,
      `{ at: 10s, ${ALICE}, expect: { shadow: resource } }`,
    ]);
    expect(wrong.out.split('\n').slice(1, 3)).toEqual([
      'a.yaml:4:88: expected bucket, global, got bucket, global, resource',
      'a.yaml:5:86: expected resource, got none',
    ]);
    const unknown = await test(`{ ${ALICE}, expect: { shadow: caller } }`);
    expect(unknown.err).toContain(
      'expected global, bucket, group, resource, concurrent, a list of them, or none',
    );
    expect((await test(`{ ${ALICE}, expect: { shadow: [none] } }`)).code).toBe(78);
  });

  it('waits between repetitions', async () => {
    const spread = await test(`{ ${ALICE}, repeat: 4, every: 5s, expect: { outcome: admitted } }`);
    expect(spread.out).toBe('1 passed\n');
  });

  it('tells callers apart, and the limits that refuse', async () => {
    const ended = await test(
      `{ ${ALICE}, repeat: 2, expect: { outcome: admitted } }`,
      '{ by: { bot: [web] }, send: GET /files/1, expect: { outcome: admitted } }',
      '{ by: { address: 192.0.2.7 }, send: GET /files/1, expect: { outcome: resource, retry_after: 10s } }',
      '{ by: { user: [web, alice] }, send: GET /other, repeat: 2, expect: { outcome: admitted, bucket: none } }',
      '{ by: { user: [web, alice] }, send: GET /other, expect: { outcome: global, retry_after: 1s } }',
    );
    expect(ended.out).toBe('1 passed\n');
  });

  it('says at which line and column something else came than expected', async () => {
    const ended = await test(
      `{ at: 1s, ${ALICE}, repeat: 3, expect: { outcome: admitted } }`,
      `{ at: 1s, ${ALICE}, expect: { remaining: 1, retry_after: 4s, bucket: none } }`,
      `{ at: 500ms, ${ALICE}, expect: {} }`,
    );
    expect(ended.code).toBe(1);
    expect(ended.out.split('\n')).toEqual([
      'FAILED: it is so',
      'a.yaml:4:97: expected admitted, got bucket at request 3 of 3',
      'a.yaml:5:116: expected none, got files',
      'a.yaml:5:88: expected 1, got 0',
      'a.yaml:5:104: expected 4s, got 5s',
      'a.yaml:6:15: expected a moment from 1s, when the requests above end, got 500ms',
      '1 failed, 0 passed',
      '',
    ]);
  });

  it('runs behind a gateway.yaml without its secrets, certificates or Redis', async () => {
    const ended = await testBehind(
      '',
      '{ by: { user: [acme, alice] }, send: GET /files/1, expect: { outcome: admitted, status: 200, bucket: files } }',
      '{ by: { bot: [reports] }, send: GET /files/1, expect: { outcome: admitted, remaining: 1 } }',
      '{ by: { user: [acme, alice] }, send: POST /files/1, expect: { outcome: refused, status: 404, bucket: none } }',
      '{ by: { address: 192.0.2.7 }, send: GET /files/1, expect: { outcome: refused, status: 401 } }',
      '{ by: { address: 192.0.2.7 }, send: GET /open/x, repeat: 99, expect: { outcome: admitted, bucket: none } }',
      '{ by: { address: 192.0.2.7 }, send: "GET /open/x;y", expect: { outcome: refused, status: 400 } }',
      '{ by: { user: [acme, alice] }, send: GRPC /a.B/C, expect: { outcome: admitted, headers: { via: 2 weir } } }',
      '{ by: { user: [acme, alice] }, send: GRPC /a.C/C, expect: { outcome: refused, headers: { grpc-status: 12 } } }',
      '{ by: { address: 192.0.2.7 }, send: POST /v1/anonymous/auth, expect: { outcome: admitted, status: 400 } }',
    );
    expect(ended).toEqual({ code: 0, out: '1 passed\n', err: '' });
  });

  it('takes a provider at which the gateway signs with a key that is not here', async () => {
    const gateway = GATEWAY.replace(
      `client_secret: "\${SECRET}"`,
      'client_authentication: private_key_jwt, private_key_file: none.pem',
    );
    expect(gateway).toContain('private_key_jwt');
    const files = { 'gateway.yaml': gateway, 'limits.yaml': LIMITS };
    const ended = await testWith(files, 'gateway: gateway.yaml\n', [
      '{ by: { user: [acme, alice] }, send: GET /files/1, expect: { outcome: admitted } }',
      '{ by: { address: 192.0.2.7 }, send: POST /v1/anonymous/auth, expect: { outcome: admitted, status: 400 } }',
    ]);
    expect(ended).toEqual({ code: 0, out: '1 passed\n', err: '' });
  });

  it('knows the callers of each provider', async () => {
    const provider = (name: string, more: string) =>
      `{ name: ${name}, issuer: "https://${name}.example.com", audience: api, ${more} }`;
    const gateway = `identity_providers: [${provider('main', 'bots: { claim: bot }')}, ${provider('partners', 'principal: [sub]')}]
access_tokens: {}
${GATEWAY.split('\n').slice(2).join('\n')}`;
    const files = { 'gateway.yaml': gateway, 'limits.yaml': LIMITS };
    const ended = await testWith(files, 'gateway: gateway.yaml\n', [
      '{ by: { user: [web, alice] }, send: GET /files/1, repeat: 2, expect: { outcome: admitted, remaining: 0 } }',
      '{ by: { provider: partners, user: [alice] }, send: GET /files/1, expect: { outcome: admitted, remaining: 1 } }',
      '{ by: { provider: main, bot: [web] }, send: GET /files/2, expect: { outcome: admitted, remaining: 1 } }',
      '{ by: { provider: partners, bot: [web] }, send: GET /files/2, expect: {} }',
      '{ by: { provider: nobody, user: [web] }, send: GET /files/2, expect: {} }',
    ]);
    expect(ended.err).toBe('');
    expect(ended.out.split('\n').slice(0, 3)).toEqual([
      'FAILED: it is so',
      'a.yaml:8:42: the configuration knows no bots',
      'a.yaml:9:27: the configuration has no provider "nobody"',
    ]);
  });

  it('says what a test expects of callers whom the configuration does not know', async () => {
    const ended = await testBehind(
      '',
      '{ by: { user: [alice] }, send: GET /files/1, expect: {} }',
      '{ by: { bot: [web, reports] }, send: GET /files/1, expect: { outcome: admitted } }',
      '{ by: { address: 192.0.2.7 }, send: GET /files/1, expect: { outcome: admitted } }',
    );
    expect(ended.out.split('\n').slice(1, 4)).toEqual([
      'a.yaml:5:23: expected the values of tenant and sub, got 1',
      'a.yaml:6:22: expected the values of sub, got 2',
      'a.yaml:7:78: expected admitted, got refused: 401, A valid access token is required: Authorization: Bearer <token>.',
    ]);
  });

  it('tells who is blocked, and who is restricted and for how long', async () => {
    const ended = await testBehind(
      `blocked: { addresses: [203.0.113.0/24], callers: [{ tenant: acme, subject: mallory }] }
invalid_requests: { limit: 2/10m, restrict_for: 1m }
webhook_not_found: { limit: 1/10m, restrict_for: 2m }
ignored_refusals: { limit: 1/10m, restrict_for: 3m }
`,
      '{ by: { address: 203.0.113.7 }, send: GET /open/x, expect: { outcome: blocked, headers: { Retry-After: 65535, Via: none } } }',
      '{ by: { user: [acme, mallory] }, send: GET /files/1, expect: { outcome: blocked, headers: { Via: 1.1 weir } } }',
      // The third request that its service refuses is the last one that reaches it.
      '{ by: { address: 192.0.2.7, user: [acme, bob] }, send: GET /files/7, every: 5s, repeat: 3, answer: 403, expect: { outcome: admitted, status: 403 } }',
      '{ by: { address: 192.0.2.7 }, send: GET /open/x, expect: { outcome: restricted, retry_after: 1m, status: 429 } }',
      '{ at: 70s, by: { address: 192.0.2.7 }, send: GET /open/x, expect: { outcome: admitted } }',
      '{ by: { address: 192.0.2.8 }, send: GET /hooks/1, repeat: 2, answer: 404, expect: { outcome: admitted } }',
      '{ by: { address: 192.0.2.8 }, send: GET /hooks/1, expect: { outcome: restricted, retry_after: 2m } }',
      '{ by: { address: 192.0.2.8 }, send: GET /hooks/2, expect: { outcome: admitted } }',
      '{ at: 80s, by: { user: [acme, eve] }, send: GET /files/8, repeat: 2, expect: { outcome: admitted } }',
      '{ by: { user: [acme, eve] }, send: GET /files/8, expect: { outcome: bucket } }',
      '{ at: 82s, by: { user: [acme, eve], address: 192.0.2.9 }, send: GET /files/8, repeat: 2, expect: { outcome: bucket } }',
      '{ by: { user: [acme, eve], address: 192.0.2.10 }, send: GET /open/x, expect: { outcome: admitted } }',
      '{ by: { user: [acme, eve], address: 192.0.2.10 }, send: GET /files/9, expect: { outcome: restricted, retry_after: 3m } }',
    );
    expect(ended).toEqual({ code: 0, out: '1 passed\n', err: '' });
  });

  it('compares headers exactly, and says at which line one differs', async () => {
    const told = (headers: string) => `{ ${ALICE}, expect: { headers: { ${headers} } } }`;
    const ended = await testWith({ 'limits.yaml': `headers: [x-ratelimit, ratelimit]\n${LIMITS}` }, '', [
      told(
        'X-RateLimit-Limit: 2, x-ratelimit-reset-after: "5.000", X-RateLimit-Scope: user, Retry-After: none',
      ),
      told(`RateLimit-Policy: '"files";q=2;w=5, "files/resource";q=3;w=10, "global";q=4;w=1', Via: 1.1 weir`),
      told(
        'Retry-After: 5, Content-Type: application/json, Cache-Control: no-store, X-RateLimit-Remaining: 0',
      ),
      told('Retry-After: 4, X-RateLimit-Global: true, Via: none'),
    ]);
    expect(ended.out.split('\n')).toEqual([
      'FAILED: it is so',
      'a.yaml:7:93: expected 4, got 5',
      'a.yaml:7:116: expected true, got none',
      'a.yaml:7:127: expected none, got 1.1 weir',
      '1 failed, 0 passed',
      '',
    ]);
  });

  it('reports the errors of gateway.yaml but for secrets that are not there', async () => {
    const errorsOf = async (change: (text: string) => string) => {
      const files = { 'gateway.yaml': change(GATEWAY), 'limits.yaml': LIMITS };
      return testWith(files, 'gateway: gateway.yaml\n', [`{ ${ALICE}, expect: {} }`]);
    };
    const ended = await errorsOf(text => text.replace('upstream: api }', 'upstream: nowhere }'));
    expect(ended.code).toBe(78);
    expect(ended.err).toMatch(/^gateway\.yaml:9:\d+: routes\[0\]\.upstream: .*nowhere/);
    expect(ended.err).not.toContain('SECRET');
    const unset = await errorsOf(text => text.replace('client_id: weir', `client_id: "\${CLIENT}"`));
    expect(unset.err).toMatch(/^gateway\.yaml:1:\d+: the environment variable CLIENT is not set\n$/);
    expect((await errorsOf(() => LIMITS)).err).toContain('this is a limits file: name it under "limits"');
  });

  it('knows classes, groups and numbers by the claims of its callers', async () => {
    const limits = `buckets:
  exports: { user: { claim: rate, max: 9/1m, otherwise: 2/1m }, classes: { partner: 6/1m }, group: { claim: org, limit: 8/1m } }
routes: { GET /exports: exports }
`;
    const by = (name: string, claims: string) =>
      `by: { user: [web, ${name}], claims: { ${claims} } }, send: GET /exports`;
    const ended = await testWith({ 'limits.yaml': limits }, '', [
      `{ ${by('a', '')}, expect: { limit: 2, outcome: admitted } }`,
      `{ ${by('b', 'rate: 5')}, expect: { limit: 5 } }`,
      `{ ${by('c', 'class: partner, rate: 5')}, expect: { limit: 6 } }`,
      `{ ${by('d', 'class: partner, org: acme')}, repeat: 6, expect: { outcome: admitted } }`,
      `{ ${by('e', 'org: acme')}, repeat: 2, expect: { outcome: admitted } }`,
      `{ ${by('f', 'org: acme')}, expect: { outcome: group, limit: 8 } }`,
      `{ ${by('f', 'org: other')}, expect: { outcome: admitted } }`,
    ]);
    expect(ended.out).toContain('1 passed');
    expect(ended.code).toBe(0);
  });

  it('knows what a line costs', async () => {
    const limits =
      'buckets: { all: { user: 7/5s } }\nroutes: { /cheap: all, /dear: { bucket: all, cost: 5 } }\n';
    const by = 'by: { user: [web, alice] }';
    const ended = await testWith({ 'limits.yaml': limits }, '', [
      `{ ${by}, send: GET /dear, expect: { outcome: admitted, limit: 7, remaining: 2 } }`,
      `{ ${by}, send: GET /dear, expect: { outcome: bucket, remaining: 0, retry_after: 5s } }`,
      `{ ${by}, send: GET /cheap, repeat: 2, expect: { outcome: admitted, remaining: 0 } }`,
    ]);
    expect(ended.out).toBe('1 passed\n');
  });

  it('charges the price that a response tells, in its head or at its end', async () => {
    const limits = `buckets: { all: { user: [9/1m, { limit: 1000/1m, unit: cost }] } }
routes: { "/**": { bucket: all, cost: { response_field: X-Usage, reserve: 100, most: 600 } }, GRPC a.B/C: { bucket: all, cost: { response_field: x-usage, most: 600 } } }
`;
    const by = (name: string) => `by: { user: [web, ${name}] }, send: POST /x`;
    const call = (name: string) => `by: { user: [web, ${name}] }, send: GRPC /a.B/C`;
    const told = async (...requests: readonly string[]) => {
      const { out, err } = await testWith({ 'limits.yaml': limits }, '', requests);
      return out + err;
    };
    expect(
      await told(
        `{ ${by('a')}, answer: { headers: { X-Usage: 250 } }, expect: { outcome: admitted, status: 200, headers: { X-Usage: none } } }`,
        `{ ${by('a')}, answer: { status: 201, headers: { x-usage: 700 } }, expect: { outcome: admitted, status: 201, limit: 9, remaining: 7 } }`,
        `{ ${by('a')}, answer: { headers: { X-Usage: 150 } }, expect: { outcome: admitted, limit: 1000, remaining: 0 } }`,
        `{ ${by('a')}, expect: { outcome: bucket, limit: 1000, retry_after: 1m } }`,
        // A stream tells its price when it ends.
        `{ ${by('b')}, takes: 10s, answer: { trailers: { X-Usage: 600 } }, expect: { outcome: admitted } }`,
        `{ ${by('b')}, takes: 10s, answer: { trailers: { X-Usage: 600 } }, expect: { outcome: admitted } }`,
        `{ at: 9s, ${by('b')}, expect: { outcome: admitted, remaining: 6 } }`,
        `{ at: 10s, ${by('b')}, expect: { outcome: bucket, limit: 1000, remaining: 0, retry_after: 50s } }`,
        `{ ${call('c')}, answer: { headers: { x-usage: 600 } }, expect: { outcome: admitted } }`,
        `{ ${call('c')}, answer: { trailers: { x-usage: 400, grpc-status: 8 } }, expect: { outcome: admitted } }`,
        `{ ${call('c')}, expect: { outcome: bucket, limit: 1000 } }`,
      ),
    ).toBe('1 passed\n');
  });

  it('gives back by the status of a response, also of a call', async () => {
    const limits = `buckets: { all: { user: 2/1m, give_back: [2xx, 503] } }
routes: { "/**": all, GRPC a.B/C: all }
`;
    const by = 'by: { user: [web, alice] }, send: POST /x';
    const call = 'by: { user: [web, bob] }, send: GRPC /a.B/C';
    const ended = await testWith({ 'limits.yaml': limits }, '', [
      `{ ${by}, repeat: 5, expect: { outcome: admitted, remaining: 2 } }`,
      `{ ${by}, repeat: 2, answer: 401, expect: { outcome: admitted, remaining: 0 } }`,
      `{ ${by}, expect: { outcome: bucket } }`,
      `{ ${call}, repeat: 5, answer: { headers: { grpc-status: 14 } }, expect: { outcome: admitted, remaining: 2 } }`,
      `{ ${call}, repeat: 2, answer: { headers: { grpc-status: 16 } }, expect: { outcome: admitted, remaining: 0 } }`,
    ]);
    expect(ended).toEqual({ code: 0, out: '1 passed\n', err: '' });
  });

  it('begins when the test says, so that a day of the calendar ends at its midnight', async () => {
    const folder = await tempFolder();
    const limits =
      'time_zone: Europe/Berlin\nbuckets: { all: { user: [9/1s, 3/day, 4/month] } }\nroutes: { /x: all }\n';
    const by = 'by: { user: [web, alice] }, send: GET /x';
    await writeFile(join(folder, 'limits.yaml'), limits);
    await writeFile(
      join(folder, 'a.yaml'),
      `tests:
  - name: clocks go back in the night of October 25
    starts: 2026-10-25T00:30:00+02:00
    requests:
      - { ${by}, repeat: 3, expect: { outcome: admitted } }
      - { ${by}, expect: { outcome: bucket, limit: 3, retry_after: 1470m, headers: { X-RateLimit-Reset: "1792969200.000" } } }
      - { at: 1469m, ${by}, expect: { outcome: bucket, retry_after: 1m } }
      - { at: 1470m, ${by}, expect: { outcome: admitted, limit: 4, remaining: 0 } }
      - { at: 100h, ${by}, expect: { outcome: bucket, limit: 4, reset_after: 4110m } }
      - { at: 171h, ${by}, expect: { outcome: admitted, limit: 3, remaining: 2 } }
  - name: it begins in the middle of January if it does not say
    requests:
      - { ${by}, repeat: 3, expect: { outcome: admitted } }
      - { ${by}, expect: { outcome: bucket, retry_after: 15h } }
`,
    );
    expect(await weir('test', join(folder, 'a.yaml'))).toEqual({ code: 0, out: '2 passed\n', err: '' });
  });

  it('refuses answers that no service can give, and moments that do not exist', async () => {
    const answered = async (answer: string) =>
      (await test(`{ ${ALICE}, answer: ${answer}, expect: {} }`)).err;
    expect(await answered('{ header: { X-Usage: 1 } }')).toContain(
      'unknown key "header", did you mean "headers"?',
    );
    expect(await answered('ok')).toContain(
      'answer: expected a status such as 404, or a map such as { headers: { X-Usage: 250 } }',
    );
    expect(await answered('{ headers: X-Usage }')).toContain(
      'answer.headers: expected a map such as { X-Usage: 250 }',
    );
    expect(await answered('{ headers: { Content-Length: 5 } }')).toContain('services answer without a body');
    expect(await answered('{ headers: { X-Usage: "1\\n2" } }')).toContain(
      'expected the value of a header field',
    );
    expect(await answered('{ status: 204, trailers: { X-Usage: 5 } }')).toContain(
      'answer.trailers: clients get no body',
    );
    const folder = await tempFolder();
    await writeFile(join(folder, 'limits.yaml'), LIMITS);
    await writeFile(
      join(folder, 'a.yaml'),
      'tests: [{ name: a, starts: 2026-02-30T00:00:00Z, requests: [] }]\n',
    );
    expect((await weir('test', join(folder, 'a.yaml'))).err).toContain(
      'tests[0].starts: expected a moment such as 2026-10-25T00:30:00Z',
    );
  });

  it('knows how many requests of a caller are in flight', async () => {
    const limits = 'buckets: { all: { user: 9/1h, concurrent: 2 } }\nroutes: { /a: all }\n';
    const by = 'by: { user: [web, alice] }';
    const ended = await testWith({ 'limits.yaml': limits }, '', [
      `{ ${by}, send: GET /a, repeat: 2, every: 1s, takes: 10s, expect: { outcome: admitted } }`,
      `{ ${by}, send: GET /a, expect: { outcome: concurrent, remaining: 7, retry_after: 1s, headers: { X-RateLimit-Scope: shared } } }`,
      `{ by: { user: [web, bob] }, send: GET /a, expect: { outcome: admitted } }`,
      `{ at: 10s, ${by}, send: GET /a, expect: { outcome: admitted, remaining: 6 } }`,
    ]);
    expect(ended.out).toBe('1 passed\n');
  });

  it('sends requests to a host', async () => {
    const limits =
      'buckets: { a: { user: 1/5s }, b: { user: 2/5s } }\nroutes: { a.shop.test/x: a, "*.shop.test/x": b }\n';
    const by = 'by: { user: [web, alice] }';
    const ended = await testWith({ 'limits.yaml': limits }, '', [
      `{ ${by}, send: "GET https://A.shop.test:8443/x", expect: { outcome: admitted, bucket: a } }`,
      `{ ${by}, send: "GET http://b.shop.test/x", expect: { outcome: admitted, bucket: b } }`,
      `{ ${by}, send: "GET https://a.shop.test/x?y", expect: { outcome: bucket, bucket: a } }`,
      `{ ${by}, send: GET /x, expect: { outcome: admitted, bucket: none } }`,
    ]);
    expect(ended.out).toBe('1 passed\n');
  });

  it('tries other limits behind the same gateway', async () => {
    const files = {
      'gateway.yaml': GATEWAY,
      'limits.yaml': LIMITS,
      'new.yaml': LIMITS.replace('2/5s', '1/5s'),
    };
    const named = 'gateway: gateway.yaml\nlimits: new.yaml\n';
    const ended = await testWith(files, named, [
      '{ by: { user: [acme, alice] }, send: GET /files/1, expect: { outcome: admitted, limit: 1 } }',
    ]);
    expect(ended.out).toBe('1 passed\n');
  });

  it('refuses unknown keys and what is not a request, with suggestions', async () => {
    const ended = await test(
      `{ ${ALICE}, expct: { outcome: admitted } }`,
      `{ ${ALICE}, expect: { outcome: admited } }`,
      '{ by: { user: [alice], bot: [alice] }, send: get /, expect: { outcome: admitted } }',
    );
    expect(ended.code).toBe(78);
    expect(ended.err).toContain('unknown key "expct", did you mean "expect"?');
    expect(ended.err).toContain('a.yaml:5:78: tests[0].requests[1].expect.outcome: expected');
    expect(ended.err).toContain('did you mean "admitted"?');
    expect(ended.err).toContain('name one caller: user, bot or address');
    expect(ended.err).toContain('expected a method and a path such as GET /v1/things/7, found "get /"');
  });

  it('reports errors of the limits, and tests several files at once', async () => {
    const folder = await tempFolder();
    const file = join(folder, 'a.yaml');
    await writeFile(file, 'limits: nowhere.yaml\ntests: []\n');
    expect(await weir('test', file)).toMatchObject({
      code: 78,
      err: expect.stringContaining('nowhere.yaml'),
    });
    await writeFile(join(folder, 'nowhere.yaml'), LIMITS);
    await writeFile(join(folder, 'b.yaml'), 'limits: nowhere.yaml\ntests: [{ name: b, requests: [] }]\n');
    expect((await weir('test', file, join(folder, 'b.yaml'))).out).toBe('1 passed\n');
    expect((await weir('test')).err).toContain('weir test: missing FILE');
  });

  it('has a JSON Schema, by which the shipped file names it', async () => {
    const { out } = await weir('schema', 'test');
    expect(JSON.parse(out)).toEqual(JSON.parse(JSON.stringify(jsonSchemaOf('test'))));
    expect(JSON.parse(out).$id).toBe('test.schema.json');
    expect(await readFile('config/limits.test.yaml', 'utf8')).toContain('$schema=test.schema.json\n');
  });
});

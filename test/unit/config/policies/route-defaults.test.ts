import { describe, expect, it } from 'vitest';
import type { RouteOfFile } from '../../../../src/config/index.ts';
import { changesInWords, diagnosticsIn, loadText } from '../../../support/config-text.ts';

const HEAD = `upstreams:
  api: { url: "http://api:3000" }
  own: { url: "http://own:3000", timeouts: { idle: 3s } }
  calls: { url: "http://calls", protocol: grpc }
listen: { http: { address: "127.0.0.1:8080", h2c: true } }
`;
const ROUTES = `routes:
  - { path: /a/**, upstream: api, authentication: none }
  - { path: /b, upstream: own, authentication: none, max_body: 1KiB, timeouts: { first_byte: 1s }, response_headers: { set: { X-A: b } } }
  - { path: /c, respond: { status: 200 } }
  - { grpc: a.B/C, upstream: calls, authentication: none }
`;
const DEFAULTS =
  'max_body: 2MiB, trailing_slash: redirect, cors: false, websocket: true, close_at_expiry: true, response_headers: { remove: [Server] }, timeouts: { first_byte: 2s, idle: 2s }';

async function snapshotOf(defaults: string) {
  const loaded = await loadText(`${HEAD}${defaults === '' ? '' : `defaults: { ${defaults} }\n`}${ROUTES}`);
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.diagnostics));
  return loaded.snapshot;
}

async function routesOf(defaults: string): Promise<readonly RouteOfFile[]> {
  return (await snapshotOf(defaults)).outline.routes.map(({ value }) => value);
}

/** What is found in the line with `defaults`, once for all routes. */
const wrongIn = (defaults: string) => diagnosticsIn(`defaults: { ${defaults} }\n${HEAD}${ROUTES}`);

describe('defaults of routes', () => {
  it('hold where a route does not say otherwise; its own key replaces them whole', async () => {
    const [a, b] = await routesOf(DEFAULTS);
    expect(a).toMatchObject({
      body: { maxBytes: 2 ** 21 },
      cors: false,
      responseEdits: { remove: ['Server'] },
    });
    expect(b).toMatchObject({ body: { maxBytes: 1024 }, cors: false, endsWithSlash: false });
    expect(b?.responseEdits).toMatchObject({ remove: [], set: ['X-A', 'b'] });
  });

  it('are skipped where the kind of a route has no such key', async () => {
    const [a, b, c, call] = await routesOf(DEFAULTS);
    expect(a?.endsWithSlash).toBeNull();
    expect(b).toMatchObject({ closeAtExpiry: false, websocket: { pool: {} } });
    expect(c).toMatchObject({ kind: 'answer', cors: false, endsWithSlash: false });
    expect(call).toMatchObject({ endsWithSlash: null, body: { maxBytes: 2 ** 21 }, websocket: null });
  });

  it.each([
    ['websocket: true', 'path: /x, upstream: api, methods: [POST]', { websocket: null }],
    ['websocket: true', 'path: /x, upstream: { api: 50, two: 50 }', { websocket: null }],
    [
      'rate_limit_headers: service',
      'path: /x, upstream: api, upstream_429: pass',
      { passesRateLimits: false, upstream429: 'pass' },
    ],
    [
      'upstream_429: pass',
      'path: /x, upstream: api, rate_limit_headers: service',
      { passesRateLimits: true, upstream429: 'rewrite' },
    ],
    ['grpc_web: true, cors: false', 'grpc: x.Y/*, upstream: calls', { grpcWeb: true, cors: false }],
    ['cors: false, grpc_web: true', 'grpc: x.Y/*, upstream: calls', { grpcWeb: true, cors: false }],
    ['cors: false, grpc_web: true', 'grpc: x.Y/*, upstream: calls, grpc_web: false', { grpcWeb: false }],
    [
      'response_headers: { set: { Grpc-Status: "0" } }',
      'grpc: x.Y/*, upstream: calls',
      { responseEdits: null },
    ],
    ['timeouts: { websocket_idle: 1m }', 'path: /x, upstream: two', { websocket: null }],
  ])('such as %s are skipped by routes that rule them out: %s', async (defaults, route, expected) => {
    const upstreams = HEAD.replace('  calls:', '  two: { url: "http://two", protocol: h2 }\n  calls:');
    const loaded = await loadText(
      `${upstreams}defaults: { ${defaults} }\nroutes: [{ ${route}, authentication: none }]\n`,
    );
    const wrong = loaded.ok ? [] : loaded.diagnostics.filter(({ severity }) => severity === 'error');
    expect(wrong).toEqual([]);
    const [made] = loaded.ok ? loaded.snapshot.outline.routes : [];
    expect(made?.value).toMatchObject(expected);
  });

  it('that need a token still keep their fields free of what clients send, on routes without one', async () => {
    const edits = 'request_headers: { set: { X-Plan: "{claim.plan}" }, remove: [X-Debug] }';
    const [a] = await routesOf(edits);
    expect(a).toMatchObject({ requestEdits: { remove: ['X-Debug'] } });
    expect(
      await diagnosticsIn(`${HEAD}routes: [{ path: /a, upstream: api, authentication: none, ${edits} }]`),
    ).toContainEqual(expect.stringContaining('no claim is known here'));
  });

  it('give way to timeouts of the upstream, and those to timeouts of the route', async () => {
    const [a, b] = await routesOf(DEFAULTS);
    expect(a).toMatchObject({ firstByteTimeoutMs: 2_000, idleTimeoutMs: 2_000 });
    expect(b).toMatchObject({ firstByteTimeoutMs: 1_000, idleTimeoutMs: 3_000 });
  });

  it.each(
    [
      'path: /a',
      'grpc: a.B/C',
      'methods: [GET]',
      'hosts: [a.test]',
      'upstream: api',
      'redirect: { to: / }',
    ].concat(
      [
        'respond: { status: 200 }',
        'authentication: none',
        'require: {}',
        'webhook: true',
        'strip_prefix: /a',
      ],
      ['introspection: true', 'accept: [token]', 'token_from: []', 'max_bodie: 1KiB'],
    ),
  )('cannot have %s', async key => {
    const name = key.split(':')[0];
    expect(await wrongIn(key)).toEqual([
      expect.stringMatching(new RegExp(`^1:13: defaults: unknown key "${name}"`)),
    ]);
  });

  it('are reported where they stand, once for all routes', async () => {
    expect(await wrongIn('max_body: 1')).toEqual([
      expect.stringContaining('1:23: defaults.max_body: expected'),
    ]);
    expect(await wrongIn('response_headers: { remove: [Via] }')).toEqual([
      expect.stringMatching(
        /^1:42: routes\[0\]\.response_headers\.remove\[0\]: "Via" cannot be changed by a route/,
      ),
    ]);
    expect(await wrongIn('timeouts: { idle: 1 }')).toHaveLength(1);
    expect((await diagnosticsIn(`defaults: none\n${HEAD}${ROUTES}`))[0]).toContain(
      '1:11: defaults: expected a map such as { max_body: 100MiB }',
    );
  });

  it('are compared as the routes that have them', async () => {
    const [now, before] = [await snapshotOf('max_body: 2MiB'), await snapshotOf('')];
    expect(changesInWords(now.outline, before.outline)).toEqual(
      expect.arrayContaining(['stricter: /a/**: max_body 2MiB, before any']),
    );
    expect(changesInWords(now.outline, before.outline).join()).not.toMatch(/\/b|\/c|defaults/);
  });

  it('appear in the effective configuration of each route', async () => {
    const { gateway } = (await (await snapshotOf('max_body: 2MiB')).outline.effective.read()) as {
      gateway: { defaults: unknown; routes: { max_body?: string }[] };
    };
    expect(gateway.defaults).toEqual({ max_body: '2MiB' });
    expect(gateway.routes.map(route => route.max_body)).toEqual(['2MiB', '1KiB', 'none', '2MiB']);
  });
});

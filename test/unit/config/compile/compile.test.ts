import { describe, expect, it } from 'vitest';
import type { LoadResult, RouteModel, Snapshot, UpstreamModel } from '../../../../src/config/index.ts';
import { loadText, NEEDED } from '../../../support/config-text.ts';

async function loaded(text: string): Promise<LoadResult & { ok: true }> {
  const result = await loadText(text);
  if (!result.ok) throw new Error(JSON.stringify(result.diagnostics));
  return result;
}

async function snapshotOf(text: string): Promise<Snapshot> {
  return (await loaded(text)).snapshot;
}

async function upstreamOf(keys: string): Promise<UpstreamModel | undefined> {
  return (
    await snapshotOf(
      `upstreams: { api: { ${keys} } }\nroutes: [{ path: /, upstream: api, authentication: none }]`,
    )
  ).upstreams[0];
}

async function routeOf(keys: string, upstreamKeys = ''): Promise<RouteModel | undefined> {
  const text = `upstreams: { api: { url: "http://api" ${upstreamKeys} } }\nroutes: [{ upstream: api, authentication: none, ${keys} }]`;
  return (await loaded(text)).snapshot.outline.routes[0]?.value;
}

describe('a snapshot', () => {
  it('has every default in the reference', async () => {
    expect(await snapshotOf(NEEDED)).toMatchObject({
      generation: 1,
      listen: {
        http: { address: { host: '::', port: 8080 } },
        admin: { address: { host: '127.0.0.1', port: 9090 } },
      },
      timeouts: {
        clientHeaderMs: 10_000,
        clientBodyIdleMs: 30_000,
        clientReadMs: 60_000,
        keepAliveMs: 75_000,
      },
      caps: {
        connections: 20_000,
        connectionsPerAddress: 1_000,
        requests: 10_000,
        requestsPerAddress: 1_000,
        headBytes: 16_384,
        fields: 200,
      },
      shutdown: { delayMs: 0, drainMs: 25_000 },
      log: { level: 'info', access: true, pseudonymKey: null },
      cors: null,
    });
  });

  it('has what the file says in the place of a default', async () => {
    const text = `
listen: { http: "[::1]:0", admin: off }
timeouts: { client_header: 1s, client_body: 2s, client_read: 3s, keep_alive: 4s }
caps: { connections: 1, connections_per_address: 2, requests: 3, requests_per_address: 4, head: 5KiB, fields: 6, limit_keys: 7 }
shutdown: { delay: 7s, drain: 8s }
log: { level: silent, access: false }
${NEEDED}`;
    expect(await snapshotOf(text)).toMatchObject({
      listen: { http: { address: { host: '::1', port: 0 } }, admin: null },
      timeouts: { clientHeaderMs: 1_000, clientBodyIdleMs: 2_000, clientReadMs: 3_000, keepAliveMs: 4_000 },
      caps: {
        connections: 1,
        connectionsPerAddress: 2,
        requests: 3,
        requestsPerAddress: 4,
        headBytes: 5_120,
        fields: 6,
        limitKeys: 7,
      },
      shutdown: { delayMs: 7_000, drainMs: 8_000 },
      log: { level: 'silent', access: false },
    });
  });

  it('has the hash of its file: the same file, the same hash', async () => {
    const [first, again, other] = await Promise.all([NEEDED, NEEDED, `${NEEDED}# changed\n`].map(snapshotOf));
    expect(first?.hash).toMatch(/^[0-9a-f]{16}$/);
    expect(again?.hash).toBe(first?.hash);
    expect(other?.hash).not.toBe(first?.hash);
  });

  it('trusts the proxies of the file', async () => {
    const { trustedProxies } = await snapshotOf(`trusted_proxies: [10.0.0.0/8]\n${NEEDED}`);
    expect(trustedProxies.has('10.1.2.3')).toBe(true);
    expect(trustedProxies.has('11.1.2.3')).toBe(false);
  });

  it('believes the further forwarding headers of trusted proxies alone', async () => {
    const { forwarding } = await snapshotOf(`forwarding_headers: [X-Mine]\n${NEEDED}`);
    expect(forwarding.table.get('x-mine')).toBe('origin');
    expect(forwarding.table.get('x-yours')).toBeUndefined();
  });

  it('removes and keeps the forwarding headers of two lists', async () => {
    const { forwarding } = await snapshotOf(
      `forwarding_headers: { remove: [X-Mine], keep: [X-Host, X-Forwarded-Prefix] }\n${NEEDED}`,
    );
    const names = ['x-mine', 'x-host', 'x-forwarded-prefix', 'x-forwarded-port'];
    expect(names.map(name => forwarding.table.get(name))).toEqual(['origin', 'keep', 'keep', 'origin']);
  });

  it('finds the routes of the file', async () => {
    const { routes } = await snapshotOf(NEEDED);
    expect(routes.find('GET', '', '/x')?.value).toMatchObject({ id: '/**', upstream: { name: 'api' } });
  });
});

describe('an upstream', () => {
  it('has every default', async () => {
    expect(await upstreamOf('url: "http://api:3000"')).toEqual({
      name: 'api',
      revision: expect.any(String),
      protocol: 'http1',
      base: '',
      endpoints: [{ host: 'api', port: 3000, weight: 1, lookup: 'system' }],
      balance: 'least_requests',
      balanceCookie: null,
      health: null,
      options: {
        protocol: 'http1',
        ownHosts: false,
        http2: { maxConnections: 16, maxStreams: 100, pingIntervalMs: 300_000, pingTimeoutMs: 10_000 },
        connectTimeoutMs: 2_000,
        keepAliveMs: 4_000,
        maxAgeMs: 300_000,
        maxConnections: 1_024,
        maxHeadBytes: 32_768,
        tls: null,
      },
      hostHeader: null,
      replayBytes: 16_384,
      bufferBytes: 0,
      passAuthorization: true,
      pools: {
        requests: { name: 'requests', upstream: 'api', max: 1_024, maxPerCaller: 256 },
        websockets: { name: 'websockets', upstream: 'api', max: 10_000, maxPerCaller: 1_000 },
        grpc_calls: { name: 'grpc_calls', upstream: 'api', max: 1_024, maxPerCaller: 256 },
      },
    });
  });

  it('has what the file says in the place of a default', async () => {
    const keys =
      'url: "http://[::1]/base", host: upstream, authorization: remove, timeouts: { connect: 1s }, keep_alive: 2s, max_connection_age: 3s, max_requests: 400, max_requests_per_caller: 29%, max_head: 5KiB, replay: 6KiB, protocol: h2, h2: { max_connections: 2, max_streams: 3, ping_interval: 4s, ping_timeout: 5s }';
    expect(await upstreamOf(keys)).toEqual({
      name: 'api',
      revision: expect.any(String),
      protocol: 'h2',
      base: '/base',
      endpoints: [{ host: '::1', port: 80, weight: 1, lookup: 'system' }],
      balance: 'least_requests',
      balanceCookie: null,
      health: null,
      options: {
        protocol: 'h2',
        ownHosts: false,
        http2: { maxConnections: 2, maxStreams: 3, pingIntervalMs: 4_000, pingTimeoutMs: 5_000 },
        connectTimeoutMs: 1_000,
        keepAliveMs: 2_000,
        maxAgeMs: 3_000,
        maxConnections: 400,
        maxHeadBytes: 5_120,
        tls: null,
      },
      hostHeader: '[::1]',
      replayBytes: 6_144,
      bufferBytes: 0,
      passAuthorization: false,
      pools: {
        requests: { name: 'requests', upstream: 'api', max: 400, maxPerCaller: 116 },
        websockets: { name: 'websockets', upstream: 'api', max: 10_000, maxPerCaller: 1_000 },
        grpc_calls: { name: 'grpc_calls', upstream: 'api', max: 1_024, maxPerCaller: 256 },
      },
    });
  });

  it('has the caps that it names of WebSockets and of gRPC calls', async () => {
    const sockets = 'url: "http://api", max_websockets: 50, max_websockets_per_caller: 30%';
    expect((await upstreamOf(sockets))?.pools.websockets).toMatchObject({ max: 50, maxPerCaller: 15 });
    const calls = ', protocol: grpc, max_grpc_calls: 9, max_grpc_calls_per_caller: 50%';
    const route = await routeOf('grpc: a.B/*', calls);
    expect(route).toMatchObject({ pool: { name: 'grpc_calls', upstream: 'api', max: 9, maxPerCaller: 4 } });
    expect(route).toMatchObject({ firstByteTimeoutMs: null, idleTimeoutMs: null });
  });

  it.each([
    ['http://api:3000', 'api:3000'],
    ['http://api:80', 'api'],
    ['http://api', 'api'],
    ['http://api.internal.:3000', 'api.internal:3000'],
    ['https://api.internal.', 'api.internal'],
    ['http://[::80]:8080', '[::80]:8080'],
    ['http://[1::80]', '[1::80]'],
    ['http://api:3000/base', 'api:3000'],
    ['srv+http://_http._tcp.api.internal', 'api.internal'],
  ])('that gets its own name is sent the Host of %s as %s', async (url, host) => {
    expect(await upstreamOf(`url: "${url}", host: upstream`)).toMatchObject({ hostHeader: host });
  });
});

describe('a route', () => {
  it('has every default', async () => {
    expect(await routeOf('path: "/v1/{a}/{b}"')).toMatchObject({
      id: '/v1/{a}/{b}',
      authentication: 'none',
      semicolons: 'refuse',
      firstByteTimeoutMs: 60_000,
      idleTimeoutMs: 60_000,
      body: { maxBytes: null, minBytesPerS: 240, deadlineMs: null },
      globalLimitExempt: false,
      webhook: false,
      upstream429: 'rewrite',
      cors: true,
      websocket: null,
      parameters: ['a', 'b'],
    });
  });

  it('with WebSockets has a pool for them, and how long one may be idle', async () => {
    expect(await routeOf('path: /, websocket: true', ', timeouts: { websocket_idle: 3s }')).toMatchObject({
      pool: { name: 'requests' },
      websocket: { pool: { name: 'websockets', upstream: 'api', max: 10_000 }, idleMs: 3_000 },
    });
    expect(await routeOf('path: /, websocket: true, timeouts: { websocket_idle: 4s }')).toMatchObject({
      websocket: { idleMs: 4_000 },
    });
    expect(await routeOf('path: /, websocket: true')).toMatchObject({ websocket: { idleMs: 600_000 } });
  });

  it('is named by its methods and path as they are written', async () => {
    expect(await routeOf('path: /V1/**, methods: [POST, GET]')).toMatchObject({ id: 'POST,GET /V1/**' });
  });

  it('takes the times of its upstream', async () => {
    expect(await routeOf('path: /', ', timeouts: { first_byte: 1s, idle: 2s }')).toMatchObject({
      firstByteTimeoutMs: 1_000,
      idleTimeoutMs: 2_000,
    });
  });

  it('may have times of its own', async () => {
    const timeouts = 'timeouts: { first_byte: 1s, idle: 2s }';
    expect(await routeOf('path: /, timeouts: { idle: 5m }', `, ${timeouts}`)).toMatchObject({
      firstByteTimeoutMs: 1_000,
      idleTimeoutMs: 300_000,
    });
  });

  it('has what the file says in the place of a default', async () => {
    const keys =
      'path: /, semicolons: pass, max_body: 1MiB, min_body_rate: off, webhook: true, global_limit: exempt, upstream_429: pass, cors: false';
    expect(await routeOf(keys)).toMatchObject({
      semicolons: 'pass',
      body: { maxBytes: 1_048_576, minBytesPerS: null, deadlineMs: null },
      globalLimitExempt: true,
      webhook: true,
      upstream429: 'pass',
      cors: false,
    });
  });

  it('is listed with its line, in the order of the file, apart from those of the gateway itself', async () => {
    const text = `upstreams: { api: { url: "http://api" } }
routes:
  - path: /b
    upstream: api
    authentication: none
  - { path: /a, upstream: api, authentication: none }
`;
    const { routes, ownRoutes } = (await loaded(text)).snapshot.outline;
    expect(routes.map(({ value, place }) => [value.id, place.line])).toEqual([
      ['/b', 3],
      ['/a', 6],
    ]);
    expect(ownRoutes.map(({ value }) => value.id)).toEqual([
      '/v1/anonymous/authorize-url',
      '/v1/anonymous/auth',
    ]);
  });
});

import { describe, expect, it } from 'vitest';
import { diagnosticsIn, diagnosticsOf, loadFiles } from '../../../support/config-text.ts';

const UPSTREAMS = `upstreams:
  api: { url: "http://api" }
  calls: { url: "http://calls", protocol: grpc }
routes:
  - { path: /**, upstream: api, authentication: none }
`;

const LISTEN = 'listen: { grpc: 127.0.0.1:8081 }\n';

/** The diagnostics of this route, which stands in line 6 behind a sound one. */
async function diagnosticsOfRoute(route: string): Promise<string[]> {
  const last = '  - { grpc: z.Z/*, upstream: calls, authentication: none }\n';
  return diagnosticsIn(`${UPSTREAMS}  - { ${route}, authentication: none }\n${last}${LISTEN}`);
}

describe('a route of gRPC', () => {
  it('leads to an upstream that speaks it, and a route of paths to another', async () => {
    expect(await diagnosticsOfRoute('grpc: a.B/C, upstream: calls')).toEqual([]);
    expect(await diagnosticsOfRoute('grpc: a.B/C, upstream: api')).toEqual([
      '6:30: routes[1].upstream: the upstream "api" does not say "protocol: grpc", which gRPC calls need',
    ]);
    expect(await diagnosticsOfRoute('path: /a.B/C, upstream: calls')).toEqual([
      '6:31: routes[1].upstream: this route has a path, but "calls" speaks gRPC: give the route "grpc"',
    ]);
  });

  it('names a service and a method', async () => {
    expect(await diagnosticsOfRoute('grpc: /a.B/C, upstream: calls')).toEqual([
      '6:13: routes[1].grpc: a service begins without "/": write "a.B/C"',
    ]);
    expect(await diagnosticsOfRoute('grpc: 1, upstream: calls')).toEqual([
      '6:13: routes[1].grpc: expected package.Service/Method or package.Service/*, found 1',
    ]);
  });

  it('has no path beside it, and none of the keys that are about paths', async () => {
    expect(await diagnosticsOfRoute('grpc: a.B/C, path: /a, upstream: calls')).toEqual([
      '6:20: routes[1]: a route has "path" or "grpc", not both: write two routes',
    ]);
    const keys =
      'methods: [POST], semicolons: pass, webhook: true, upstream_429: pass, cors: false, min_body_rate: off, timeouts: {}';
    const diagnostics = await diagnosticsOfRoute(`grpc: a.B/C, upstream: calls, ${keys}`);
    expect(diagnostics).toHaveLength(7);
    expect(diagnostics[0]).toBe('6:37: routes[1]: "methods" does not apply to gRPC calls: leave it out');
  });

  it('matches no calls of another', async () => {
    expect(await diagnosticsOfRoute('grpc: a.b/c, upstream: calls')).toEqual([]);
    expect(await diagnosticsOfRoute('grpc: z.Z/*, upstream: calls')).toEqual([
      '7:13: routes[2].grpc: this route matches the same requests as the one in line 6',
    ]);
  });

  it('is missed where a route has neither, unless a key is misspelt', async () => {
    expect(await diagnosticsOfRoute('upstream: api')).toEqual([
      '6:5: routes[1]: missing key "path": expected a path such as /v1/things/{id} or /v1/**',
    ]);
    expect(await diagnosticsOfRoute('pth: /, upstream: api')).toEqual([
      '6:7: routes[1]: unknown key "pth", did you mean "path"?',
    ]);
  });
});

describe('a line of gRPC in limits.yaml', () => {
  const lines = (...routes: string[]) =>
    loadFiles({
      'gateway.yaml': `${UPSTREAMS}  - { grpc: a.B/*, upstream: calls, authentication: none }\nlimits: limits.yaml\n${LISTEN}`,
      'limits.yaml': `buckets: { b: { address: 5/5s }, m: { main: id, address: 5/5s } }\nroutes:\n${routes.map(line => `  ${line}\n`).join('')}`,
    }).then(result => diagnosticsOf(result).filter(line => !line.includes('uses the bucket')));

  it('draws on a bucket', async () => {
    expect(await lines('GRPC a.B/C: b', 'GRPC a.B/c: b', 'GRPC a.B/*: b')).toEqual([]);
  });

  it('names a service and a method, and a bucket without a main parameter', async () => {
    expect(await lines('GRPC: b', 'GRPC /a.B/C: b', 'grpc a.B/C: b')).toEqual([
      'limits.yaml:3:3: routes: "GRPC" is not a route: the service is missing: write GRPC package.Service/Method',
      'limits.yaml:4:3: routes: "GRPC /a.B/C" is not a route: a service begins without "/": write "a.B/C"',
      'limits.yaml:5:3: routes: "grpc a.B/C" is not a route: "grpc" is not a method, did you mean "GRPC"?',
    ]);
    expect(await lines('GRPC a.B/C: m')).toEqual([
      'limits.yaml:3:3: routes: "GRPC a.B/C" has no {id}, by which the bucket "m" counts',
    ]);
  });

  it('is reached by routes of gRPC alone', async () => {
    expect(await lines('GRPC a.X/C: b', 'POST /a.B/C: b')).toEqual([
      'limits.yaml:3:3: warning: routes: no route of gateway.yaml serves a request that "GRPC a.X/C" matches',
    ]);
  });
});

describe('the listener of gRPC', () => {
  const GRPC_ROUTE = `${UPSTREAMS}  - { grpc: a.B/*, upstream: calls, authentication: none }\n`;
  const UNREACHED =
    '6:13: warning: routes[1].grpc: no listener speaks HTTP/2, which gRPC needs: add "listen.grpc", or "tls" or "h2c: true" to "listen.http"';

  it('is missed by routes that no other listener serves', async () => {
    expect(await diagnosticsIn(GRPC_ROUTE)).toEqual([UNREACHED]);
    expect(await diagnosticsIn(`${GRPC_ROUTE}listen: { http: 127.0.0.1:1, grpc: off }`)).toEqual([UNREACHED]);
    expect(await diagnosticsIn(`${GRPC_ROUTE}listen: { http: { address: 127.0.0.1:1, h2c: true } }`)).toEqual(
      [],
    );
    expect(await diagnosticsIn(`${GRPC_ROUTE}${LISTEN}`)).toEqual([]);
  });

  it('has something to serve', async () => {
    const text = `upstreams: { api: { url: "http://api" } }\nroutes: [{ path: /, upstream: api, authentication: none }]\n${LISTEN}`;
    expect(await diagnosticsIn(text)).toEqual([
      '3:17: warning: listen.grpc: no route has "grpc": nothing is served here',
    ]);
  });

  it('speaks HTTP/2 in any case', async () => {
    const tls = 'certificates: [{ certificate_file: a, key_file: b }], http2: false';
    const found = await diagnosticsIn(
      `${GRPC_ROUTE}listen: { grpc: { address: 127.0.0.1:1, tls: { ${tls} } } }`,
    );
    expect(found).toContainEqual(
      expect.stringContaining('listen.grpc.tls.http2: gRPC needs HTTP/2: leave this out'),
    );
  });
});

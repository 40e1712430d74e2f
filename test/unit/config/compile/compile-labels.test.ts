import { describe, expect, it } from 'vitest';
import type { LabelModel } from '../../../../src/observe/index.ts';
import { loadFiles } from '../../../support/config-text.ts';

const IDENTITY = `identity_provider: { issuer: "https://id.example/", client_id: weir, client_secret: "\${SECRET}", redirect_uri: "https://a.example/" }
access_tokens: { audience: api, bots: { claim: client_id } }
`;

async function labelsOf(gateway: string, limits = 'global: off\n'): Promise<LabelModel> {
  const files = { 'gateway.yaml': `${gateway}\nlimits: limits.yaml\n`, 'limits.yaml': limits };
  const result = await loadFiles(files, { SECRET: 'a-secret-of-some-length' });
  if (!result.ok) throw new Error(JSON.stringify(result.diagnostics));
  return result.snapshot.labels;
}

function wordsOf(outcomes: readonly (readonly string[])[]): string {
  return outcomes.map(each => each.join(' ').trim()).join();
}

describe('the labels of a configuration', () => {
  it('name each route with its upstream, its protocols and how its requests commonly end', async () => {
    const { routes, webSocketUpstreams, upstreams } = await labelsOf(`${IDENTITY}
listen: { http: { address: "127.0.0.1:0", h2c: true } }
upstreams: { api: { url: "http://a" }, chat: { url: "http://b" }, calls: { url: "http://c", protocol: grpc } }
sign_in: { refresh: /v1/refresh, sign_out: /v1/sign-out }
routes:
  - { path: /v1/**, methods: [GET], upstream: api }
  - { path: /chat, upstream: chat, websocket: true, authentication: none }
  - { grpc: a.B/*, upstream: calls }
  - { grpc: a.C/*, upstream: calls, grpc_web: true }`);
    expect(routes.map(({ route, upstream, protocols }) => [route, upstream, protocols.join()])).toEqual([
      ['GET /v1/**', 'api', 'http1,h2'],
      ['/chat', 'chat', 'http1,h2'],
      ['/chat', 'chat', 'websocket'],
      ['GRPC a.B/*', 'calls', 'grpc'],
      ['GRPC a.C/*', 'calls', 'grpc,grpc_web'],
      ['/v1/anonymous/authorize-url', 'none', 'http1,h2'],
      ['/v1/anonymous/auth', 'none', 'http1,h2'],
      ['/v1/refresh', 'none', 'http1,h2'],
      ['/v1/sign-out', 'none', 'http1,h2'],
      ['none', 'none', 'http1,h2,grpc'],
    ]);
    const endingsOf = (index: number) => routes[index]?.endings.map(ending => ending.join(' '));
    expect(endingsOf(0)).toEqual(expect.arrayContaining(['200 forwarded', '500 forwarded', '401 answered']));
    expect(endingsOf(1)).not.toContain('401 answered');
    expect(endingsOf(2)).toContain('101 truncated');
    expect(endingsOf(3)).toContain('401 answered');
    expect(endingsOf(3)).not.toContain('500 forwarded');
    expect(endingsOf(6)).not.toContain('401 answered');
    expect(endingsOf(7)).toEqual(expect.arrayContaining(['200 answered', '401 answered']));
    expect(endingsOf(8)).toEqual(expect.arrayContaining(['204 answered', '401 answered']));
    expect([upstreams, webSocketUpstreams]).toEqual([['api', 'chat', 'calls'], ['chat']]);
  });

  it('name the routes of notices where nobody signs in, and no route of a sign-in', async () => {
    const { routes } =
      await labelsOf(`identity_provider: { issuer: "https://id.example/", client_id: weir, client_authentication: none, notices: { back_channel_logout: /logout } }
access_tokens: { audience: api }
upstreams: { api: { url: "http://a" } }
routes: [{ path: /v1/**, upstream: api }]`);
    expect(routes.map(({ route }) => route)).toEqual(['/v1/**', '/logout', 'none']);
  });

  it('name each bucket that a route leads to, with its classes and the limits that can refuse', async () => {
    const limits = `global: { user: 50/1s }
buckets:
  things: { main: id, user: 5/5s, resource: 50/5s }
  unused: { user: 5/5s }
routes: { "GET /v1/{id}": things, "POST /v1/{id}": things }
`;
    const { buckets } = await labelsOf(
      `${IDENTITY}
upstreams: { api: { url: "http://a" } }
routes: [{ path: /v1/**, upstream: api }]`,
      limits,
    );
    const shown = buckets.map(
      ({ bucket, callerClass, outcomes }) => `${bucket} ${callerClass}: ${wordsOf(outcomes)}`,
    );
    expect(shown).toHaveLength(6);
    expect(shown).toContain('things user: admitted,global,caller,resource');
    expect(shown).toContain('none user: admitted,global');
  });

  it('name the limits that are in shadow, for all callers or for those outside a share', async () => {
    const limits = `global: { user: 50/1s, address: off, shadow: { user: 30/1s } }
buckets:
  tried: { user: 5/5s, shadow: true }
  partly: { user: 5/5s, enforce: 10% }
routes: { GET /v1/a: tried, GET /v1/b: partly }
`;
    const gateway = `${IDENTITY}
upstreams: { api: { url: "http://a" } }
routes: [{ path: /v1/**, upstream: api }]`;
    const { buckets } = await labelsOf(gateway, limits);
    const shown = buckets
      .filter(({ callerClass }) => callerClass === 'user')
      .map(({ bucket, outcomes, inShadow }) => `${bucket}: ${wordsOf(outcomes)} / ${inShadow.join()}`);
    expect(shown).toEqual([
      'tried: admitted,global / global,caller',
      'partly: admitted,global,caller / global,caller',
      'none: admitted,global / global',
    ]);
  });

  it('name the periods of limits with several windows, and of no others', async () => {
    const limits = `global: { user: 50/1s, address: off }
buckets:
  sold: { main: id, user: [5/1s, 1000/1h], resource: 50/5s }
  plain: { user: 5/5s }
routes: { "GET /v1/a/{id}": sold, GET /v1/b: plain }
`;
    const gateway = `${IDENTITY}
upstreams: { api: { url: "http://a" } }
routes: [{ path: /v1/**, upstream: api }]`;
    const { buckets } = await labelsOf(gateway, limits);
    const shown = buckets
      .filter(({ callerClass }) => callerClass === 'user')
      .map(({ bucket, outcomes, periods }) => `${bucket}: ${wordsOf(outcomes)} / ${periods.join()}`);
    expect(shown).toEqual([
      'sold: admitted,global,caller 1s,caller 1h,resource / ,1s,1h',
      'plain: admitted,global,caller / ',
      'none: admitted,global / ',
    ]);
  });

  it('without an identity provider know one class of callers and no sign-in', async () => {
    const labels = await labelsOf(
      'upstreams: { api: { url: "http://a" } }\nroutes: [{ path: /**, upstream: api, authentication: none }]',
    );
    expect(labels.providers).toBeNull();
    expect(labels.buckets).toEqual([
      {
        bucket: 'none',
        callerClass: 'address',
        outcomes: [['admitted', '']],
        periods: [''],
        inShadow: [],
        isPriced: false,
      },
    ]);
    expect(labels.routes.map(({ route }) => route)).toEqual(['/**', 'none']);
  });
});

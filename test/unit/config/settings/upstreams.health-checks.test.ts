import { describe, expect, it } from 'vitest';
import { diagnosticsIn, loadText } from '../../../support/config-text.ts';

const fileWith = (upstream: string, route = 'path: /') =>
  `upstreams: { api: { url: "http://api", ${upstream} } }\nroutes: [{ ${route}, upstream: api, authentication: none }]\nlisten: { http: { address: "127.0.0.1:8080", h2c: true } }\n`;
const AT = expect.stringMatching(/^1:\d+: upstreams\.api\.health/);

async function wordsOf(upstream: string, route?: string): Promise<string[]> {
  const diagnostics = await diagnosticsIn(fileWith(upstream, route));
  expect(diagnostics).toEqual(diagnostics.map(() => AT));
  return diagnostics.map(line => line.slice(line.indexOf('upstreams.api.') + 'upstreams.api.'.length));
}

describe('the health checks of an upstream', () => {
  it('have a path, but for gRPC', async () => {
    expect(await wordsOf('health: {}')).toEqual([
      'health: missing key "path": expected a path such as /healthz',
    ]);
    expect(await wordsOf('protocol: h2, health: { every: 9s }')).toHaveLength(1);
    expect(await wordsOf('protocol: grpc, health: {}', 'grpc: a.B/*')).toEqual([]);
  });

  it('end before the next begin', async () => {
    expect(await wordsOf('health: { path: /h, every: 2s, timeout: 2s }')).toEqual([
      'health.timeout: a check has to end before the next begins: "timeout" (2s) must be less than "every" (2s)',
    ]);
    expect(await wordsOf('health: { path: /h, every: 1500ms }')).toEqual([
      'health.every: a check has to end before the next begins: "timeout" (2s) must be less than "every" (1.5s)',
    ]);
  });

  it('ask for a path of visible ASCII without a fragment', async () => {
    for (const path of ['healthz', '/a b', '/ä', '/a#b'])
      expect(await wordsOf(`health: { path: "${path}" }`)).toEqual([
        expect.stringMatching(/^health\.path: expected a path such as \/healthz/),
      ]);
    expect(await wordsOf('health: { path: "/health/live?deep=1&x=%20" }')).toEqual([]);
  });

  it('have a path where they speak HTTP alone, and a service where they speak gRPC', async () => {
    expect(await wordsOf('health: { path: /h, service: a.B }')).toEqual([
      'health: "service" is for upstreams with protocol grpc: this one speaks http1',
    ]);
    expect(await wordsOf('protocol: grpc, health: { path: /h }', 'grpc: a.B/*')).toEqual([
      'health: "path" is for upstreams with protocol http1 or h2: this one speaks grpc',
    ]);
    expect(await wordsOf('protocol: grpc, health: { service: "a b" }', 'grpc: a.B/*')).toEqual([
      expect.stringMatching(/^health\.service: expected the full name of a service of gRPC/),
    ]);
  });

  it('are sent the Host of requests', async () => {
    const hostOf = async (upstream: string) => {
      const loaded = await loadText(fileWith(`${upstream}health: { path: /h }`));
      return loaded.ok ? loaded.snapshot.upstreams[0]?.health?.host : null;
    };
    expect(await hostOf('')).toBe('api');
    expect(await hostOf('host: upstream, ')).toBe('api');
    expect(await hostOf('host: api.internal, ')).toBe('api.internal');
  });
});

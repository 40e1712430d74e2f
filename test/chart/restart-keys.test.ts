import { describe, expect, it } from 'vitest';
import { RESTART_KEYS } from '../../src/config/index.ts';
import { Rendered } from './chart.ts';

/** The pods of a Deployment: Kubernetes replaces them when this changes. */
async function podsWith(config: object, limits: object = {}): Promise<unknown> {
  const values = { config: { caps: { limit_keys: 500_000 }, ...config }, limits, limitsPerReplica: true };
  // Where state can be kept, whether it is or not.
  const volumes = [{ name: 'state', emptyDir: {} }];
  const volumeMounts = [{ name: 'state', mountPath: '/var/lib/weir' }];
  return (await Rendered.of({ ...values, volumes, volumeMounts })).one('Deployment').at('spec.template');
}

const TLS = { certificates: [{ certificate_file: '/run/tls.crt', key_file: '/run/tls.key' }] };
const EXPORT = { endpoint: 'http://collector:4318/v1/traces' };
const REDIS = { redis: 'redis://redis.data.svc:6379' };

/** A change of each key that takes effect after a restart. */
const CHANGES: Readonly<Record<string, object>> = {
  'listen.http': { listen: { http: '0.0.0.0:8080' } },
  'listen.redirect': { listen: { http: { address: '0.0.0.0:8080', tls: TLS }, redirect: '0.0.0.0:8079' } },
  'listen.grpc': { listen: { grpc: { address: '0.0.0.0:8081' } } },
  'listen.admin': { listen: { admin: '0.0.0.0:9090' } },
  workers: { workers: 2 },
  warm_up: { warm_up: '2s' },
  'caps.limit_keys': { caps: { limit_keys: 600_000 } },
  'tracing.export': { tracing: { export: EXPORT } },
  state: { state: '/var/lib/weir' },
  store: { store: REDIS },
};

describe('a change of gateway.yaml', () => {
  it.each(RESTART_KEYS.gateway)('rolls the pods if it needs a restart: %s', async key => {
    expect(await podsWith(CHANGES[key] ?? {})).not.toEqual(await podsWith({}));
  });

  it('rolls the pods if it is inside the store', async () => {
    expect(await podsWith({ store: { ...REDIS, on_failure: 'closed' } })).not.toEqual(
      await podsWith({ store: REDIS }),
    );
  });

  it('rolls the pods if it is inside the export of traces', async () => {
    expect(await podsWith({ tracing: { export: { ...EXPORT, queue: 100 } } })).not.toEqual(
      await podsWith({ tracing: { export: EXPORT } }),
    );
  });

  it.each([
    { workers: 1 },
    { tracing: false },
    { tracing: 'off' },
    { tracing: { sample: '5%' } },
    { tracing: { export: false } },
    { tracing: { export: 'off' } },
    { log: { level: 'debug' } },
    { trusted_proxies: ['192.0.2.0/24'] },
    { upstreams: { other: { url: 'http://other:3000' } } },
    { routes: [{ path: '/v2/**', upstream: 'api', authentication: 'none' }] },
    { caps: { limit_keys: 500_000, connections: 5000 } },
    { timeouts: { keep_alive: '90s' } },
    { listen: { http: { address: '[::]:8080', h2c: true } } },
    { listen: { http: { address: '[::]:8080', tls: TLS } } },
    { listen: { http: '[::]:8080', admin: { address: '[::]:9090' } }, store: 'memory' },
  ])('leaves them alone otherwise: %j', async config => {
    expect(await podsWith(config)).toEqual(await podsWith({}));
  });
});

describe('a change of limits.yaml', () => {
  it('rolls the pods if it says which addresses count as one', async () => {
    expect(await podsWith({}, { ipv6_prefix: 56 })).not.toEqual(await podsWith({}));
    expect(await podsWith({}, { nat64_prefixes: ['2001:db8:64::/96'] })).not.toEqual(await podsWith({}));
    expect(await podsWith({}, { nat64_prefixes: [] })).toEqual(await podsWith({}));
    expect(await podsWith({}, { ipv6_prefix: 64 })).toEqual(await podsWith({}, { window_slack: '30ms' }));
  });

  it('leaves the pods alone', async () => {
    expect(await podsWith({}, { global: { user: '10/1s' } })).toEqual(await podsWith({}));
  });
});

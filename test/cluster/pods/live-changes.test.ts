import { writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { waitFor } from '../../support/wait.ts';
import { NODE_ADDRESS } from '../kubelet/network.ts';
import type { Pod } from '../kubelet/pod.ts';
import { Gateways, type Values } from './gateways.ts';
import { SteadyLoad } from './steady-load.ts';
import { CountingUpstream } from './upstream.ts';

let gateways: Gateways;
let upstream: CountingUpstream;

beforeAll(async () => {
  [gateways, upstream] = await Promise.all([Gateways.open(), CountingUpstream.start()]);
  gateways.cluster.addHost('upstream', NODE_ADDRESS);
});

afterAll(async () => {
  await gateways.close();
  upstream.close();
});

/** One replica. Everybody here is one address, which may ask /limited this often in an hour. */
function valuesOf(quota: number, config: Values = {}): Values {
  return {
    config: {
      trusted_proxies: 'none',
      listen: { http: { address: '0.0.0.0:8080', h2c: true } },
      upstreams: { api: { url: 'http://upstream:3000' } },
      routes: [{ path: '/**', upstream: 'api', authentication: 'none' }],
      shutdown: { delay: '1s', drain: '5s' },
      log: { access: false },
      ...config,
    },
    limits: {
      global: 'off',
      invalid_requests: 'off',
      buckets: { quota: { address: `${quota}/1h`, user: `${quota}/1h` } },
      routes: { '/limited': 'quota' },
    },
  };
}

async function statusOf(path: string): Promise<number> {
  const response = await fetch(`${gateways.origin}${path}`);
  await response.text();
  return response.status;
}

/** A sample of the only pod's metrics. */
async function metric(name: string): Promise<number> {
  const [pod] = gateways.deployment.pods;
  const text = await (await fetch(`http://${pod?.address}:9090/metrics`)).text();
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
}

it('starts as the manifest says: checked first, as its user, on a root that cannot be written, within its memory', async () => {
  await gateways.install(valuesOf(3));
  await gateways.rolledOut();
  const [pod] = gateways.deployment.pods;
  expect(pod?.containers.map(({ spec }) => spec.name)).toEqual(['check', 'weir']);
  const [check, weir] = pod?.containers ?? [];
  expect(await check?.exit).toBe(0);
  expect(check?.output).toContain('gateway.yaml: ok');
  expect(await weir?.privileges()).toEqual({
    Uid: '65532',
    Gid: '65532',
    Groups: '65532',
    NoNewPrivs: '1',
    CapEff: '0000000000000000',
  });
  await expect(writeFile(`/proc/${weir?.pid}/root/file`, '')).rejects.toThrow('EROFS');
  expect(weir?.environment['NODE_OPTIONS']).toBe(
    '--max-old-space-size=614 --max-semi-space-size=16 --v8-pool-size=0',
  );
  expect(await weir?.memoryBytes()).toBeLessThan(512 * 2 ** 20);
});

it('passes helm test', async () => {
  const pods = await gateways.test();
  expect(pods.map(pod => pod.containers.map(({ spec }) => spec.name))).toEqual([['ask']]);
  expect(await pods[0]?.containers[0]?.exit, pods[0]?.events.join()).toBe(0);
});

it('takes new limits from a swapped ConfigMap under load, without a restart and without a lost request', async () => {
  const [pod] = gateways.deployment.pods;
  const load = new SteadyLoad(gateways.origin, '/free');
  onTestFinished(() => load.stop());
  await waitFor('the limit of before is used up', async () => (await statusOf('/limited')) === 429);
  await gateways.install(valuesOf(1_000));
  await waitFor('the limit of after is in force', async () => (await statusOf('/limited')) === 200);
  await load.stop();
  expect(load.lost).toEqual([]);
  expect([...load.statuses.keys()]).toEqual([200]);
  expect(gateways.deployment.pods).toEqual([pod]);
  expect(pod?.restarts).toBe(0);
});

it('keeps the last good configuration after a bad swap, while a new pod is refused by its init container', async () => {
  const [pod] = gateways.deployment.pods;
  await gateways.edit('weir-limits', 'limits.yaml', text =>
    text.replace('/limited: quota', '/limited: quoat'),
  );
  await waitFor(
    'the swap is refused',
    async () => (await metric('weir_config_last_reload_successful')) === 0,
  );
  expect(await statusOf('/limited')).toBe(200);

  gateways.deployment.scale(2);
  const fresh = (): Pod | undefined => gateways.deployment.pods.find(candidate => candidate !== pod);
  await waitFor('the new pod is refused', () => (fresh()?.events.length ?? 0) > 0);
  expect(fresh()?.events[0]).toMatch(/init container check ended with 1: .*limits\.yaml:\d+:\d+: .*quoat/);
  expect(fresh()?.containers.some(({ spec }) => spec.name === 'weir')).toBe(false);
  expect(await statusOf('/limited')).toBe(200);

  await gateways.edit('weir-limits', 'limits.yaml', text => text.replace('quoat', 'quota'));
  await gateways.rolledOut();
  expect(gateways.deployment.pods).toContain(pod);
  expect(await metric('weir_config_last_reload_successful')).toBe(1);
});

it('rolls its pods for a changed address, and for no other change of gateway.yaml', async () => {
  gateways.deployment.scale(1);
  await gateways.rolledOut();
  const [pod] = gateways.deployment.pods;
  const routes = [{ path: '/limited', upstream: 'api', authentication: 'none' }];
  await gateways.install(valuesOf(1_000, { routes }));
  await waitFor('a route is gone', async () => (await statusOf('/free')) === 404);
  expect(gateways.deployment.pods).toEqual([pod]);

  await gateways.install(valuesOf(1_000, { listen: { http: '0.0.0.0:8000' } }));
  await gateways.rolledOut();
  expect(gateways.deployment.pods).not.toContain(pod);
  expect(await statusOf('/free')).toBe(200);
});

it('waits for a Secret that is missing, and starts when it is there', async () => {
  const [pod] = gateways.deployment.pods;
  const secrets = { tls: { secretName: 'weir-tls' } };
  await gateways.install({ ...valuesOf(1_000), secrets });
  const fresh = (): Pod | undefined => gateways.deployment.pods.find(candidate => candidate !== pod);
  await waitFor('the new pod waits', () => (fresh()?.events.length ?? 0) > 0);
  expect(fresh()?.events).toEqual(['Error: Secret weir-tls not found']);
  expect(await statusOf('/free')).toBe(200);
  await gateways.cluster.apply([{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'weir-tls' } }]);
  await gateways.rolledOut();
});

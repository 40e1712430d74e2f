import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { type Manifest, Rendered, template, VALUES_FILES } from './chart.ts';
import { HELM_VERSIONS } from './helm-fetched.ts';

const deploymentWith = async (values: object): Promise<Manifest> =>
  (await Rendered.of(values)).one('Deployment');

const POD = 'spec.template.spec';

describe('the pods', () => {
  it('check the configuration before they serve it', async () => {
    const deployment = (await Rendered.of({}, { file: 'full-values.yaml' })).one('Deployment');
    const check = deployment.parts(`${POD}.initContainers`).at(-1);
    const [weir] = deployment.parts(`${POD}.containers`);
    expect(check?.at('args')).toEqual(['check', '/etc/weir/gateway.yaml', '--offline']);
    expect(weir?.at('args')).toEqual(['serve', '/etc/weir/gateway.yaml']);
    const seen = (container?: Manifest) =>
      ['image', 'env', 'envFrom', 'volumeMounts', 'securityContext'].map(key => container?.at(key));
    expect(seen(check)).toEqual(seen(weir));
  });

  it('mount both files in one folder, without subPath, so that both change together', async () => {
    const deployment = await deploymentWith({});
    expect(deployment.parts(`${POD}.volumes`)[0]?.at('projected.sources')).toEqual([
      { configMap: { name: 'weir-gateway' } },
      { configMap: { name: 'weir-limits' } },
    ]);
    expect(deployment.at(`${POD}.containers.0.volumeMounts`)).toEqual([
      { name: 'config', mountPath: '/etc/weir', readOnly: true },
    ]);
  });

  it('get existing Secrets as files that only their group reads', async () => {
    const deployment = await deploymentWith({ secrets: { oidc: { secretName: 'weir-oidc' } } });
    expect(deployment.parts(`${POD}.volumes`)[1]?.toJSON()).toEqual({
      name: 'secret-oidc',
      secret: { secretName: 'weir-oidc', defaultMode: 0o440 },
    });
    expect(deployment.at(`${POD}.containers.0.volumeMounts.1`)).toEqual({
      name: 'secret-oidc',
      mountPath: '/run/secrets/oidc',
      readOnly: true,
    });
    expect(deployment.at(`${POD}.securityContext.fsGroup`)).toBe(65532);
  });

  it('are asked for health on the admin port, over TLS where it speaks TLS', async () => {
    const probes = (deployment: Manifest) =>
      ['startup', 'readiness', 'liveness'].map(name =>
        deployment.at(`${POD}.containers.0.${name}Probe.httpGet`),
      );
    const get = (path: string, scheme: string) => ({ path, port: 'admin', scheme });
    expect(probes(await deploymentWith({}))).toEqual([
      get('/healthz', 'HTTP'),
      get('/readyz', 'HTTP'),
      get('/healthz', 'HTTP'),
    ]);
    const overTls = (await Rendered.of({}, { file: 'tls-values.yaml' })).one('Deployment');
    expect(probes(overTls)[1]).toEqual(get('/readyz', 'HTTPS'));
  });
});

describe('the restricted profile', () => {
  it.each(VALUES_FILES)('holds for every pod of ci/%s', async file => {
    const rendered = await Rendered.of({}, { file });
    const pods = [rendered.one('Deployment').at(POD), rendered.one('Pod').at('spec')];
    for (const pod of pods) {
      expect(pod).toMatchObject({
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        securityContext: {
          runAsNonRoot: true,
          ...(file !== 'openshift-values.yaml' && { runAsUser: 65532, runAsGroup: 65532 }),
          seccompProfile: { type: 'RuntimeDefault' },
        },
      });
      expect(pod).not.toHaveProperty('hostNetwork');
    }
    const containers = [
      ...rendered.one('Deployment').parts(`${POD}.initContainers`),
      ...rendered.one('Deployment').parts(`${POD}.containers`),
      ...rendered.one('Pod').parts('spec.containers'),
    ];
    for (const container of containers) {
      expect(container.at('securityContext')).toEqual({
        allowPrivilegeEscalation: false,
        capabilities: { drop: ['ALL'] },
        readOnlyRootFilesystem: true,
      });
      expect(container.at('resources.limits.memory')).toBeDefined();
    }
  });

  it('leaves the user to OpenShift, which chooses one for each namespace', async () => {
    const deployment = (await Rendered.of({}, { file: 'openshift-values.yaml' })).one('Deployment');
    expect(deployment.at(`${POD}.securityContext`)).toEqual({
      runAsNonRoot: true,
      seccompProfile: { type: 'RuntimeDefault' },
    });
  });

  it('gives the service account no token', async () => {
    expect((await Rendered.of({})).one('ServiceAccount').at('automountServiceAccountToken')).toBe(false);
  });
});

describe('the grace period', () => {
  it.each([
    [{}, {}, 35],
    [{ delay: '10s', drain: '1m' }, {}, 75],
    [{ delay: '0s', drain: '1500ms' }, {}, 7],
    [{ drain: '1h' }, { preStopSleepSeconds: 7 }, 3617],
    [{ drain: '20s' }, { terminationGracePeriodSeconds: 60 }, 60],
    [{ drain: `\${DRAIN}` }, { terminationGracePeriodSeconds: 10 }, 10],
  ])('follows from shutdown %j with %j: %i s', async (shutdown, values, seconds) => {
    const deployment = await deploymentWith({ config: { shutdown }, ...values });
    expect(deployment.at(`${POD}.terminationGracePeriodSeconds`)).toBe(seconds);
  });

  it('leaves room for a sleep before SIGTERM', async () => {
    expect((await deploymentWith({})).at(`${POD}.containers.0.lifecycle`)).toBeUndefined();
    const deployment = await deploymentWith({ preStopSleepSeconds: 7 });
    expect(deployment.at(`${POD}.containers.0.lifecycle`)).toEqual({ preStop: { sleep: { seconds: 7 } } });
  });
});

describe('the heap', () => {
  const optionsWith = async (values: object): Promise<string | undefined> => {
    const variables = (await deploymentWith(values)).parts(`${POD}.containers.0.env`);
    return variables
      .find(variable => variable.at('name') === 'NODE_OPTIONS')
      ?.at('value')
      ?.toString();
  };

  it.each([
    ['1Gi', '--max-old-space-size=614'],
    ['512Mi', '--max-old-space-size=307'],
    ['1G', '--max-old-space-size=572'],
    ['1.5Gi', '--max-old-space-size=921'],
    [2147483648, '--max-old-space-size=1228'],
    ['1073741824000m', '--max-old-space-size=614'],
    ['1e9', '--max-old-space-size=572'],
    ['0.000001P', '--max-old-space-size=572'],
    ['0.000000001E', '--max-old-space-size=572'],
    ['0.001Pi', '--max-old-space-size=644245'],
    ['1Ei', '--max-old-space-size=659706976665'],
  ])('has 60 percent of a memory limit of %s', async (memory, options) => {
    const written = await optionsWith({ resources: { limits: { memory } } });
    expect(written).toBe(`${options} --max-semi-space-size=16 --v8-pool-size=0`);
  });

  it('has the share of the default where the values say null', async () => {
    const options = await optionsWith({ heapPercent: null, nodeOptions: null });
    expect(options).toBe('--max-old-space-size=614 --max-semi-space-size=16 --v8-pool-size=0');
  });

  it('is left to Node.js without a memory limit', async () => {
    expect(await optionsWith({ resources: { limits: null } })).toBeUndefined();
  });

  it('has the size that the pod asks for', async () => {
    const options = await optionsWith({ nodeOptions: '--max-semi-space-size=32' });
    const script = 'console.log(v8.getHeapStatistics().heap_size_limit / 2 ** 20)';
    const env = { ...process.env, NODE_OPTIONS: options };
    const limitMiB = Number(
      execFileSync(process.execPath, ['-p', script], { env, encoding: 'utf8' }).split('\n')[0],
    );
    // 614 MiB, and three semi-spaces.
    expect(limitMiB).toBe(614 + 3 * 32);
  });
});

describe('scheduling', () => {
  it('spreads the pods over zones and nodes', async () => {
    const keys = (deployment: Manifest) =>
      deployment
        .parts(`${POD}.topologySpreadConstraints`)
        .map(part => [part.at('topologyKey'), part.at('whenUnsatisfiable')]);
    expect(keys(await deploymentWith({}))).toEqual([
      ['kubernetes.io/hostname', 'ScheduleAnyway'],
      ['topology.kubernetes.io/zone', 'ScheduleAnyway'],
    ]);
    const strict = { topologySpread: { zones: 'none', nodes: 'DoNotSchedule' } };
    expect(keys(await deploymentWith(strict))).toEqual([['kubernetes.io/hostname', 'DoNotSchedule']]);
  });

  it('spreads them as the constraints of the values say, over the pods of one revision', async () => {
    const own = { topologyKey: 'rack', maxSkew: 2, whenUnsatisfiable: 'DoNotSchedule', minDomains: 3 };
    const selected = { ...own, labelSelector: { matchLabels: { team: 'platform' } } };
    const deployment = await deploymentWith({ topologySpreadConstraints: [own, selected] });
    const labels = deployment.at('spec.selector.matchLabels');
    expect(deployment.at(`${POD}.topologySpreadConstraints`)).toEqual([
      { ...own, labelSelector: { matchLabels: labels }, matchLabelKeys: ['pod-template-hash'] },
      selected,
    ]);
  });

  it('never has fewer pods than replicas says while it replaces them', async () => {
    const deployment = await deploymentWith({});
    expect(deployment.at('spec.strategy.rollingUpdate')).toEqual({ maxSurge: 1, maxUnavailable: 0 });
  });

  it('replaces all pods at once with the strategy Recreate', async () => {
    const deployment = await deploymentWith({ strategy: { type: 'Recreate' } });
    expect(deployment.at('spec.strategy')).toEqual({ type: 'Recreate' });
  });

  it.each([
    { replicas: null },
    { autoscaling: { scaler: 'KEDA' } },
    { replicas: 3, autoscaling: { scaler: 'KEDA' } },
    { replicas: 3, autoscaling: { enabled: true } },
  ])('leaves the number of pods to what sets it: %j', async values => {
    for (const helm of HELM_VERSIONS) {
      const { out } = await template({ ...values, limitsPerReplica: true }, { helm });
      expect(new Rendered(out).one('Deployment').at('spec')).not.toHaveProperty('replicas');
    }
  });

  it.each([0, 1, 3])('says how many pods there are where nothing else does: %i', async replicas => {
    const deployment = await deploymentWith({ replicas, limitsPerReplica: true });
    expect(deployment.at('spec.replicas')).toBe(replicas);
  });

  it('scales by further metrics', async () => {
    const queue = {
      type: 'External',
      external: { metric: { name: 'queue' }, target: { type: 'Value', value: '5' } },
    };
    const autoscaling = { enabled: true, requestsInFlight: 200, metrics: [queue] };
    const rendered = await Rendered.of({ autoscaling, limitsPerReplica: true });
    const metrics = rendered.one('HorizontalPodAutoscaler').parts('spec.metrics');
    expect(metrics.map(metric => metric.at('type'))).toEqual(['Resource', 'Pods', 'External']);
    expect(metrics.at(-1)?.toJSON()).toEqual(queue);
  });

  it('scales by other metrics alone, without the CPU', async () => {
    const memory = {
      type: 'Resource',
      resource: { name: 'memory', target: { type: 'Utilization', averageUtilization: 80 } },
    };
    const metricsWith = async (autoscaling: object) => {
      const values = {
        autoscaling: { enabled: true, cpuPercent: null, ...autoscaling },
        limitsPerReplica: true,
      };
      return (await Rendered.of(values)).one('HorizontalPodAutoscaler').parts('spec.metrics');
    };
    expect((await metricsWith({ requestsInFlight: 200 })).map(metric => metric.at('type'))).toEqual(['Pods']);
    expect((await metricsWith({ metrics: [memory] })).map(metric => metric.toJSON())).toEqual([memory]);
  });

  it('leaves the number of pods to the autoscaler', async () => {
    const rendered = await Rendered.of({}, { file: 'full-values.yaml' });
    expect(rendered.one('Deployment').at('spec.replicas')).toBeUndefined();
    expect(rendered.one('HorizontalPodAutoscaler').at('spec')).toMatchObject({
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'edge' },
      minReplicas: 3,
      maxReplicas: 12,
    });
  });
});

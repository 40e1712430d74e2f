import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { valuesSchema } from '../../scripts/chart/values.ts';
import { type Manifest, Rendered, template } from './chart.ts';
import { HELM_VERSIONS } from './helm-fetched.ts';
import { KUBERNETES_VERSIONS, StrictSchemas } from './strict-schemas.ts';

const REDIS = { store: { redis: 'redis://redis.data.svc:6379' } };
const listen = (listener: object) => ({ config: { listen: listener } });

const NO_PROXIES = {
  upstreams: { api: { url: 'http://api:3000' } },
  routes: [{ path: '/**', upstream: 'api', authentication: 'none' }],
};

/** The path of every value, and of every map of values. */
const PATHS = pathsIn(z.toJSONSchema(valuesSchema, { io: 'input', target: 'draft-7' }));

function pathsIn({ properties = {} }: z.core.JSONSchema.BaseSchema): string[] {
  return Object.entries(properties).flatMap(([key, inner]) => [
    key,
    ...pathsIn(Object(inner)).map(path => `${key}.${path}`),
  ]);
}

/** Values with a folder of state on a volume. */
const stateOn = (volume: object, mount: object = {}) => ({
  config: { state: '/var/lib/weir' },
  volumes: [{ name: 'state', ...volume }],
  volumeMounts: [{ name: 'state', mountPath: '/var/lib/', ...mount }],
});
const CLAIM = { persistentVolumeClaim: { claimName: 'kept' } };
const RECREATED = { strategy: { type: 'Recreate' } };

/** Values that name what the chart sets itself. */
const RESERVED: readonly (readonly [values: object, words: string])[] = [
  [{ podLabels: { 'app.kubernetes.io/component': 'x' } }, 'podLabels has app.kubernetes.io/component'],
  [{ commonLabels: { 'app.kubernetes.io/name': 'x' } }, 'commonLabels has app.kubernetes.io/name'],
  [{ commonLabels: { 'app.kubernetes.io/component': 'x' } }, 'commonLabels has app.kubernetes.io/component'],
  [{ alerts: { labels: { 'helm.sh/chart': 'x' } } }, 'alerts.labels has helm.sh/chart'],
  [{ podAnnotations: { 'checksum/restart-keys': 'x' } }, 'podAnnotations has checksum/restart-keys'],
  [{ service: { spec: { type: 'NodePort' } } }, 'service.spec has type'],
  [{ adminService: { spec: { ports: [] } } }, 'adminService.spec has ports'],
];

/** Values on top of the minimal ones, and the words that end the installation. */
const REFUSED: readonly (readonly [values: object, words: string])[] = [
  [
    { image: { repository: '' } },
    'image.repository is missing: no image is published, so build one, push it and name it here (docs/kubernetes.md)',
  ],
  [
    { config: { trusted_proxies: [] } },
    'config.trusted_proxies is missing: list the networks of the proxies in front of the pods, such as those of the ingress controller, or write none if clients connect directly; otherwise all clients of a proxy count as one address',
  ],
  [
    { replicas: 2 },
    'replicas is 2, but each pod would count limits alone: name a Redis in config.store.redis, or accept up to 2 times each limit with limitsPerReplica: true',
  ],
  [{ replicas: 2, config: { store: 'memory' } }, 'replicas is 2, but each pod would count limits alone'],
  [
    { autoscaling: { enabled: true, maxReplicas: 4 } },
    'autoscaling.maxReplicas is 4, but each pod would count limits alone: name a Redis in config.store.redis, or accept up to 4 times each limit with limitsPerReplica: true',
  ],
  [
    { replicas: null },
    'replicas is null, so there may be several pods, but each would count limits alone: name a Redis in config.store.redis, or accept that N pods allow up to N times each limit with limitsPerReplica: true',
  ],
  [
    { autoscaling: { scaler: 'KEDA' } },
    'autoscaling.scaler is KEDA, so there may be several pods, but each would count limits alone',
  ],
  [
    { autoscaling: { enabled: true, scaler: 'KEDA' }, config: REDIS },
    'autoscaling.enabled is true and autoscaling.scaler is KEDA: two would set the number of pods, so keep one',
  ],
  [
    { autoscaling: { enabled: true, cpuPercent: null }, config: REDIS },
    'autoscaling.enabled is true, but nothing says when to scale: set cpuPercent, requestsInFlight or metrics',
  ],
  [
    { kind: 'DaemonSet' },
    'kind is DaemonSet, so there may be several pods, but each would count limits alone: name a Redis',
  ],
  [
    { kind: 'DaemonSet', autoscaling: { scaler: 'KEDA' }, config: REDIS },
    'kind is DaemonSet, whose pods are as many as the nodes: leave autoscaling out',
  ],
  [
    { kind: 'DaemonSet', strategy: { type: 'Recreate' }, config: REDIS },
    'strategy.type is Recreate, which a DaemonSet does not know: write RollingUpdate or OnDelete',
  ],
  [
    { strategy: { type: 'OnDelete' } },
    'strategy.type is OnDelete, which a Deployment does not know: write RollingUpdate or Recreate',
  ],
  [
    { kind: 'DaemonSet', strategy: { rollingUpdate: { maxUnavailable: 1 } }, config: REDIS },
    'strategy.rollingUpdate has maxSurge and maxUnavailable, but a DaemonSet takes one: set the other to 0',
  ],
  [
    { kind: 'DaemonSet', hostNetwork: true, config: REDIS },
    'hostNetwork is true, so that no second pod finds its ports free on a node: set strategy.rollingUpdate to { maxSurge: 0, maxUnavailable: 1 }',
  ],
  [
    { kind: 'DaemonSet', ...stateOn({ hostPath: { path: '/var/lib/weir' } }), limitsPerReplica: true },
    'config.state is on the volume state, which the old pod of a node still uses while a new one starts: set strategy.rollingUpdate to { maxSurge: 0, maxUnavailable: 1 }',
  ],
  [
    {
      httpRoute: {
        enabled: true,
        parentRefs: [{ name: 'public' }],
        rules: [{}],
        timeouts: { request: '0s' },
      },
    },
    'httpRoute has rules and timeouts: write the timeouts into the rules',
  ],
  [
    { lifecycle: { preStop: { sleep: { seconds: 1 } } }, preStopSleepSeconds: 1 },
    'lifecycle has preStop, and preStopSleepSeconds is set: keep one',
  ],
  [
    { alerts: { rules: { WeirNearLimit: { for: '1h' } } } },
    'alerts.rules has WeirNearLimit, which is no alert of the chart: see docs/alerts.md',
  ],
  [
    { checkResources: { limits: { memory: '64Mi' } } },
    'checkResources.limits.memory is 64Mi, but the check takes up to 160 MiB, so its pods would be killed',
  ],
  [
    { checkResources: { requests: { memory: 'much' } } },
    'checkResources.requests.memory is "much", which is not a quantity',
  ],
  [
    { config: { limits: 'limits.yaml' } },
    "config.limits is the chart's: put the content of limits.yaml into the value limits",
  ],
  [
    listen({ http: `\${ADDRESS}` }),
    `config.listen.http is "\${ADDRESS}": the chart needs its port, such as "[::]:8080"`,
  ],
  [
    listen({ admin: '127.0.0.1:9090' }),
    'config.listen.admin is "127.0.0.1:9090", which no other pod and no probe can reach: write "[::]:9090"',
  ],
  [listen({ admin: false }), 'config.listen.admin is off, but probes need it: leave it out'],
  [
    listen({
      admin: {
        address: '0.0.0.0:9090',
        tls: {
          certificates: [{ certificate_file: '/run/tls.crt', key_file: '/run/tls.key' }],
          client_certificates: { ca_file: '/run/ca.crt' },
        },
      },
    }),
    "config.listen.admin.tls.client_certificates is required, but the kubelet's probes have no certificate: set required: false there",
  ],
  [
    { grpcRoute: { enabled: true, parentRefs: [{ name: 'public' }] } },
    'grpcRoute.enabled is true, but nothing listens for gRPC: set config.listen.grpc, such as "[::]:8081"',
  ],
  [
    { httpRoute: { enabled: true } },
    'httpRoute.parentRefs is missing: name the Gateway, such as [{ name: public, namespace: gateways }]',
  ],
  [
    { metrics: { monitor: 'ServiceMonitor' } },
    'metrics.monitor is ServiceMonitor, but networkPolicy.admin admits nobody: name Prometheus there, such as [{ namespaceSelector: { matchLabels: { kubernetes.io/metadata.name: monitoring } } }]',
  ],
  [
    { config: { shutdown: { drain: `\${DRAIN}` } } },
    'config.shutdown.drain is a variable: set terminationGracePeriodSeconds as well',
  ],
  [
    { terminationGracePeriodSeconds: 36, preStopSleepSeconds: 7 },
    'terminationGracePeriodSeconds is 36, but preStopSleepSeconds and config.shutdown take 37 s, so Kubernetes would kill requests in flight: leave it out or write at least 42',
  ],
  ...['1K', '1GB', 'much', '-1Gi'].map(
    memory =>
      [
        { resources: { limits: { memory } } },
        `resources.limits.memory is "${memory}", which is not a quantity, such as 1Gi or 512M`,
      ] as const,
  ),
  [
    { env: [{ name: 'NODE_OPTIONS', value: '--trace-warnings' }] },
    'env has NODE_OPTIONS, which the chart writes itself for the heap limit: put its options into nodeOptions',
  ],
  [
    { config: { store: { redis: 'redis://:secret@redis.data.svc:6379' } } },
    'config.store.redis contains a password, which everyone who reads the ConfigMap would see: put it into a Secret under secrets, and its path into config.store.password_file',
  ],
  [
    { autoscaling: { enabled: true, minReplicas: 4, maxReplicas: 3 }, config: REDIS },
    'autoscaling.minReplicas is 4, more than autoscaling.maxReplicas, 3',
  ],
  [
    listen({ redirect: '0.0.0.0:8079' }),
    'config.listen.redirect is set, but there is no https to send clients to: add tls to config.listen.http',
  ],
  [
    listen({ http: '0.0.0.0:8080', grpc: '0.0.0.0:8080' }),
    'config.listen.grpc and config.listen.http have the same port, 8080: give each one of its own',
  ],
  [
    { service: { grpcPort: 80 }, ...listen({ grpc: '0.0.0.0:8081' }) },
    'service.grpcPort and service.port are both 80: give each a port of its own',
  ],
  [{ image: { repository: 'r/weir:1.0' } }, 'image.repository has a tag, 1.0: put it into image.tag'],
  [
    { image: { repository: 'localhost:5000/weir:1' } },
    'image.repository has a tag, 1: put it into image.tag',
  ],
  [
    { image: { repository: 'r/weir@sha256:4f5a' } },
    'image.repository has a digest: put it, with its sha256:, into image.digest',
  ],
  ...['https://r/weir', 'R.example.com/Weir', 'r/weir/', 'r weir'].map(
    repository =>
      [
        { image: { repository } },
        `image.repository is "${repository}": write host/path in lower case, without https://, such as registry.example.com/weir`,
      ] as const,
  ),
  [
    { resources: { limits: { memory: '100Mi' } } },
    'resources.limits.memory is 100Mi, but a gateway takes up to 160 MiB before its first request, so its pods would be killed: write at least 192Mi, better 1Gi',
  ],
  [
    { resources: { limits: { memory: '200Mi' } } },
    'resources.requests.memory is 256Mi, more than resources.limits.memory, 200Mi',
  ],
  [
    { resources: { limits: { memory: '1Gi', cpu: '0.2' } } },
    'resources.requests.cpu is 500m, more than resources.limits.cpu, 0.2',
  ],
  [
    { resources: { requests: { cpu: 'half' } } },
    'resources.requests.cpu is "half", which is not a quantity, such as 500m or 1',
  ],
  [
    { resources: { requests: { cpu: -1 } } },
    'resources.requests.cpu is "-1", which is not a quantity, such as 500m or 1',
  ],
  [
    { resources: { limits: { mem: '1Gi' } } },
    'resources.limits.mem: Kubernetes knows cpu, memory and ephemeral-storage',
  ],
  [
    { autoscaling: { enabled: true }, config: REDIS, resources: { requests: { cpu: null } } },
    'autoscaling.enabled is true, but resources.requests.cpu is missing',
  ],
  [
    { strategy: { rollingUpdate: { maxSurge: 0 } } },
    'strategy.rollingUpdate has 0 as maxSurge and as maxUnavailable: no pod could ever be replaced, so raise one',
  ],
  [
    { strategy: { rollingUpdate: { maxSurge: '0%' } } },
    'strategy.rollingUpdate has 0 as maxSurge and as maxUnavailable',
  ],
  [{ service: { nodePort: 30080 } }, 'service.nodePort needs service.type: NodePort or LoadBalancer'],
  [
    {
      service: { type: 'NodePort', nodePort: 30080, grpcNodePort: 30080 },
      ...listen({ grpc: '0.0.0.0:8081' }),
    },
    'service.nodePort and service.grpcNodePort are both 30080: give each a port of its own',
  ],
  [
    { tlsRoute: { enabled: true, parentRefs: [{ name: 'public' }], hostnames: ['a.example.com'] } },
    'tlsRoute.enabled is true, but the gateway speaks no TLS: add tls to config.listen.http, or use httpRoute',
  ],
  [
    { backendTLSPolicy: { enabled: true, hostname: 'a.example.com', wellKnownCACertificates: 'System' } },
    'backendTLSPolicy.enabled is true, but the gateway speaks no TLS: add tls to config.listen.http or config.listen.grpc',
  ],
  [
    { alerts: { disabled: ['WeirNearLimit'] } },
    'alerts.disabled has WeirNearLimit, which is no alert of the chart: see docs/alerts.md',
  ],
  [
    { alerts: { thresholds: { certificateDays: 3 } } },
    'alerts.thresholds.certificateDaysSoon has to be less than certificateDays',
  ],
  [
    { existingConfigMaps: { gateway: 'files' } },
    'config.routes has no effect, since gateway.yaml comes from the ConfigMap files: write it there. Only listen, shutdown and store say here what the chart has to know',
  ],
  [
    { existingConfigMaps: { limits: 'files' }, limits: { global: { user: '1/1s' } } },
    'limits has no effect, since limits.yaml comes from the ConfigMap files: write it there',
  ],
  [{ sidecars: [{ name: 'weir', image: 'tool' }] }, "sidecars has a second weir: the other is the chart's"],
  [
    { initContainers: [{ name: 'a', image: 'tool', volumeMounts: [{ name: 'b', mountPath: '/b' }] }] },
    'initContainers: a mounts b, which is not in volumes',
  ],
  [{ volumes: [{ name: 'config', emptyDir: {} }] }, "volumes has a second config: the other is the chart's"],
  [
    {
      secrets: { oidc: { secretName: 'oidc' } },
      volumes: [{ name: 'own', emptyDir: {} }],
      volumeMounts: [{ name: 'own', mountPath: '/run/secrets/oidc/' }],
    },
    'volumeMounts has a second /run/secrets/oidc/: the other is of secrets.oidc',
  ],
  [
    { config: { state: '/var/lib/weir' } },
    'config.state is /var/lib/weir, where nothing can be written that outlives the container: add volumes: [{ name: state, emptyDir: {} }] and volumeMounts: [{ name: state, mountPath: /var/lib/weir }]',
  ],
  [
    { config: { state: { folder: 'kept', counters: '1h' } } },
    'config.state is /etc/weir/kept, where nothing',
  ],
  [stateOn({ emptyDir: {} }, { mountPath: '/var/lib/wei' }), 'config.state is /var/lib/weir, where nothing'],
  [
    stateOn({ emptyDir: {} }, { readOnly: true }),
    'volumeMounts: state is readOnly, but config.state is written to /var/lib/weir',
  ],
  [
    stateOn(CLAIM),
    'config.state is on the volume state, which the old pod still uses while a new one starts, so the new one would keep nothing: set strategy.type: Recreate, or take an emptyDir',
  ],
  [
    { ...stateOn(CLAIM), ...RECREATED, replicas: 2, limitsPerReplica: true },
    'config.state is on the volume state, which several pods would share, but one gateway uses a folder: take an emptyDir, or replicas: 1',
  ],
  [
    { volumeMounts: [{ name: 'authorities', mountPath: '/ca' }] },
    'volumeMounts names authorities, which is not in volumes',
  ],
  ...RESERVED.map(
    ([values, words]) => [values, `${words}, which the chart sets itself: leave it out`] as const,
  ),
];

describe.each(HELM_VERSIONS)('Helm %s', helm => {
  it.each(REFUSED)('refuses %j in words', async (values, words) => {
    const { code, err } = await template(values, { helm });
    expect(code).not.toBe(0);
    expect(err.replaceAll(/\s+/g, ' ')).toContain(`The values have errors: - ${words}`);
  });

  it('refuses values that do not mention proxies', async () => {
    const { err } = await template(
      { config: NO_PROXIES, image: { repository: 'weir' } },
      { helm, file: null },
    );
    expect(err).toContain('config.trusted_proxies is missing');
  });

  it('says in the first round what an installation without values lacks', async () => {
    for (const values of [{}, { config: null }, { config: {} }]) {
      const { err } = await template(values, { helm, file: null });
      const missing = ['image.repository', 'config.upstreams', 'config.routes', 'config.trusted_proxies'];
      expect(err.match(/^- \S+ is missing/gm)).toEqual(missing.map(key => `- ${key} is missing`));
    }
  });

  it('says everything at once', async () => {
    const { err } = await template({ image: { repository: '' }, replicas: 3 }, { helm });
    expect(err.match(/^- /gm)).toHaveLength(2);
  });

  it.each([
    { replicas: 2, limitsPerReplica: true },
    { replicas: 2, config: REDIS },
    { replicas: null, config: REDIS },
    { autoscaling: { scaler: 'KEDA' }, config: REDIS },
    { config: { trusted_proxies: 'none' } },
    { autoscaling: { enabled: true, maxReplicas: 4 }, config: REDIS },
    { metrics: { monitor: 'ServiceMonitor' }, networkPolicy: { enabled: false } },
    { terminationGracePeriodSeconds: 30 },
    { env: [{ name: 'NODE_OPTIONS', value: '--trace-warnings' }], resources: { limits: null } },
    { config: { store: { redis: 'redis://weir@redis.data.svc:6379' } } },
    { podLabels: { 'app.kubernetes.io/version': '1' } },
    { ...stateOn({ emptyDir: {} }), replicas: 2, limitsPerReplica: true },
    {
      kind: 'DaemonSet',
      ...stateOn({ hostPath: { path: '/var/lib/weir' } }),
      strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } },
      limitsPerReplica: true,
    },
    { kind: 'DaemonSet', config: REDIS },
    { ...stateOn(CLAIM, { mountPath: '/var/lib/weir/' }), ...RECREATED },
    { ...stateOn(CLAIM), ...RECREATED, config: { state: { folder: '/var/lib/weir', counters: '1h' } } },
  ])('takes %j', async values => {
    expect(await template(values, { helm })).toMatchObject({ code: 0, err: '' });
  });

  it.each([
    [{ replcas: 2 }, 'replcas'],
    [{ image: { tga: '1' } }, 'tga'],
    [{ config: { lisen: {} } }, 'lisen'],
    [{ config: { upstreams: { api: { url: 'http://api', time_outs: {} } } } }, 'time_outs'],
    [{ limits: { buckets: { all: { usr: '1/1s' } } } }, 'usr'],
    [{ config: { shutdown: { drain: 25 } } }, 'drain'],
    [{ limits: { global: { user: '50' } } }, 'user'],
    [{ replicas: -1 }, 'replicas'],
    [{ secrets: { oidc: {} } }, 'secretName'],
    [{ metrics: { monitor: 'prometheus' } }, 'monitor'],
    [{ config: 'listen: 8080' }, 'config'],
    [{ config: ['routes'] }, 'config'],
    [{ limits: 'global: off' }, 'limits'],
    [{ resources: { limit: { memory: '1Gi' } } }, 'limit'],
    [{ resources: { limits: '1Gi' } }, 'limits'],
    [{ image: { tag: 'weir:1.0' } }, 'tag'],
    [{ image: { tag: 1.1 } }, 'tag'],
    [{ image: { digest: '4f5a9a3c' } }, 'digest'],
    [{ replicas: 3_000_000_000 }, 'replicas'],
    [{ replicas: 1.5 }, 'replicas'],
    [{ probes: { readiness: { periodSeconds: 0 } } }, 'periodSeconds'],
    [{ probes: { readiness: { path: '/' } } }, 'path'],
    [{ service: { port: 70_000 } }, 'port'],
    [{ service: { spec: { externalTraficPolicy: 'Local' } } }, 'externalTraficPolicy'],
    [{ strategy: { type: 'Rolling' } }, 'type'],
    [{ podDisruptionBudget: { maxUnavailable: '120%' } }, 'maxUnavailable'],
    [{ preStopSleepSeconds: -1 }, 'preStopSleepSeconds'],
    [{ fullnameOverride: 'Edge_1' }, 'fullnameOverride'],
    [{ nameOverride: '1weir' }, 'nameOverride'],
    [{ podLabels: { team: 'a b' } }, 'podLabels'],
    [{ env: [{ name: 'A', value: 1 }] }, 'env'],
    [{ env: [{ naem: 'A' }] }, 'naem'],
    [{ securityContext: { runAsNonroot: true } }, 'runAsNonroot'],
    [{ podSecurityContext: { fsgroup: 1 } }, 'fsgroup'],
    [{ tolerations: [{ kye: 'edge' }] }, 'kye'],
    [{ affinity: { podAntiafinity: {} } }, 'podAntiafinity'],
    [{ volumes: [{ name: 'a', configMaps: {} }] }, 'configMaps'],
    [{ networkPolicy: { admin: [{ namespaceselector: {} }] } }, 'namespaceselector'],
    [{ httpRoute: { parentRefs: [{ nmae: 'public' }] } }, 'nmae'],
    [{ httpRoute: { hostnames: ['https://api.example.com'] } }, 'hostnames'],
    [{ httpRoute: { timeouts: { request: '60' } } }, 'request'],
    [{ metrics: { interval: '30' } }, 'interval'],
    [{ serviceAccount: { name: 'Weir' } }, 'name'],
    [{ sidecars: [{ image: 'tool' }] }, 'name'],
    [{ hostAliases: [{ hostnames: ['a'] }] }, 'ip'],
    [{ dnsConfig: { nameserver: [] } }, 'nameserver'],
    [{ alerts: { thresholds: { failedRequests: '1%' } } }, 'failedRequests'],
    [{ ingress: { pathType: 'prefix' } }, 'pathType'],
    [{ extraObjects: [1] }, 'extraObjects'],
    [{ ingress: { hosts: [{ host: 'a.example.com', paths: [{ path: 'v1' }] }] } }, 'hosts'],
    [{ kind: 'StatefulSet' }, 'kind'],
    [{ topologySpreadConstraints: [{ topologykey: 'rack' }] }, 'topologykey'],
    [{ lifecycle: { prestop: {} } }, 'prestop'],
    [{ alerts: { runbookUrl: 'docs' } }, 'runbookUrl'],
    [{ adminService: { spec: { ipFamily: 'IPv6' } } }, 'ipFamily'],
    [{ service: null }, 'service'],
    [{ probes: null }, 'probes'],
  ])('refuses %j by the schema, which names %s', async (values, key) => {
    const { code, err } = await template(values, { helm });
    expect(code).not.toBe(0);
    expect(err).toMatch(/values don't meet the specifications of the schema/);
    expect(err).toContain(key);
    expect(err).not.toContain('executing');
  });
});

// Helm removes what null says, the defaults included.
describe('values that are null', () => {
  const schemas = KUBERNETES_VERSIONS.map(version => new StrictSchemas(version));

  it.each(Object.keys(valuesSchema.shape))(
    'are refused in words, or leave valid manifests: %s',
    async key => {
      const paths = PATHS.filter(path => path === key || path.startsWith(`${key}.`));
      const render = async (path: string) => {
        const values = path.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), null);
        const { err, out } = await template(Object(values), { file: 'full-values.yaml' });
        if (err === '') expect([path, faultsOf(out)]).toEqual([path, []]);
        else expect([path, err]).toEqual([path, expect.stringMatching(/the schema|values have errors/)]);
      };
      await Promise.all(paths.map(render));
    },
  );

  /** The faults of each manifest that was there before: values that are null change few. */
  const known = new Map<string, string[]>();

  /** What an API server would refuse, and every null: it takes some of them, and means the default of Kubernetes' then. */
  function faultsOf(text: string): string[] {
    return text.split(/^---$/m).flatMap(manifest => {
      const faults = known.get(manifest) ?? new Rendered(manifest).manifests.flatMap(faultsIn);
      known.set(manifest, faults);
      return faults;
    });
  }

  function faultsIn(manifest: Manifest): string[] {
    const nulls = nullsIn(manifest.toJSON(), String(manifest.kind));
    return [...nulls, ...schemas.flatMap(schema => schema.errorsOf(manifest))];
  }
});

function nullsIn(value: unknown, path: string): string[] {
  if (value === null) return [`${path} is null`];
  if (typeof value !== 'object') return [];
  return Object.entries(Object(value)).flatMap(([key, inner]) => nullsIn(inner, `${path}.${key}`));
}

import { describe, expect, it } from 'vitest';
import { notes, Rendered, template } from './chart.ts';
import { HELM_VERSIONS } from './helm-fetched.ts';
import { KUBERNETES_VERSIONS, StrictSchemas } from './strict-schemas.ts';

const POD = 'spec.template.spec';
const TOOL = { name: 'tool', image: 'registry.example.com/tool:1' };

const namesOf = (parts: readonly { at(path: string): unknown }[]) => parts.map(part => part.at('name'));

describe('additional containers', () => {
  it('run before the check of the configuration, and beside the gateway', async () => {
    const fetch = { ...TOOL, name: 'fetch' };
    const deployment = (await Rendered.of({ initContainers: [fetch], sidecars: [TOOL] })).one('Deployment');
    expect(namesOf(deployment.parts(`${POD}.initContainers`))).toEqual(['fetch', 'check']);
    expect(namesOf(deployment.parts(`${POD}.containers`))).toEqual(['weir', 'tool']);
  });
});

describe('fields of the pods and the Deployment', () => {
  it.each([
    ['hostAliases', [{ ip: '192.0.2.10', hostnames: ['id.example.com'] }]],
    ['dnsPolicy', 'Default'],
    ['dnsConfig', { options: [{ name: 'ndots', value: '2' }] }],
    ['runtimeClassName', 'gvisor'],
    ['schedulerName', 'own'],
  ])('%s is there only where the values have it', async (key, value) => {
    expect((await Rendered.of({})).one('Deployment').at(POD)).not.toHaveProperty(key);
    expect((await Rendered.of({ [key]: value })).one('Deployment').at(`${POD}.${key}`)).toEqual(value);
  });

  it('of the Deployment are taken as they are', async () => {
    const values = { minReadySeconds: 10, revisionHistoryLimit: 0, deploymentAnnotations: { owner: 'me' } };
    const deployment = (await Rendered.of(values)).one('Deployment');
    expect(deployment.at('spec')).toMatchObject({ minReadySeconds: 10, revisionHistoryLimit: 0 });
    expect(deployment.at('metadata.annotations')).toEqual({ owner: 'me' });
  });
});

describe('the container of the gateway', () => {
  it('has a lifecycle', async () => {
    const postStart = { exec: { command: ['node', '--version'] } };
    const deployment = (await Rendered.of({ lifecycle: { postStart }, preStopSleepSeconds: 2 })).one(
      'Deployment',
    );
    expect(deployment.at(`${POD}.containers.0.lifecycle`)).toEqual({
      postStart,
      preStop: { sleep: { seconds: 2 } },
    });
  });

  it('shares its resources with the check, unless that has its own', async () => {
    const checkResources = { requests: { cpu: '50m' }, limits: { memory: '256Mi' } };
    const deployment = (await Rendered.of({ checkResources })).one('Deployment');
    expect(deployment.at(`${POD}.initContainers.0.resources`)).toEqual(checkResources);
    expect(deployment.at(`${POD}.initContainers.0.env.0.value`)).toContain('--max-old-space-size=153');
    expect(deployment.at(`${POD}.containers.0.env.0.value`)).toContain('--max-old-space-size=614');
    const shared = (await Rendered.of({})).one('Deployment');
    expect(shared.at(`${POD}.initContainers.0.resources`)).toEqual(
      shared.at(`${POD}.containers.0.resources`),
    );
  });
});

describe('the network of the nodes', () => {
  it('is used with the names of the cluster', async () => {
    const pod = (values: object) => Rendered.of(values).then(rendered => rendered.one('Deployment').at(POD));
    expect(await pod({ hostNetwork: true })).toMatchObject({
      hostNetwork: true,
      dnsPolicy: 'ClusterFirstWithHostNet',
    });
    expect(await pod({ hostNetwork: true, dnsPolicy: 'Default' })).toMatchObject({ dnsPolicy: 'Default' });
  });
});

describe('the token of the service account', () => {
  it('reaches the pods where the values ask for it', async () => {
    const rendered = await Rendered.of({ serviceAccount: { automountServiceAccountToken: true } });
    expect(rendered.one('ServiceAccount').at('automountServiceAccountToken')).toBe(true);
    expect(rendered.one('Deployment').at(`${POD}.automountServiceAccountToken`)).toBe(true);
    expect(rendered.one('Pod').at('spec.automountServiceAccountToken')).toBe(false);
  });
});

describe('a DaemonSet', () => {
  const VALUES = { kind: 'DaemonSet', limitsPerReplica: true };

  it('has the pods of the Deployment, and nothing that says how many there are', async () => {
    const [one, other] = await Promise.all([
      Rendered.of(VALUES),
      Rendered.of({ topologySpread: { zones: 'none', nodes: 'none' } }),
    ]);
    expect(one.one('DaemonSet').at('spec.template')).toEqual(other.one('Deployment').at('spec.template'));
    expect(one.one('DaemonSet').at('spec')).not.toHaveProperty('replicas');
    expect(one.all('Deployment')).toEqual([]);
    expect(one.all('PodDisruptionBudget')).toEqual([]);
  });

  it.each([
    [{}, { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } }],
    [{ type: 'OnDelete' }, { type: 'OnDelete' }],
  ])('replaces its pods by strategy %j', async (strategy, expected) => {
    const spec = (await Rendered.of({ ...VALUES, strategy })).one('DaemonSet').at('spec');
    expect(spec).toMatchObject({ updateStrategy: expected });
    expect(spec).not.toHaveProperty('strategy');
  });

  it.each(KUBERNETES_VERSIONS)('has only fields that Kubernetes %s knows', async version => {
    const values = {
      ...VALUES,
      hostNetwork: true,
      strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } },
    };
    const { manifests } = await Rendered.of(values);
    const schemas = new StrictSchemas(version);
    expect(manifests.flatMap(manifest => schemas.errorsOf(manifest))).toEqual([]);
  });

  it('is named by the notes', async () => {
    expect(await notes(VALUES)).toContain('rollout status daemonset/weir');
  });
});

describe('other namespaces', () => {
  const at = (rendered: Rendered, kind: string, name?: string) =>
    rendered.one(kind, name).at('metadata.namespace');

  it('take monitor, rules and dashboard', async () => {
    const rendered = await Rendered.of({
      metrics: { monitor: 'ServiceMonitor', namespace: 'monitoring' },
      alerts: { enabled: true, namespace: 'rules' },
      dashboard: { enabled: true, namespace: 'grafana' },
      networkPolicy: { enabled: false },
    });
    const found = [
      at(rendered, 'ServiceMonitor'),
      at(rendered, 'PrometheusRule'),
      at(rendered, 'ConfigMap', 'weir-dashboard'),
    ];
    expect(found).toEqual(['monitoring', 'rules', 'grafana']);
    expect(rendered.one('ServiceMonitor').at('spec.namespaceSelector')).toEqual({ matchNames: ['gateways'] });
    expect(at(rendered, 'Deployment')).toBe('gateways');
  });
});

describe('the Service for the platform', () => {
  it('has further fields', async () => {
    const spec = { ipFamilyPolicy: 'PreferDualStack' };
    const rendered = await Rendered.of({ adminService: { spec } });
    expect(rendered.one('Service', 'weir-admin').at('spec')).toMatchObject({ ...spec, type: 'ClusterIP' });
  });
});

describe('the PodDisruptionBudget', () => {
  it.each([
    [{}, { maxUnavailable: 1 }],
    [{ maxUnavailable: '25%' }, { maxUnavailable: '25%' }],
    [{ minAvailable: 0 }, { minAvailable: 0 }],
    [{ minAvailable: '50%' }, { minAvailable: '50%' }],
  ])('%j says %j', async (podDisruptionBudget, expected) => {
    const { selector, unhealthyPodEvictionPolicy, ...spec } = Object(
      (await Rendered.of({ podDisruptionBudget })).one('PodDisruptionBudget').at('spec'),
    );
    expect(spec).toEqual(expected);
  });
});

describe('existing ConfigMaps', () => {
  it('take the place of those of the chart, one file each', async () => {
    const rendered = await Rendered.of({}, { file: 'existing-values.yaml' });
    expect(rendered.all('ConfigMap').map(({ name }) => name)).toEqual(['gateway-files']);
    const part = (file: string) => ({
      configMap: { name: 'gateway-files', items: [{ key: file, path: file }] },
    });
    expect(rendered.one('Deployment').at(`${POD}.volumes.0.projected.sources`)).toEqual([
      part('gateway.yaml'),
      part('limits.yaml'),
    ]);
  });

  it('can be had for one of the two files', async () => {
    const rendered = await Rendered.of({ existingConfigMaps: { limits: 'by-another-team' } });
    expect(rendered.all('ConfigMap').map(({ name }) => name)).toEqual(['weir-gateway']);
    expect(
      rendered.one('Deployment').parts(`${POD}.volumes.0.projected.sources`)[1]?.at('configMap.name'),
    ).toBe('by-another-team');
  });

  it('leave ports and the grace period to what config says of them', async () => {
    const deployment = (await Rendered.of({}, { file: 'existing-values.yaml' })).one('Deployment');
    expect(deployment.at(`${POD}.containers.0.ports`)).toContainEqual({
      name: 'http',
      containerPort: 8000,
      protocol: 'TCP',
    });
    expect(deployment.at(`${POD}.terminationGracePeriodSeconds`)).toBe(20);
  });
});

describe('names and places', () => {
  it('put a registry before the repository, for every container of the chart', async () => {
    const rendered = await Rendered.of({
      image: { registry: 'mirror.example.com:5000', repository: 'weir' },
    });
    const images = [
      rendered.one('Deployment').at(`${POD}.initContainers.0.image`),
      rendered.one('Deployment').at(`${POD}.containers.0.image`),
      rendered.one('Pod').at('spec.containers.0.image'),
    ];
    expect(new Set(images)).toEqual(new Set(['mirror.example.com:5000/weir:0.1.0']));
  });

  it('put every object into another namespace than that of the release', async () => {
    const { manifests } = await Rendered.of(
      { namespaceOverride: 'edge', extraObjects: [] },
      { file: 'full-values.yaml' },
    );
    expect(new Set(manifests.map(manifest => manifest.at('metadata.namespace')))).toEqual(new Set(['edge']));
  });

  it('label Services, routes and the Ingress', async () => {
    const rendered = await Rendered.of({}, { file: 'full-values.yaml' });
    expect(rendered.one('Service', 'edge').at('metadata.labels')).toMatchObject({ exposed: 'true' });
    expect(rendered.one('Service', 'edge-admin').at('metadata.labels')).toMatchObject({
      team: 'platform',
      'app.kubernetes.io/component': 'admin',
    });
    for (const kind of ['HTTPRoute', 'GRPCRoute', 'Ingress'])
      expect(rendered.one(kind).at('metadata.labels')).toMatchObject({ public: 'true' });
  });
});

describe('ports of the nodes', () => {
  it('are fixed where the values say so', async () => {
    const rendered = await Rendered.of({}, { file: 'full-values.yaml' });
    const ports = rendered.one('Service', 'edge').parts('spec.ports');
    expect(ports.map(port => [port.at('name'), port.at('nodePort')])).toEqual([
      ['http', 30080],
      ['grpc', 30081],
    ]);
  });
});

describe('routes of the Gateway API', () => {
  const parentRefs = [{ name: 'public' }];
  const backendRefs = [{ group: '', kind: 'Service', name: 'weir', port: 80, weight: 1 }];
  const stream = { path: { type: 'PathPrefix', value: '/v1/stream' } };

  it('serve the requests that the values name', async () => {
    const httpRoute = { enabled: true, parentRefs, matches: [stream], timeouts: { request: '0s' } };
    const route = (await Rendered.of({ httpRoute })).one('HTTPRoute');
    expect(route.at('spec.rules')).toEqual([{ matches: [stream], timeouts: { request: '0s' }, backendRefs }]);
  });

  it('have rules of their own, which lead to the gateway unless they say or redirect', async () => {
    const elsewhere = [{ group: '', kind: 'Service', name: 'pages', port: 80, weight: 1 }];
    const redirect = [{ type: 'RequestRedirect', requestRedirect: { scheme: 'https', statusCode: 301 } }];
    const rules = [
      { matches: [stream], timeouts: { request: '0s' } },
      { matches: [stream], backendRefs: elsewhere },
      { matches: [stream], filters: redirect },
    ];
    const route = (await Rendered.of({ httpRoute: { enabled: true, parentRefs, rules } })).one('HTTPRoute');
    expect(route.at('spec.rules')).toEqual([{ ...rules[0], backendRefs }, rules[1], rules[2]]);
  });

  it('serve the gRPC services that the values name', async () => {
    const matches = [{ method: { type: 'Exact', service: 'service.v1.Interactions' } }];
    const grpcRoute = { enabled: true, parentRefs, matches };
    const rendered = await Rendered.of({ grpcRoute, config: { listen: { grpc: '[::]:8081' } } });
    expect(rendered.one('GRPCRoute').at('spec.rules.0')).toEqual({
      matches,
      backendRefs: [{ ...backendRefs[0], port: 8081 }],
    });
  });
});

describe('the Ingress', () => {
  it('has several paths of a host, and the one path for hosts without', async () => {
    const hosts = [
      { host: 'api.example.com', paths: [{ path: '/v1' }, { path: '/callback', pathType: 'Exact' }] },
      'www.example.com',
      { paths: [{ path: '/status' }] },
    ];
    const ingress = { enabled: true, hosts, path: '/app', pathType: 'ImplementationSpecific' };
    const rules = (await Rendered.of({ ingress })).one('Ingress').parts('spec.rules');
    const paths = rules.map(rule => [
      rule.at('host'),
      ...rule.parts('http.paths').map(path => `${path.at('path')} ${path.at('pathType')}`),
    ]);
    expect(paths).toEqual([
      ['api.example.com', '/v1 ImplementationSpecific', '/callback Exact'],
      ['www.example.com', '/app ImplementationSpecific'],
      [undefined, '/status ImplementationSpecific'],
    ]);
  });

  it('has the path and the path type of the values', async () => {
    const [path] = (await Rendered.of({}, { file: 'full-values.yaml' }))
      .one('Ingress')
      .parts('spec.rules.0.http.paths');
    expect([path?.at('path'), path?.at('pathType')]).toEqual(['/v1', 'ImplementationSpecific']);
  });
});

describe('a Gateway in front of TLS', () => {
  it('relays the TLS of a name to the https port', async () => {
    const route = (await Rendered.of({}, { file: 'tls-routes-values.yaml' })).one('TLSRoute');
    expect(route.at('spec')).toEqual({
      parentRefs: [
        {
          group: 'gateway.networking.k8s.io',
          kind: 'Gateway',
          name: 'public',
          namespace: 'gateways',
          sectionName: 'tls-passthrough',
        },
      ],
      hostnames: ['direct.example.com'],
      rules: [{ backendRefs: [{ group: '', kind: 'Service', name: 'weir', port: 443, weight: 1 }] }],
    });
  });

  it('speaks TLS to the ports that have it, and knows whose certificates they have', async () => {
    const rendered = await Rendered.of({}, { file: 'tls-routes-values.yaml' });
    const policy = rendered.one('BackendTLSPolicy');
    const named = policy.parts('spec.targetRefs').map(part => part.at('sectionName'));
    const ports = rendered.one('Service', 'weir').parts('spec.ports');
    expect(named.toSorted()).toEqual(namesOf(ports).toSorted());
    expect(policy.at('spec.validation')).toEqual({
      hostname: 'api.example.com',
      caCertificateRefs: [{ group: '', kind: 'ConfigMap', name: 'internal-ca' }],
    });
  });
});

describe('extra objects', () => {
  it.each(HELM_VERSIONS)('are maps as they are and texts as templates: Helm %s', async helm => {
    const map = (name: string, text: string) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name },
      data: { text },
    });
    const extraObjects = [
      map('as-it-is', '{{ $labels.job }}'),
      JSON.stringify(map('{{ include `weir.fullname` . }}-more', '{{ .Release.Namespace }}')),
    ];
    const { out } = await template({ extraObjects }, { helm });
    const rendered = new Rendered(out);
    expect(rendered.one('ConfigMap', 'as-it-is').at('data.text')).toBe('{{ $labels.job }}');
    expect(rendered.one('ConfigMap', 'weir-more').at('data.text')).toBe('gateways');
  });
});

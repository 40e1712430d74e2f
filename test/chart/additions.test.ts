import { describe, expect, it } from 'vitest';
import { Rendered, template } from './chart.ts';
import { HELM_VERSIONS } from './helm-fetched.ts';

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
    expect(deployment.at(`${POD}.containers.0.ports`)).toContainEqual({ name: 'http', containerPort: 8000 });
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

describe('the Ingress', () => {
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
      parentRefs: [{ name: 'public', namespace: 'gateways', sectionName: 'tls-passthrough' }],
      hostnames: ['direct.example.com'],
      rules: [{ backendRefs: [{ name: 'weir', port: 443 }] }],
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

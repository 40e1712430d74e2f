import { describe, expect, it } from 'vitest';
import { Manifest, Rendered, VALUES_FILES } from './chart.ts';
import { KUBERNETES_VERSIONS, StrictSchemas } from './strict-schemas.ts';

describe.each(KUBERNETES_VERSIONS)('Kubernetes %s', version => {
  const schemas = new StrictSchemas(version);

  it.each(VALUES_FILES)('knows every field of every manifest of ci/%s', async file => {
    const { manifests } = await Rendered.of({}, { file });
    expect(manifests.flatMap(manifest => schemas.errorsOf(manifest))).toEqual([]);
  });

  it('refuses a field that it does not know', async () => {
    const deployment = JSON.parse(JSON.stringify((await Rendered.of({})).one('Deployment')));
    deployment.spec.template.spec.containers[0].probes = {};
    expect(schemas.errorsOf(new Manifest(deployment))).toEqual([
      expect.stringContaining(
        'Deployment/spec/template/spec/containers/0: must NOT have additional properties',
      ),
    ]);
  });

  it('refuses a value of another type, and a manifest of an older version of the API', async () => {
    const budget = JSON.parse(JSON.stringify((await Rendered.of({})).one('PodDisruptionBudget')));
    budget.spec.unhealthyPodEvictionPolicy = true;
    expect(schemas.errorsOf(new Manifest(budget))).toHaveLength(1);
    expect(schemas.errorsOf(new Manifest({ ...budget, apiVersion: 'policy/v1beta1' }))).toHaveLength(2);
  });
});

describe('every kind of object that the chart can make', () => {
  it('is among the manifests of ci/', async () => {
    const rendered = await Promise.all(VALUES_FILES.map(file => Rendered.of({}, { file })));
    const kinds = new Set(rendered.flatMap(({ manifests }) => manifests.map(({ kind }) => kind)));
    expect(Array.from(kinds).toSorted()).toEqual([
      'BackendTLSPolicy',
      'ConfigMap',
      'Deployment',
      'GRPCRoute',
      'HTTPRoute',
      'HorizontalPodAutoscaler',
      'Ingress',
      'NetworkPolicy',
      'Pod',
      'PodDisruptionBudget',
      'PodMonitor',
      'PrometheusRule',
      'Service',
      'ServiceAccount',
      'ServiceMonitor',
      'TLSRoute',
    ]);
  });
});

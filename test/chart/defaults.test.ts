import { describe, expect, it } from 'vitest';
import { Rendered, VALUES_FILES } from './chart.ts';
import { CUSTOM_KINDS, withDefaults } from './strict-schemas.ts';

// Argo CD compares manifests with live objects, and knows no defaults of custom resources: a default that the chart leaves to the
// API server is a difference forever. test/cluster/ compares with a real API server, and Kubernetes' own kinds as well.

function expectComplete(rendered: Rendered): void {
  const custom = rendered.manifests.filter(({ kind }) => CUSTOM_KINDS.includes(String(kind)));
  expect(custom.map(manifest => manifest.toJSON())).toEqual(custom.map(withDefaults));
}

const parentRefs = [{ name: 'public' }];
const MIRROR = {
  type: 'RequestMirror',
  requestMirror: { backendRef: { name: 'copy', port: 80 }, fraction: { numerator: 1 } },
};
const REDIRECT = { type: 'RequestRedirect', requestRedirect: { scheme: 'https' } };
const CORS = { type: 'CORS', cors: { allowOrigins: ['https://app.example.com'] } };
const OTHER = { name: 'other', port: 80, filters: [MIRROR] };

describe('the API server has no default to add to a custom resource', () => {
  it.each(VALUES_FILES)('of ci/%s', async file => {
    expectComplete(await Rendered.of({}, { file }));
  });

  it.each([
    { matches: [{}, { path: {} }, { path: { value: '/v1' } }, { path: { type: 'Exact' } }] },
    {
      matches: [
        { headers: [{ name: 'a', value: 'b' }], queryParams: [{ name: 'a', value: 'b' }], method: 'GET' },
      ],
    },
    { filters: [MIRROR, CORS] },
    { rules: [{}, { filters: [REDIRECT] }, { backendRefs: [OTHER] }] },
  ])('with an HTTPRoute of %j', async values => {
    expectComplete(await Rendered.of({ httpRoute: { enabled: true, parentRefs, ...values } }));
  });

  it.each([
    { matches: [{ method: { service: 'a.B' }, headers: [{ name: 'a', value: 'b' }] }], filters: [MIRROR] },
    { rules: [{ matches: [{ method: { method: 'C' } }] }, { backendRefs: [OTHER] }] },
  ])('with a GRPCRoute of %j', async values => {
    const grpcRoute = { enabled: true, parentRefs, ...values };
    expectComplete(await Rendered.of({ grpcRoute, config: { listen: { grpc: '[::]:8081' } } }));
  });

  it.each(['ServiceMonitor', 'PodMonitor'])('with relabelings of a %s', async monitor => {
    const relabelings = [
      { targetLabel: 'cluster', replacement: 'one' },
      { action: 'labeldrop', regex: 'pod' },
    ];
    const metrics = { monitor, endpoint: { relabelings, metricRelabelings: relabelings } };
    expectComplete(await Rendered.of({ metrics, networkPolicy: { enabled: false } }));
  });
});

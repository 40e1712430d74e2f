import { expect, it } from 'vitest';
import type { OutReason } from '../../../../src/core/index.ts';
import { upstreamMetrics } from '../../../../src/observe/metrics/gateway-metrics.ts';
import { MetricSet } from '../../../../src/observe/metrics/metric-set.ts';
import { readEndpoints } from '../../../../src/process/app/gauges.ts';
import type { EndpointsState } from '../../../../src/upstream/index.ts';

it('endpoints are counted by upstream and state, and none is named', async () => {
  const set = new MetricSet();
  const metrics = upstreamMetrics(set);
  const endpoints = [null, null, 'check', 'bad_answers'] as const;
  const stateOf = (outFor: OutReason | null, n = 0) => ({
    ...{ name: `10.0.0.1:8${n}`, outFor, why: null, weight: 1, connections: 0, inFlight: 0 },
  });
  const states = new Map<string, EndpointsState>([
    [
      'api',
      {
        endpoints: endpoints.map((outFor, n) => stateOf(outFor, n)),
        allOut: false,
        lookupFault: 'no such name',
      },
    ],
    ['other', { endpoints: [stateOf('connect_failures')], allOut: true, lookupFault: null }],
  ]);
  readEndpoints(
    (name, read) => set.read(name, read),
    () => states,
  );
  const event = { upstream: 'api', endpoint: '10.0.0.1:80', cause: null };
  metrics.endpointChanged({ ...event, reason: 'check' });
  metrics.endpointChanged({ ...event, reason: 'check' });
  metrics.endpointChanged({ ...event, reason: null });
  metrics.retried('api', true);
  metrics.retried('api', false);
  const text = await set.registry.metrics();
  const samples = text.split('\n').filter(line => line.startsWith('weir_upstream') && !line.endsWith(' 0'));
  expect(samples).toEqual([
    'weir_upstream_endpoints_out_total{upstream="api",reason="check"} 2',
    'weir_upstream_retries_refused_total{upstream="api"} 1',
    'weir_upstream_endpoints{upstream="api",state="used"} 2',
    'weir_upstream_endpoints{upstream="api",state="bad_answers"} 1',
    'weir_upstream_endpoints{upstream="api",state="check"} 1',
    'weir_upstream_endpoints{upstream="other",state="connect_failures"} 1',
    'weir_upstream_all_endpoints_out{upstream="other"} 1',
    'weir_upstream_lookup_failed{upstream="api"} 1',
  ]);
  expect(text).not.toContain('10.0.0.1');
});

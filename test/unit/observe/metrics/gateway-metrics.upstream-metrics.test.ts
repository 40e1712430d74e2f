import { expect, it } from 'vitest';
import { upstreamMetrics } from '../../../../src/observe/metrics/gateway-metrics.ts';
import { readGauges } from '../../../../src/observe/metrics/gauges.ts';
import { MetricSet } from '../../../../src/observe/metrics/metric-set.ts';

it('endpoints are counted by upstream and state, and none is named', async () => {
  const set = new MetricSet();
  const metrics = upstreamMetrics(set);
  const endpoints = [null, null, 'check', 'bad_answers'] as const;
  const gauges = {
    requestsInFlight: () => 0,
    clientConnections: () => 0,
    bufferedBytes: () => 0,
    upstreamConnections: () => [],
    endpoints: () =>
      new Map([
        [
          'api',
          {
            endpoints: endpoints.map(outFor => ({ outFor })),
            ...{ allOut: false, lookupFault: 'no such name' },
          },
        ],
        ['other', { endpoints: [{ outFor: 'connect_failures' as const }], allOut: true, lookupFault: null }],
      ]),
    limitCounts: () => ({ keys: 0, callerOverflows: 0, concurrent: [], partitions: [] }),
    sharing: () => ({ untold: 0, adopted: 0, unshared: 0 }),
    certificates: () => [],
    reloadTurnMs: () => 0,
    revocations: () => ({ sessions: 0, subjects: 0 }),
    stateFiles: () => [],
  };
  readGauges(set, gauges, false);
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

import { expect, test } from 'vitest';
import type { Cap } from '../../../../src/core/index.ts';
import {
  exchangeMetrics,
  identityMetrics,
  limitMetrics,
  MetricSet,
  storeMetrics,
} from '../../../../src/observe/metrics/index.ts';
import { exchangeRecord } from '../exchange-record.ts';

/** The series of the gateway that a scrape shows, without those of the process and those in `before`. */
async function series({ registry }: MetricSet, before: readonly string[] = []): Promise<string[]> {
  const lines = (await registry.metrics()).split('\n').filter(line => line.startsWith('weir_'));
  return lines.filter(line => !before.includes(line));
}

test('a cap that was met is counted by its key, with the upstream that it is of', async () => {
  const set = new MetricSet();
  const metrics = exchangeMetrics(set);
  const met = (cap: Cap, upstream: string | null) => {
    const error = { message: 'Full.', side: 'gateway', cap, cause: null } as const;
    metrics.finished(exchangeRecord({ upstream, upstreamMs: null, status: 503, outcome: 'answered', error }));
  };
  met('max_requests_per_caller', 'api');
  met('max_requests_per_caller', 'api');
  met('connections', null);
  expect((await series(set)).filter(line => line.startsWith('weir_caps_met_total'))).toEqual([
    'weir_caps_met_total{cap="max_requests_per_caller",upstream="api"} 2',
    'weir_caps_met_total{cap="connections",upstream="none"} 1',
  ]);
});

test('responses are counted by their upstream and class, those that did not come only if it is to blame', async () => {
  const set = new MetricSet();
  const metrics = exchangeMetrics(set);
  const count = (more: Parameters<typeof exchangeRecord>[0]) => {
    metrics.finished(exchangeRecord(more));
  };
  const fault = (side: 'client' | 'gateway' | 'upstream') =>
    ({ error: { message: 'No.', side, cap: null, cause: null }, status: 502, upstreamMs: null }) as const;
  for (const status of [200, 204, 302, 404, 500, 503, 999]) count({ status });
  count({ ...fault('upstream') });
  for (const side of ['client', 'gateway'] as const) count({ ...fault(side) });
  count({ upstream: null, upstreamMs: null, status: 404 });
  // It broke off after its head had come.
  count({ ...fault('upstream'), status: 200, upstreamMs: 3 });
  const call = { upstream: 'calls', protocol: 'grpc' } as const;
  for (const grpcStatus of [0, 5, 7, 2, 13, 14, null] as const) count({ ...call, grpcStatus });
  const shown = (await series(set)).filter(line => line.startsWith('weir_upstream_responses_total'));
  expect(shown.toSorted()).toEqual([
    'weir_upstream_responses_total{upstream="api",class="2xx"} 3',
    'weir_upstream_responses_total{upstream="api",class="3xx"} 1',
    'weir_upstream_responses_total{upstream="api",class="4xx"} 1',
    'weir_upstream_responses_total{upstream="api",class="5xx"} 3',
    'weir_upstream_responses_total{upstream="api",class="none"} 1',
    'weir_upstream_responses_total{upstream="calls",class="2xx"} 2',
    'weir_upstream_responses_total{upstream="calls",class="4xx"} 2',
    'weir_upstream_responses_total{upstream="calls",class="5xx"} 3',
  ]);
});

test('requests are counted by route, status and outcome, with their bytes', async () => {
  const set = new MetricSet();
  const metrics = exchangeMetrics(set);
  metrics.finished(exchangeRecord({ bytesReceived: 7 }));
  metrics.finished(exchangeRecord({ bytesReceived: 3, status: 299, retried: true }));
  const error = { message: 'No.', side: 'client', cap: null, cause: null } as const;
  metrics.finished(
    exchangeRecord({ route: null, upstream: null, upstreamMs: null, status: 0, outcome: 'abandoned', error }),
  );
  metrics.untrustedForwarding();
  const all = await series(set);
  expect(all.filter(line => !/_duration_|build_info/.test(line))).toEqual([
    'weir_requests_total{route="/things/{id}",status="200",outcome="forwarded",protocol="http1"} 1',
    'weir_requests_total{route="/things/{id}",status="2xx",outcome="forwarded",protocol="http1"} 1',
    'weir_requests_total{route="none",status="none",outcome="abandoned",protocol="http1"} 1',
    'weir_upstream_responses_total{upstream="api",class="2xx"} 2',
    'weir_request_body_bytes_total 10',
    'weir_response_body_bytes_total 3702',
    'weir_upstream_retries_total{upstream="api"} 1',
    'weir_errors_total{side="client",upstream="none"} 1',
    'weir_untrusted_forwarding_headers_total 1',
  ]);
  expect(all).toContain('weir_request_duration_seconds_bucket{le="0.01",upstream="api"} 0');
  expect(all).toContain('weir_request_duration_seconds_bucket{le="0.025",upstream="api"} 2');
  expect(all).toContain('weir_request_duration_seconds_bucket{le="+Inf",upstream="api"} 2');
  expect(all).toContain('weir_request_duration_seconds_count{upstream="none"} 1');
  expect(all).toContain('weir_upstream_duration_seconds_sum{upstream="api"} 0.023');
  expect(all.some(line => line.startsWith('weir_upstream') && line.includes('none'))).toBe(false);
});

test('gRPC calls are counted by how they ended', async () => {
  const set = new MetricSet();
  const metrics = exchangeMetrics(set);
  const ended = (more: Parameters<typeof exchangeRecord>[0]) => {
    metrics.finished(exchangeRecord({ protocol: 'grpc', route: 'GRPC a.B/*', ...more }));
  };
  ended({ grpcStatus: 0 });
  ended({ grpcStatus: 8, route: null, status: 429 });
  ended({ grpcStatus: null, outcome: 'abandoned' });
  metrics.finished(exchangeRecord());
  expect((await series(set)).filter(line => line.startsWith('weir_grpc_calls_total'))).toEqual([
    'weir_grpc_calls_total{route="GRPC a.B/*",code="OK"} 1',
    'weir_grpc_calls_total{route="GRPC a.B/*",code="none"} 1',
    'weir_grpc_calls_total{route="none",code="RESOURCE_EXHAUSTED"} 1',
  ]);
});

test('what is found of tokens is counted', async () => {
  const set = new MetricSet();
  const identity = identityMetrics(set).of(null);
  const before = await series(set);
  identity.tokenKnown();
  identity.tokenKnown();
  identity.signatureChecked('RS256', true);
  identity.signatureChecked('ES256', false);
  identity.tokenRefused('expired', null);
  identity.tokenUndecided();
  identity.budgetSpent();
  expect(await series(set, before)).toEqual([
    'weir_tokens_total{outcome="known"} 2',
    'weir_tokens_total{outcome="verified"} 1',
    'weir_tokens_total{outcome="refused"} 1',
    'weir_tokens_total{outcome="undecided"} 1',
    'weir_tokens_total{outcome="put_off"} 1',
    'weir_tokens_refused_total{reason="expired"} 1',
    'weir_signature_checks_total{algorithm="RS256",good="true"} 1',
    'weir_signature_checks_total{algorithm="ES256",good="false"} 1',
  ]);
});

test('decisions are counted by bucket, class and outcome, and by who made them', async () => {
  const set = new MetricSet();
  const limits = limitMetrics(set);
  const store = storeMetrics(set);
  const before = await series(set);
  limits.decided({
    bucket: 'things',
    callerClass: 'user',
    caller: 'user:a',
    outcome: 'admitted',
    period: '',
    nearLimit: true,
  });
  limits.decided({
    bucket: 'things',
    callerClass: 'user',
    caller: 'user:a',
    outcome: 'caller',
    period: '',
    nearLimit: true,
  });
  limits.decided({
    bucket: null,
    callerClass: 'bot',
    caller: 'user:a',
    outcome: 'admitted',
    period: '',
    nearLimit: false,
  });
  limits.invalid(429);
  store.decidedBy('redis');
  store.decidedBy('redis');
  const shown = (await series(set, before)).filter(line => !line.endsWith(' 0'));
  expect(shown).toEqual([
    'weir_limit_decisions_total{bucket="things",class="user",outcome="admitted"} 1',
    'weir_limit_decisions_total{bucket="things",class="user",outcome="caller"} 1',
    'weir_limit_decisions_total{bucket="none",class="bot",outcome="admitted"} 1',
    'weir_limit_near_total{bucket="things",class="user"} 1',
    'weir_invalid_requests_total{status="429"} 1',
    'weir_store_decisions_total{by="redis"} 2',
  ]);
});

test('of a limit with several windows, decisions name the period of the one that refused or is nearly used up', async () => {
  const set = new MetricSet();
  const limits = limitMetrics(set);
  const before = await series(set);
  const things = { bucket: 'things', callerClass: 'user', caller: 'user:a' } as const;
  limits.decided({ ...things, outcome: 'admitted', period: '5s', nearLimit: false });
  limits.decided({ ...things, outcome: 'admitted', period: 'day', nearLimit: true });
  limits.decided({ ...things, outcome: 'caller', period: 'day', nearLimit: true });
  expect((await series(set, before)).filter(line => !line.endsWith(' 0'))).toEqual([
    'weir_limit_decisions_total{bucket="things",class="user",outcome="admitted"} 2',
    'weir_limit_decisions_total{bucket="things",class="user",outcome="caller",period="day"} 1',
    'weir_limit_near_total{bucket="things",class="user",period="day"} 1',
  ]);
});

test('a request that became a WebSocket counts as one until it closes', async () => {
  const set = new MetricSet();
  const metrics = exchangeMetrics(set);
  const shown = async () =>
    (await series(set)).filter(line => /websockets_open|websocket_duration_seconds_sum/.test(line));
  metrics.switched('api');
  expect(await shown()).toEqual(['weir_websockets_open{upstream="api"} 1']);
  metrics.finished(exchangeRecord({ protocol: 'websocket', status: 101, durationMs: 90_000 }));
  const after = await shown();
  expect(after).toContain('weir_websockets_open{upstream="api"} 0');
  expect(after).toContain('weir_websocket_duration_seconds_sum{upstream="api"} 90');
  expect((await series(set)).join()).not.toContain('weir_request_duration_seconds_sum{upstream="api"}');
});

test('a request for a WebSocket that was refused is a request like any other', async () => {
  const set = new MetricSet();
  const metrics = exchangeMetrics(set);
  metrics.finished(exchangeRecord({ protocol: 'websocket', status: 401, outcome: 'answered' }));
  const all = await series(set);
  expect(all.join()).toContain('weir_request_duration_seconds_sum{upstream="api"}');
});

import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { diagnosticsIn, loadFiles } from '../support/config-text.ts';
import { startGateway } from '../support/gateway.ts';
import { head } from '../support/requests.ts';
import { tempText } from '../support/temp.ts';
import { clockOfLimits } from '../support/test-clock.ts';
import { startUpstream, values } from '../support/wire/index.ts';

const OWN = [
  ...['X-RateLimit-Limit', '3', 'X-RateLimit-Remaining', '2', 'X-RateLimit-Reset', '1372700873'],
  ...['X-RateLimit-Used', '1', 'RateLimit-Policy', '"own";q=3;w=60', 'RateLimit', '"own";r=2;t=60'],
];

/** A gateway before a service with limits of its own, that restricts an address after two invalid requests. */
async function front(route: Record<string, unknown>, scope?: string) {
  const refused = [
    ...OWN,
    'Retry-After',
    '1.5',
    ...(scope === undefined ? [] : ['X-RateLimit-Scope', scope]),
  ];
  const upstream = await startUpstream(async exchange => {
    await exchange.received();
    await (exchange.request.target === '/full'
      ? exchange.answer(429, refused, 'slow down')
      : exchange.answer(200, OWN, 'ok'));
  });
  const limits = {
    global: 'off',
    headers: ['x-ratelimit', 'ratelimit'],
    invalid_requests: { limit: '2/1m', restrict_for: '1m' },
  };
  const gateway = await startGateway({
    upstreamPort: upstream.port,
    clock: clockOfLimits(),
    route,
    config: { limits: await tempText('limits.yaml', stringify(limits)) },
  });
  return gateway;
}

test("a service's own rate-limit fields and 429s pass unchanged where the route says so", async () => {
  const gateway = await front({ rate_limit_headers: 'service' });
  const { fields } = await gateway.ask(head('GET /a'));
  for (let i = 0; i < OWN.length; i += 2) expect(values(fields, OWN[i] ?? '')).toEqual([OWN[i + 1]]);
  const full = await gateway.ask(head('GET /full'));
  expect(full.status).toBe(429);
  expect(full.body.toString()).toBe('slow down');
  expect(values(full.fields, 'retry-after')).toEqual(['1.5']);
  expect(values(full.fields, 'x-ratelimit-limit')).toEqual(['3']);
  expect(values(full.fields, 'x-ratelimit-scope')).toEqual([]);
  expect(values(full.fields, 'cache-control')).toEqual([]);
});

test('as a rule they do not', async () => {
  const gateway = await front({});
  const { fields } = await gateway.ask(head('GET /a'));
  expect(values(fields, 'x-ratelimit-limit')).toEqual([]);
  expect(values(fields, 'x-ratelimit-used')).toEqual([]);
  expect((await gateway.ask(head('GET /full'))).body.toString()).not.toBe('slow down');
});

test('a 429 that passes so counts as invalid unless it says shared', async () => {
  for (const [scope, last] of [
    [undefined, 429],
    ['user', 429],
    ['shared', 200],
  ] as const) {
    const gateway = await front({ rate_limit_headers: 'service' }, scope);
    for (let i = 0; i < 3; i++) await gateway.ask(head('GET /full'));
    expect((await gateway.ask(head('GET /a'))).status, scope).toBe(last);
  }
});

test('such a route has neither upstream_429 nor a line of limits.yaml', async () => {
  const file = (route: string) =>
    `limits: limits.yaml\nupstreams: { a: { url: "http://a" } }\nroutes: [{ path: /v1/**, upstream: a, authentication: none, rate_limit_headers: service${route} }]\n`;
  const limits = 'buckets: { b: { address: 5/1s } }\nroutes: { GET /v1/things: b }\n';
  const covered = await loadFiles({ 'gateway.yaml': file(''), 'limits.yaml': limits });
  expect(covered).toMatchObject({ ok: false });
  expect(JSON.stringify(covered)).toContain('so its clients would learn nothing of this bucket');
  const elsewhere = limits.replace('/v1/things', '/v2');
  expect((await loadFiles({ 'gateway.yaml': file(''), 'limits.yaml': elsewhere })).ok).toBe(true);
  const both = await diagnosticsIn(file(', upstream_429: pass').replace('limits: limits.yaml\n', ''));
  expect(both).toContainEqual(expect.stringContaining('every 429 of the upstream passes'));
});

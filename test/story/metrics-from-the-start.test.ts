import { describe, expect, it } from 'vitest';
import { changeConfig, changeLimits, serves } from '../support/edit-config.ts';
import { freePort } from '../support/free-port.ts';
import { type ConfigPart, startGateway, withoutWorkers } from '../support/gateway.ts';
import { identityConfig } from '../support/identity-gateway.ts';
import { head } from '../support/requests.ts';
import { inTime } from '../support/test-clock.ts';
import type { TestGateway } from '../support/test-gateway.ts';
import { startIssuer } from '../support/test-issuer.ts';
import { startUpstream } from '../support/wire/index.ts';

/** The series of the gateway, without their values. */
async function seriesOf(gateway: TestGateway): Promise<string[]> {
  const { text } = await gateway.admin('/metrics');
  const lines = text.split('\n').filter(line => line.startsWith('weir_'));
  return lines.map(line => line.slice(0, line.lastIndexOf(' ')));
}

const LIMITS = {
  global: 'off',
  buckets: { things: { user: ['2/1h', '9/day'] } },
  routes: { 'GET /things': 'things' },
};

async function startLimited(config: ConfigPart = {}) {
  const issuer = await startIssuer();
  const upstream = await startUpstream();
  const settings = await identityConfig(
    { issuer: issuer.url, limits: LIMITS, routes: [{ path: '/dead', upstream: 'dead' }] },
    upstream,
  );
  const dead = { url: `http://127.0.0.1:${await freePort()}` };
  const upstreams = { api: { url: `http://127.0.0.1:${upstream.port}` }, dead };
  const gateway = await startGateway({
    ...settings,
    config: { ...settings.config, upstreams, store: 'memory', ...config },
  });
  // Where it counts in Redis, that may have to be found missing first.
  await inTime(gateway.time, gateway.ready());
  return { gateway, issuer };
}

describe('the metrics', () => {
  it('are shown alone if their names are asked for', async () => {
    const { gateway } = await startLimited();
    const { text } = await gateway.admin(
      '/metrics?name[]=weir_errors_total&name[]=weir_build_info&name[]=nothing',
    );
    const names = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name);
    expect(names.sort()).toEqual(['weir_build_info', 'weir_errors_total']);
  });

  it('of traffic and its failures have their series before the first request', async () => {
    const { gateway, issuer } = await startLimited();
    const before = await seriesOf(gateway);
    const statuses: number[] = [];
    const ask = async (target: string, ...lines: string[]): Promise<void> => {
      statuses.push((await gateway.ask(head(target, ...lines))).status);
    };
    const alice = issuer.bearer();
    for (let i = 0; i < 3; i++) await ask('GET /things', alice);
    await ask('GET /things');
    await ask('GET /things', issuer.bearer({ aud: 'other' }));
    await ask('GET /dead', alice);
    await ask('GET //');
    await ask('POST /v1/anonymous/auth', 'Content-Type: application/json', 'Content-Length: 0');
    expect(statuses).toEqual([200, 200, 429, 401, 401, 502, 400, 400]);
    const grown = (await seriesOf(gateway)).filter(series => !before.includes(series));
    expect(grown).toEqual([]);
    const decisions = await gateway.metric('weir_limit_decisions_total');
    expect(
      ['1h', 'day'].map(period =>
        decisions.get(`{bucket="things",class="user",outcome="caller",period="${period}"}`),
      ),
    ).toEqual([1, 0]);
    expect(await gateway.metric('weir_errors_total')).toEqual(
      new Map([
        ['{side="client",upstream="none"}', 5],
        ['{side="client",upstream="api"}', 0],
        ['{side="client",upstream="dead"}', 0],
        ['{side="gateway",upstream="none"}', 0],
        ['{side="gateway",upstream="api"}', 0],
        ['{side="gateway",upstream="dead"}', 0],
        ['{side="provider",upstream="none"}', 0],
        ['{side="store",upstream="none"}', 0],
        ['{side="upstream",upstream="api"}', 0],
        ['{side="upstream",upstream="dead"}', 1],
      ]),
    );
  });

  it('of new buckets and upstreams appear with a reload, and those of removed ones go', async () => {
    const { gateway, issuer } = await startLimited();
    await gateway.ask(head('GET /things', issuer.bearer()));
    expect((await seriesOf(gateway)).join('\n')).toMatch(/bucket="things"(?:.|\n)*upstream="dead"/);
    const others = { ...LIMITS, buckets: { books: { user: '2/1h' } }, routes: { 'GET /books': 'books' } };
    await changeLimits(gateway, others);
    await serves(gateway, 2);
    const api = { url: `http://127.0.0.1:${await freePort()}` };
    await changeConfig(gateway, { upstreams: { api }, routes: [{ path: '/**', upstream: 'api' }] });
    await serves(gateway, 3);
    const after = (await seriesOf(gateway)).join('\n');
    expect(after).toContain('weir_limit_decisions_total{bucket="books",class="user",outcome="caller"}');
    expect(after).not.toMatch(/bucket="things"|upstream="dead"|route="\/dead"/);
    expect(
      (await gateway.metric('weir_requests_total')).get(
        '{route="/**",status="200",outcome="forwarded",protocol="http1"}',
      ),
    ).toBe(1);
  });

  it('have the route on durations where the configuration says so, from the next reload on', async () => {
    const { gateway, issuer } = await startLimited();
    const counts = () => gateway.metric('weir_request_duration_seconds_count');
    await gateway.ask(head('GET /things', issuer.bearer()));
    expect((await counts()).get('{upstream="api"}')).toBe(1);
    await changeConfig(gateway, { metrics: { route_durations: true } });
    await serves(gateway, 2);
    await gateway.ask(head('GET /things', issuer.bearer()));
    await gateway.ask(head('GET /dead'));
    const shown = await counts();
    expect(shown.get('{upstream="api",route="/**"}')).toBe(1);
    expect(shown.get('{upstream="none",route="/dead"}')).toBe(1);
    expect(shown.get('{upstream="dead",route="/dead"}')).toBe(0);
    expect(shown.has('{upstream="api"}')).toBe(false);
  });

  it('say which version of Weir and of Node.js runs', async () => {
    withoutWorkers();
    const { gateway } = await startLimited();
    const [[labels]] = [...(await gateway.metric('weir_build_info'))] as [[string, number]];
    expect(labels).toMatch(/^\{version="\d+\.\d+\.\d+",node="\d+\.\d+\.\d+"\}$/);
  });
});

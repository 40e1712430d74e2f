import { describe, expect, it } from 'vitest';
import { type GatewayStatus, statusAsJson } from '../../../src/admin/status.ts';
import { statusAsPage } from '../../../src/admin/status-page.ts';

const MOMENT = Date.parse('2026-01-31T12:00:00Z');

const STATUS: GatewayStatus = {
  startedAtMs: MOMENT,
  notReady: null,
  configuration: {
    generation: 3,
    hash: '0123456789abcdef',
    sinceMs: MOMENT,
    reload: 'watch',
    pendingRestart: [],
    waiting: null,
    lastFailure: null,
  },
  traffic: { connections: 4, requestsInFlight: 2 },
  certificates: [],
  unlistedProxies: [],
  provider: { issuer: 'https://id.example', endpointsKnown: true, keys: 2, keysAsOfMs: MOMENT },
  store: { kind: 'memory', state: 'ok', keys: 12, evictions: 0, restrictions: 1 },
  upstreams: [{ name: 'api', address: 'api:3000', connections: 2, requestsInFlight: 1 }],
};

const pageOf = (configuration: Partial<GatewayStatus['configuration']>, rest: Partial<GatewayStatus> = {}) =>
  statusAsPage({ ...STATUS, ...rest, configuration: { ...STATUS.configuration, ...configuration } });

const wordOf = (page: string) => /<p class="(well|ill)">(.*?)<\/p>/.exec(page)?.slice(1);

describe('the page', () => {
  it('escapes everything that comes from a file, and has no script', () => {
    const nasty = `<script>alert("1")</script>&'`;
    const page = pageOf(
      {
        lastFailure: { atMs: MOMENT, errors: [nasty], mended: false },
        pendingRestart: [{ key: nasty, running: nasty, wanted: nasty }],
      },
      {
        notReady: nasty,
        provider: { issuer: nasty, endpointsKnown: false, keys: 0, keysAsOfMs: null },
        upstreams: [{ name: nasty, address: nasty, connections: 0, requestsInFlight: 0 }],
      },
    );
    expect(page).not.toContain('<script');
    expect(page).not.toContain(nasty);
    expect(page.match(/&lt;script&gt;alert\(&quot;1&quot;\)&lt;\/script&gt;&amp;&#39;/g)?.length).toBe(9);
  });

  it('sums up the state in one line', () => {
    const failure = { atMs: MOMENT, errors: ['a', 'b'], mended: false };
    const waiting = { generation: 4, hash: 'f', sinceMs: MOMENT };
    const pendingRestart = [{ key: 'listen.http', running: 'a', wanted: 'b' }];
    expect(wordOf(pageOf({}))).toEqual(['well', 'ready']);
    expect(wordOf(pageOf({ lastFailure: { ...failure, mended: true } }))).toEqual(['well', 'ready']);
    expect(wordOf(pageOf({ lastFailure: failure, waiting }))).toEqual([
      'ill',
      'ready; the configuration files have errors',
    ]);
    expect(wordOf(pageOf({ waiting }))).toEqual(['ill', 'ready; a new configuration waits']);
    expect(wordOf(pageOf({ pendingRestart }))).toEqual(['ill', 'ready; a change waits for a restart']);
    expect(wordOf(pageOf({}, { notReady: 'draining' }))).toEqual(['ill', 'not ready: draining']);
  });

  it('shows what runs, each error on its own line, and readable moments', () => {
    const page = pageOf({ lastFailure: { atMs: MOMENT, errors: ['one', 'two'], mended: false } });
    expect(page).toContain('<td>3, since 2026-01-31T12:00:00.000Z</td>');
    expect(page).toContain('<td>2026-01-31T12:00:00.000Z<br>one<br>two</td>');
    expect(page).toContain('<td>api</td><td>api:3000</td><td>2</td><td>1</td>');
    expect(page).toContain('<td>2, as of 2026-01-31T12:00:00.000Z</td>');
  });
});

describe('the JSON', () => {
  it('has moments under plain names, in ISO 8601', () => {
    const json = JSON.parse(
      statusAsJson({
        ...STATUS,
        configuration: { ...STATUS.configuration, lastFailure: { atMs: MOMENT, errors: [], mended: true } },
      }),
    );
    expect(json).toMatchObject({
      startedAt: '2026-01-31T12:00:00.000Z',
      configuration: { since: '2026-01-31T12:00:00.000Z', lastFailure: { at: '2026-01-31T12:00:00.000Z' } },
      provider: { keysAsOf: '2026-01-31T12:00:00.000Z', keys: 2 },
      upstreams: [{ name: 'api' }],
    });
    expect(JSON.stringify(json)).not.toContain('Ms"');
    const without = JSON.parse(
      statusAsJson({
        ...STATUS,
        provider: { issuer: 'i', endpointsKnown: false, keys: 0, keysAsOfMs: null },
      }),
    );
    expect(without.provider.keysAsOf).toBeNull();
  });
});

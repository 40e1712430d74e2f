import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { SCRIPT } from '../../../../src/edge/admin/html.ts';
import type { BucketStatus, GatewayStatus } from '../../../../src/edge/admin/status.ts';
import { PAGE_POLICY, statusAsPage } from '../../../../src/edge/admin/status-page.ts';
import { MOMENT, PROVIDER, STATUS } from './gateway-status.ts';

const pageOf = (configuration: Partial<GatewayStatus['configuration']>, rest: Partial<GatewayStatus> = {}) =>
  statusAsPage({ ...STATUS, ...rest, configuration: { ...STATUS.configuration, ...configuration } });

const wordOf = (page: string) =>
  /<p id="word" role="status" class="(well|ill)">(.*?)<\/p>/.exec(page)?.slice(1);

const rowOf = (page: string, heading: string) =>
  new RegExp(`<tr[^>]*><th[^>]*>${heading}</th>.*</tr>`)
    .exec(page)?.[0]
    .replaceAll(/<[^>]+>/g, '|')
    .replaceAll(/\|+/g, '|');

const bucket = (name: string, refused: number): BucketStatus => ({
  bucket: name,
  class: 'user',
  limits: [{ limit: 'caller', quota: '10/5s', algorithm: 'window', enforcedPercent: 100 }],
  lastMinute: { admitted: 1, refused: 0, shadowRefused: 6, restricted: 4 },
  lastHour: { admitted: 70, refused, shadowRefused: 6, restricted: 0 },
  callersNearLimit: 3,
});

describe('the page', () => {
  it('says what full caps take beside what there is, and marks what is too much', () => {
    expect(rowOf(pageOf({}), 'Memory with all caps full')).toContain('|400 MiB of 512 MiB|');
    const memory = { ...STATUS.memory, totalBytes: 600 * 2 ** 20 };
    const page = pageOf({}, { memory });
    expect(page).toContain('<b class="ill">600 MiB of 512 MiB, most of it caps.connections (300 MiB)</b>');
  });

  it('says which tokens are revoked, and whether a restart forgets it', () => {
    const page = pageOf({});
    expect(rowOf(page, 'Tokens refused if older than')).toContain('2026-01-31');
    expect(rowOf(page, 'Sessions that ended')).toContain('4, kept for 86430s (default)');
    expect(rowOf(page, 'Users with older tokens refused')).toContain('3, kept');
    expect(rowOf(page, 'A restart')).toContain('forgets');
    const revocations = { ...PROVIDER.revocations, notBeforeMs: null, outliveRestart: true };
    const shared = pageOf({}, { providers: [{ ...PROVIDER, revocations }] });
    expect(rowOf(shared, 'Tokens refused if older than')).toContain('no moment');
    expect(rowOf(shared, 'A restart')).toBeUndefined();
  });

  it('escapes all text of files, clients and upstreams', () => {
    const nasty = `<script>alert("1")</script>&'`;
    const seen = { count: 1, lastMinute: 1, lastHour: 1, lastAtMs: MOMENT, cause: nasty };
    const caller = { class: nasty, bucket: nasty, count: 1, maxCount: 1, sinceMs: MOMENT, lastAtMs: MOMENT };
    const page = pageOf(
      {
        files: [nasty],
        hash: nasty,
        lastFailure: { atMs: MOMENT, errors: [nasty], mended: false },
        lastChanges: [nasty],
        reloads: [
          { outcome: 'refused', atMs: MOMENT, error: nasty, moreErrors: 0 },
          { outcome: 'applied', atMs: MOMENT, generation: 2, hash: nasty, changes: [nasty], moreChanges: 0 },
        ],
        pendingRestart: [{ key: nasty, running: nasty, wanted: nasty }],
        waiting: { generation: 1, hash: nasty, sinceMs: MOMENT },
      },
      {
        version: nasty,
        host: nasty,
        notReady: nasty,
        providers: [
          { ...PROVIDER, name: nasty, issuer: nasty, endpointsKnown: false, keys: 0, keysAsOfMs: null },
        ],
        store: { kind: nasty, state: nasty, keys: 0, evictions: 0, restrictions: 0, behind: true },
        buckets: [
          {
            ...bucket(nasty, 1),
            class: nasty,
            limits: [{ limit: 'caller', quota: nasty, algorithm: 'smooth', enforcedPercent: 100 }],
          },
        ],
        callers: {
          refusedNetworks: [],
          refusedMost: [{ caller: nasty, ...caller, restricted: 1, why: nasty as never }],
          nearLimit: [{ address: nasty, ...caller }],
          mostInFlight: [],
          restrictions: [
            { address: nasty, kind: 'address', reason: nasty as never, sinceMs: MOMENT, untilMs: MOMENT },
          ],
          unlistedRestrictions: 0,
        },
        unlistedProxies: [{ address: nasty, field: 'Forwarded', sinceMs: MOMENT, message: nasty }],
        certificates: [{ listener: nasty, certificate: nasty, notAfterMs: MOMENT }],
        upstreams: [
          {
            ...{ name: nasty, address: nasty, connections: 0, requestsInFlight: 0, errors: seen },
            ...{ endpointCount: 3, allEndpointsOut: true, lookupFault: nasty },
            endpoints: [
              {
                ...{ address: nasty, state: 'check', why: nasty, weight: 1 },
                ...{ connections: 0, requestsInFlight: 0 },
              },
            ],
          },
        ],
        errors: [{ kind: nasty, ...seen }],
      },
    );
    expect(page.match(/<script/g)).toHaveLength(1);
    expect(page).not.toContain(nasty);
    expect(page.match(/&lt;script&gt;alert\(&quot;1&quot;\)&lt;\/script&gt;&amp;&#39;/g)).toHaveLength(46);
  });

  it('allows its own style and script alone, by their hashes', () => {
    expect(PAGE_POLICY).toMatch(
      /^default-src 'none'; style-src 'sha256-[\w+/]{43}='; script-src 'sha256-[\w+/]{43}='; connect-src 'self'; /,
    );
    expect(PAGE_POLICY).not.toContain('unsafe');
  });

  it('is loaded anew by browsers without JavaScript', () => {
    expect(pageOf({})).toContain('<noscript><meta http-equiv="refresh" content="5"></noscript>');
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
    const moment =
      '<time datetime="2026-01-31T12:00:00.000Z">2026-01-31 12:00:00Z</time> <small>(1m 5s ago)</small>';
    expect(page).toContain(`<td>3, since ${moment}</td>`);
    expect(page).toContain(`<td>${moment}<br>one<br>two</td>`);
    expect(page).toContain(`<td>2, as of ${moment}</td>`);
    expect(page).toContain('<td>gateway.yaml<br>limits.yaml</td>');
    expect(page).toContain('gateway-1, version 1.2.3, up 1m 5s');
    expect(rowOf(page, 'api')).toBe('|api|api:3000|2|1|0|0|none|');
  });

  it('says which Node.js runs it', () => expect(rowOf(pageOf({}), 'Node.js')).toBe('|Node.js|26.30.0|'));

  it('shows how many workers there are, and what auto became, unless there is one', () => {
    const why = 'processor limit: 1.5';
    expect(pageOf({}, { workers: { count: 2, why, each: [] } })).toContain(
      '<td>2 (auto, processor limit: 1.5)</td>',
    );
    expect(pageOf({})).not.toContain('Workers');
  });

  it('lists workers, and says which of them do not serve', () => {
    const worker = { worker: 1, up: true, startedAtMs: MOMENT, replacements: 2, requests: 900 };
    const now = { connections: 7, requestsInFlight: 5, eventLoopDelayMs: 0.4 };
    const gone = { connections: 0, requestsInFlight: 0, eventLoopDelayMs: null };
    const each = [
      { ...worker, ...now },
      { ...worker, ...now, worker: 2, up: false },
      { ...worker, ...gone, worker: 3, up: false, startedAtMs: null },
    ];
    const page = pageOf({}, { workers: { count: 3, why: null, each } });
    const started = '2026-01-31 12:00:00Z| |(1m 5s ago)';
    expect(rowOf(page, '1')).toBe(`|1|serves|${started}|2|900|7|5|0.4|`);
    expect(rowOf(page, '2')).toBe(`|2|does not answer|${started}|2|900|7|5|0.4|`);
    expect(rowOf(page, '3')).toBe('|3|is being replaced|2|900|0|0|');
  });

  it('shows how the last reloads ended, and what they changed', () => {
    const applied = { outcome: 'applied', hash: 'f', atMs: MOMENT } as const;
    const refused = { outcome: 'refused', atMs: MOMENT, error: 'limits.yaml:1:1: wrong' } as const;
    const page = pageOf({
      reloads: [
        { ...applied, generation: 4, changes: ['stricter: one', 'looser: two'], moreChanges: 3 },
        { ...refused, moreErrors: 2 },
        { ...applied, generation: 3, changes: [], moreChanges: 0 },
      ],
    });
    const rows = [...page.matchAll(/<tr role="row"><th[^>]*>(?:generation|refused).*<\/tr>/g)].map(([row]) =>
      row.replaceAll(/<[^>]+>/g, '|').replaceAll(/\|+/g, '|'),
    );
    expect(rows).toEqual([
      '|generation\u00a04|2026-01-31 12:00:00Z| |(1m 5s ago)|stricter: one|looser: two|and 3 more|',
      '|refused|2026-01-31 12:00:00Z| |(1m 5s ago)|limits.yaml:1:1: wrong|and 2 more|',
      '|generation\u00a03|2026-01-31 12:00:00Z| |(1m 5s ago)|nothing that callers notice|',
    ]);
    expect(pageOf({})).not.toContain('Reloads');
  });

  it('shows the buckets with the most refusals first, with their numbers', () => {
    const page = pageOf({}, { buckets: [bucket('calm', 0), bucket('busy', 7)] });
    expect(rowOf(page, 'busy')).toBe('|busy|user|caller 10/5s|1|0|4|70|7|3|');
    expect(page.indexOf('busy')).toBeLessThan(page.indexOf('calm'));
  });

  it('shows at most 60 rows of buckets and says how many more there are', () => {
    const page = pageOf({}, { buckets: Array.from({ length: 100 }, (_, at) => bucket(`b${at}-`, at)) });
    expect(page.match(/>b\d+-</g)).toHaveLength(60);
    expect(page).toContain('40 more rows are in /status.json.');
  });

  it('says which limits are in shadow or hold for some callers, and what they would have refused', () => {
    const limit = { limit: 'caller', algorithm: 'window' } as const;
    const limits = [
      { ...limit, quota: '20/5s', enforcedPercent: 10 },
      { ...limit, quota: '10/5s', enforcedPercent: 0 },
    ];
    const page = pageOf({}, { buckets: [{ ...bucket('tried', 0), limits }] });
    expect(rowOf(page, 'tried')).toBe(
      '|tried|user|caller 20/5s (for 10 % of callers), caller 10/5s (shadow)|1|0|4|70|0|3|6|',
    );
    expect(page).toContain('Would be refused (shadow), last hour');
    expect(pageOf({}, { buckets: [bucket('held', 0)] })).not.toContain('shadow');
  });

  it('lets a phone leave out buckets without requests, and says so', () => {
    const idle = {
      ...bucket('idle', 0),
      lastHour: { admitted: 0, refused: 0, shadowRefused: 6, restricted: 0 },
    };
    const page = pageOf({}, { buckets: [idle, bucket('busy', 0)] });
    expect(page.match(/<tr role="row" class="idle"><th[^>]*>idle</)).toHaveLength(1);
    expect(page.match(/class="idle"/g)).toHaveLength(1);
    expect(page).toContain('shown on wider screens');
    expect(pageOf({}, { buckets: [bucket('busy', 0)] })).not.toContain('shown on wider screens');
  });

  it('names callers by pseudonym or address, and says where a count may be higher', () => {
    const counts = { class: 'user', bucket: 'all', count: 5, maxCount: 9, sinceMs: MOMENT, lastAtMs: MOMENT };
    const restriction = {
      kind: 'principal',
      reason: 'ignored_refusals',
      sinceMs: MOMENT,
      untilMs: MOMENT + 125_000,
    } as const;
    const page = pageOf(
      {},
      {
        callers: {
          refusedNetworks: [],
          refusedMost: [
            { caller: 'pseudo', ...counts, restricted: 2, why: 'operator' },
            { caller: 'other', ...counts, restricted: 0, why: 'caller' },
            { address: '192.0.2.9', ...counts, restricted: 5, why: 'invalid_requests' },
          ],
          nearLimit: [{ address: '192.0.2.1', ...counts, maxCount: 5 }],
          mostInFlight: [],
          restrictions: [{ caller: 'held', ...restriction }],
          unlistedRestrictions: 4,
        },
      },
    );
    expect(rowOf(page, '<code>pseudo</code>')).toContain(
      '|pseudo|user|all|3 to 7|2|restricted by an operator|2026-01-31 12:00:00Z',
    );
    expect(rowOf(page, '<code>other</code>')).toContain('|5 to 9|0|its limit in the bucket|');
    expect(rowOf(page, '192.0.2.9')).toContain('|0 to 4|5|restricted: invalid_requests|');
    expect(rowOf(page, '192.0.2.1')).toContain('|192.0.2.1|user|all|5|');
    expect(rowOf(page, '<code>held</code>')).toMatch(
      /^\|held\|caller\|ignored_refusals\|2026-01-31 12:00:00Z\|.*\|2026-01-31 12:02:05Z\| \|\(in 1m\)\|$/,
    );
    expect(page).toContain('4 more, which are not listed');
  });

  it("shows a day's quota as a bar with its reset, and no column for it where nobody has one", () => {
    const quota = { period: 'day', limit: 1_000, remaining: 20, resetAtMs: STATUS.atMs + 3_600_000 };
    const counts = { class: 'user', bucket: 'all', count: 5, maxCount: 5, sinceMs: MOMENT, lastAtMs: MOMENT };
    const pageWith = (...quotas: (typeof quota | undefined)[]) =>
      pageOf(
        {},
        {
          callers: {
            ...{ refusedNetworks: [], refusedMost: [], mostInFlight: [], restrictions: [] },
            nearLimit: quotas.map((each, i) => ({ address: `192.0.2.${i}`, ...counts, quota: each })),
            unlistedRestrictions: 0,
          },
        },
      );
    const page = pageWith(quota, undefined, { ...quota, resetAtMs: STATUS.atMs });
    const reset = new Date(quota.resetAtMs).toISOString();
    expect(page).toContain(
      `<meter max="1000" value="980" aria-label="980 of 1000/day"></meter> 980 of 1000/day, until <time class="local" datetime="${reset}">`,
    );
    expect(page.match(/<meter/g)).toHaveLength(1);
    expect(pageWith(undefined)).not.toContain('Quota used');
  });

  it('shows the reset of a quota in the time zone of the browser', () => {
    const time = { dateTime: '2026-02-01T00:00:00.000Z', textContent: '2026-02-01 00:00:00Z', title: '' };
    const document = { getElementById: () => ({}), querySelectorAll: () => [time] };
    runInNewContext(SCRIPT, { document, setTimeout: () => {} });
    const local = { dateStyle: 'medium', timeStyle: 'short' } as const;
    expect(time).toMatchObject({
      textContent: new Date(time.dateTime).toLocaleString(undefined, local),
      title: '2026-02-01 00:00:00Z',
    });
  });

  it('says how to see callers where they are hidden', () => {
    const page = pageOf({}, { callers: null });
    expect(page).toContain('with the token of <code>listen.admin.token_file</code>');
    expect(page).not.toContain('Callers refused most');
  });
});

import { describe, expect, it } from 'vitest';
import { compareLimits } from '../../../../src/config/compare/compare-limits.ts';
import { formatChange, worstFirst } from '../../../../src/config/difference.ts';
import { limitsSchema } from '../../../../src/config/limits/index.ts';
import { atOnce } from '../../../../src/core/index.ts';

/** What changes from one limits.yaml to the other, a line each. */
function changes(before: object, now: object): string[] {
  const found = atOnce(compareLimits(limitsSchema.parse(now), limitsSchema.parse(before)));
  return worstFirst(found).map(formatChange);
}

const oneBucket = (bucket: object, routes: object = { 'GET /a': 'b' }) => ({
  buckets: { b: bucket },
  routes,
});

describe('the comparison of two limits.yaml', () => {
  it('says nothing of what means the same', () => {
    expect(changes({}, { global: { user: '50/1s' }, window_slack: '20ms' })).toEqual([]);
    expect(changes(oneBucket({ user: '5/5s' }), oneBucket({ user: '5/5s', algorithm: 'fixed' }))).toEqual([]);
    expect(changes(oneBucket({ user: '5/5s' }), oneBucket({ user: '5/5s', bot: '5/5s' }))).toEqual([]);
  });

  it.each([
    ['10/5s', '9/5s', 'stricter: bucket b: each caller 9 in 5s, before 10 in 5s'],
    ['10/5s', '10/10s', 'stricter: bucket b: each caller 10 in 10s, before 10 in 5s'],
    ['10/5s', '20/10s', 'looser: bucket b: each caller 20 in 10s, before 10 in 5s'],
    ['10/5s', '2/1s', 'stricter: bucket b: each caller 2 in 1s, before 10 in 5s'],
    [
      '10/5s',
      '3/1s',
      'mixed: bucket b: each caller 3 in 1s, before 10 in 5s (fewer at once, more over time)',
    ],
    [
      '3/1s',
      '10/5s',
      'mixed: bucket b: each caller 10 in 5s, before 3 in 1s (more at once, fewer over time)',
    ],
  ])('compares %s with %s at once and over time', (before, now, text) => {
    expect(changes(oneBucket({ user: before }), oneBucket({ user: now }))).toEqual([text]);
  });

  it('follows the fallbacks of each class', () => {
    expect(changes(oneBucket({ user: '5/5s', bot: '9/5s' }), oneBucket({ user: '5/5s' }))).toEqual([
      'stricter: bucket b: each bot 5 in 5s, before 9 in 5s',
    ]);
    expect(changes(oneBucket({ bot: '5/5s' }), oneBucket({ user: '7/5s', bot: '5/5s' }))).toEqual([
      'stricter: bucket b: each user and address 7 in 5s, before no limit',
    ]);
    expect(changes({ global: { bot: 'off' } }, { global: 'off' })).toEqual([
      'looser: global limit: each user and address no limit, before 50 in 1s',
    ]);
  });

  it('follows classes, which have what users have unless they have their own', () => {
    const before = oneBucket({ user: '5/5s', classes: { partner: '9/5s' } });
    expect(changes(before, oneBucket({ user: '5/5s' }))).toEqual([
      'stricter: bucket b: each caller of class partner 5 in 5s, before 9 in 5s',
    ]);
    expect(changes(before, oneBucket({ user: '5/5s', classes: { partner: '9/5s', gold: '5/5s' } }))).toEqual(
      [],
    );
    expect(changes(before, oneBucket({ user: '4/5s', classes: { partner: '9/5s' } }))).toEqual([
      'stricter: bucket b: each user and bot and address 4 in 5s, before 5 in 5s',
    ]);
    expect(changes({}, { global: { classes: { partner: '200/1s' } } })).toEqual([
      'looser: global limit: each caller of class partner 200 in 1s, before 50 in 1s',
    ]);
  });

  it('compares groups, and the claims that tell them apart', () => {
    const group = (claim: string, limit: string) => oneBucket({ user: '5/5s', group: { claim, limit } });
    expect(changes(oneBucket({ user: '5/5s' }), group('org', '9/1m'))).toEqual([
      'stricter: bucket b: all callers with the same org share: 9 in 1m, before no limit',
    ]);
    expect(changes(group('org', '9/1m'), group('org', '10/1m'))).toEqual([
      'looser: bucket b: all callers with the same org share: 10 in 1m, before 9 in 1m',
    ]);
    expect(changes(group('org', '9/1m'), group('team', '9/1m'))).toEqual([
      'mixed: bucket b: all callers with the same team share: 9 in 1m, before all callers with the same org share: 9 in 1m',
    ]);
  });

  it('compares numbers that a claim says by the most and by what holds without it', () => {
    const user = (max: string, otherwise: string, claim = 'rate') =>
      oneBucket({ user: { claim, max, otherwise }, address: '1/1s' });
    const plain = (quota: string) => oneBucket({ user: quota, address: '1/1s' });
    const says = (max: number, otherwise: number, claim = 'rate') =>
      `the value of the claim ${claim}, at most ${max}, or else ${otherwise} in 10s`;
    expect(changes(user('50/10s', '5/10s'), user('50/10s', '5/10s'))).toEqual([]);
    expect(changes(user('50/10s', '5/10s'), user('40/10s', '5/10s'))).toEqual([
      `stricter: bucket b: each user and bot ${says(40, 5)}, before ${says(50, 5)}`,
    ]);
    expect(changes(user('50/10s', '5/10s'), user('60/10s', '4/10s'))[0]).toMatch(/^mixed: /);
    expect(changes(user('50/10s', '5/10s'), user('50/10s', '5/10s', 'tier'))[0]).toMatch(/^mixed: /);
    expect(changes(plain('5/10s'), user('50/10s', '5/10s'))[0]).toMatch(/^mixed: /);
    expect(changes(plain('50/10s'), user('50/10s', '5/10s'))[0]).toMatch(/^stricter: /);
    expect(changes(user('50/10s', '5/10s'), plain('50/10s'))[0]).toMatch(/^looser: /);
  });

  it.each([
    [
      'a claim',
      'a list with more at once and a day',
      { claim: 'rate', max: '10/1s', otherwise: '5/1s' },
      ['20/1s', '100/day'],
      'mixed',
    ],
    [
      'a list',
      'a claim with more at once and no day',
      ['10/1s', '100/day'],
      { claim: 'rate', max: '20/1s', otherwise: '10/1s' },
      'mixed',
    ],
    [
      'a list',
      'a claim with fewer at once and no day',
      ['10/1s', '100/day'],
      { claim: 'rate', max: '5/1s', otherwise: '2/1s' },
      'mixed',
    ],
    [
      'a claim',
      'a list with fewer at once and a day',
      { claim: 'rate', max: '10/1s', otherwise: '5/1s' },
      ['2/1s', '100/day'],
      'mixed',
    ],
    [
      'a claim of a day',
      'a list with a larger day',
      { claim: 'rate', max: '100/day', otherwise: '50/day' },
      ['200/day', '9/1s'],
      'mixed',
    ],
    [
      'a list',
      'a claim that sets at most one of its quotas',
      ['10/1s', '100/day'],
      { claim: 'rate', max: '100/day', otherwise: '50/day' },
      'mixed',
    ],
  ])('weighs every quota of a list: from %s to %s', (_, __, before, now, effect) => {
    const [change = '', ...others] = changes(
      oneBucket({ user: before, address: '1/1s' }),
      oneBucket({ user: now, address: '1/1s' }),
    );
    expect(change).toMatch(new RegExp(`^${effect}: `));
    expect(others).toEqual([]);
  });

  it('says what counts together', () => {
    const routes = { 'GET /a/{id}/{other}': 'b' };
    const by = (main?: string) => oneBucket({ user: '5/5s', ...(main && { main }) }, routes);
    expect(changes(by('id'), by())).toEqual([
      'stricter: bucket b: all values of id count together, before each was counted separately',
    ]);
    expect(changes(by(), by('id'))).toEqual([
      'looser: bucket b: each value of id is counted separately, before all counted together',
    ]);
    expect(changes(by('id'), by('other'))).toEqual([
      'mixed: bucket b: values of other are counted separately, before those of id',
    ]);
    expect(changes(oneBucket({ user: '5/5s' }), oneBucket({ user: '5/5s', algorithm: 'smooth' }))).toEqual([
      'mixed: bucket b: smooth: after a burst one request at a time, before fixed: all of it again when the period is over',
    ]);
  });

  it('says what a removed line falls to, and what a new one was taken from', () => {
    const buckets = { narrow: { user: '5/5s' }, wide: { user: '100/10s' } };
    const both = { buckets, routes: { 'POST /v1/a': 'narrow', '/v1/**': 'wide' } };
    const one = { buckets: { wide: buckets.wide }, routes: { '/v1/**': 'wide' } };
    const none = { buckets: { wide: buckets.wide } };
    const falls = 'POST /v1/a: in the bucket wide by the line "/v1/**", before in the bucket narrow';
    expect(changes(both, one)).toEqual([
      'stricter: bucket wide: also counts POST /v1/a',
      `looser: ${falls}: each caller 100 in 10s, before 5 in 5s`,
    ]);
    expect(changes(one, both)).toEqual([
      'stricter: POST /v1/a: in the bucket narrow, before in the bucket wide by the line "/v1/**": each caller 5 in 5s, before 100 in 10s',
      'looser: bucket wide: no longer counts POST /v1/a',
    ]);
    expect(changes(one, none)).toEqual([
      'looser: /v1/**: in no bucket, before in the bucket wide: each caller no limit, before 100 in 10s',
    ]);
  });

  it('compares quotas of costs with such, and with those of requests as something else', () => {
    const of = (user: unknown) => ({ buckets: { b: { user } }, routes: { '/a': 'b' } });
    const cost = (limit: string) => ({ limit, unit: 'cost' });
    expect(changes(of(cost('200/1m')), of(cost('100/1m')))).toEqual([
      'stricter: bucket b: each caller a cost of 100 in 1m, before a cost of 200 in 1m',
    ]);
    expect(changes(of('60/1m'), of(cost('60/1m')))).toEqual([
      'mixed: bucket b: each caller a cost of 60 in 1m, before 60 in 1m',
    ]);
    expect(changes(of('60/1m'), of(['60/1m', cost('60/1m')]))).toEqual([
      'stricter: bucket b: each caller 60 in 1m and a cost of 60 in 1m, before 60 in 1m',
    ]);
  });

  it('compares the prices that responses tell', () => {
    const at = (cost: unknown) => ({
      buckets: { b: { user: { limit: '100/5s', unit: 'cost' } } },
      routes: { 'GET /a': { bucket: 'b', cost }, '/b': 'b' },
    });
    const price = (more: object = {}) => ({ response_field: 'X-Usage', reserve: 5, most: 50, ...more });
    const said = 'what X-Usage of the response says (5 reserved, at most 50)';
    const start = 'GET /a: in the bucket b at a cost of';
    expect(changes(at(price()), at(price()))).toEqual([]);
    expect(changes(at(5), at(price()))).toEqual([`mixed: ${start} ${said}, before 5`]);
    expect(changes(at(price({ most: 90 })), at(price()))).toEqual([
      `looser: ${start} ${said}, before what X-Usage of the response says (5 reserved, at most 90)`,
    ]);
    expect(changes(at(price()), at(price({ reserve: 9, most: 40 })))).toEqual([
      expect.stringMatching(/^mixed: .*\(9 reserved, at most 40\), before/),
    ]);
    expect(changes(at(price({ pass: true })), at(price()))).toEqual([expect.stringMatching(/^neutral: /)]);
  });

  it('compares what a request costs', () => {
    const at = (cost: number, bucket = 'b') => ({
      buckets: { b: { user: '10/5s' }, c: { user: '10/5s' } },
      routes: { 'GET /a': { bucket, cost }, '/b': 'b', '/c': 'c' },
    });
    expect(changes(at(1), at(5))).toEqual(['stricter: GET /a: in the bucket b at a cost of 5, before 1']);
    expect(changes(at(5), at(2))).toEqual(['looser: GET /a: in the bucket b at a cost of 2, before 5']);
    expect(changes(at(1), { ...at(1), routes: { ...at(1).routes, 'GET /a': 'b' } })).toEqual([]);
    expect(changes(at(1), at(5, 'c'))).toContain(
      'stricter: GET /a: in the bucket c, before in the bucket b: a cost of 5, before 1',
    );
  });

  it('compares how many requests of a caller are in flight', () => {
    const routes = { 'GET /a': 'b' };
    expect(
      changes(oneBucket({ user: '5/5s', concurrent: 4 }), oneBucket({ user: '5/5s', concurrent: 2 })),
    ).toEqual(['stricter: bucket b: of one caller at once: 2, before 4']);
    expect(changes({}, { buckets: { b: { concurrent: 2 } }, routes })).toEqual([
      'stricter: GET /a: in the bucket b, before in no bucket: of one caller at once: 2, before any number',
    ]);
  });

  it('names the methods that move where not all of them do', () => {
    const buckets = { wide: { user: '9/5s' }, narrow: { user: '1/5s' } };
    const [before, now] = [{ '/a': 'wide' }, { 'GET /a': 'narrow', 'POST /a': 'wide' }];
    expect(changes({ buckets, routes: before }, { buckets, routes: now })).toEqual([
      'stricter: GET /a: in the bucket narrow, before in the bucket wide by the line "/a": each caller 1 in 5s, before 9 in 5s',
      'looser: PUT /a, PATCH /a, DELETE /a: in no bucket, before in the bucket wide by the line "/a": each caller no limit, before 9 in 5s',
      'looser: bucket wide: no longer counts GET /a',
      'looser: bucket wide: no longer counts PUT /a, PATCH /a, DELETE /a',
    ]);
  });

  it('knows a renamed bucket by its numbers, and a bucket without routes as harmless', () => {
    const [b, c] = [
      oneBucket({ user: '5/5s' }),
      { buckets: { c: { user: '5/5s' } }, routes: { 'GET /a': 'c' } },
    ];
    expect(changes(b, c)).toEqual([
      'neutral: GET /a: in the bucket c, before in the bucket b: the same numbers, counted from zero',
    ]);
    const unused = { buckets: { b: { user: '1/1h' } } };
    expect(changes({}, unused)).toEqual(['neutral: bucket b: new, and no line of "routes" uses it']);
    expect(changes(unused, {})).toEqual(['neutral: bucket b: gone; no line of "routes" used it']);
  });

  it('follows gRPC calls', () => {
    const buckets = { b: { user: '5/5s' } };
    expect(changes({ buckets }, { buckets, routes: { 'GRPC a.B/*': 'b' } })).toEqual([
      'stricter: GRPC a.B/*: in the bucket b, before in no bucket: each caller 5 in 5s, before no limit',
    ]);
  });

  it('says how the scope changes when a second line shares a bucket', () => {
    const bucket = { user: '5/5s' };
    const two = oneBucket(bucket, { 'GET /a': 'b', 'GET /c': 'b' });
    expect(changes(oneBucket(bucket), two)).toEqual([
      'stricter: GET /c: in the bucket b, before in no bucket: each caller 5 in 5s, before no limit',
      'stricter: bucket b: also counts GET /c',
      'looser: bucket b: scope shared, before user: its 429s no longer count as invalid requests',
    ]);
  });

  it('says how the scope changes when the only line of a bucket comes to cover several routes', () => {
    const bucket = { user: '5/5s' };
    expect(changes(oneBucket(bucket, { '/a': 'b' }), oneBucket(bucket, { '/a/**': 'b' }))).toContain(
      'looser: bucket b: scope shared, before user: its 429s no longer count as invalid requests',
    );
  });

  it('says when a limit begins to hold, for whom, and what is tried beside it', () => {
    const steps = [
      { user: '5/5s', shadow: true },
      { user: '4/5s', shadow: true },
      { user: '4/5s', enforce: '10%' },
      { user: '4/5s' },
      { user: '4/5s', shadow: { user: '2/5s', resource: '9/5s' } },
    ];
    const found = steps.slice(1).map((now, index) => changes(oneBucket(steps[index] ?? {}), oneBucket(now)));
    expect(found).toEqual([
      ['neutral: bucket b: in shadow: each caller 4 in 5s, before 5 in 5s'],
      ['stricter: bucket b: applies to 10% of callers and does not limit the others, before in shadow'],
      [
        'stricter: bucket b: applies to all callers, before applies to 10% of callers and does not limit the others',
      ],
      ['neutral: bucket b: tries each user 2 in 5s, all callers together 9 in 5s in shadow, before nothing'],
    ]);
    expect(changes({}, { global: { shadow: true } })).toEqual([
      'looser: global limit: in shadow, before applies to all callers',
    ]);
    expect(changes({}, oneBucket({ user: '5/5s', shadow: true }))).toEqual([
      'neutral: GET /a: in the bucket b (in shadow), before in no bucket',
    ]);
    expect(changes({}, oneBucket({ user: '5/5s', enforce: '10%' }))).toEqual([
      'stricter: GET /a: in the bucket b (applies to 10% of callers and does not limit the others), before in no bucket: each caller 5 in 5s, before no limit',
    ]);
  });

  it('says what a share of callers gets on which other numbers are tried, and that the others keep theirs', () => {
    const tried = { user: '20/5s', bot: '50/5s', shadow: { user: '10/5s' } };
    const steps = [
      { user: '20/5s', bot: '50/5s' },
      { ...tried, enforce: '10%' },
      { ...tried, enforce: '20%' },
      { user: '10/5s', bot: '50/5s' },
      { ...tried, enforce: '20%' },
      { ...tried, enforce: '10%' },
    ];
    const found = steps.slice(1).map((now, index) => changes(oneBucket(steps[index] ?? {}), oneBucket(now)));
    expect(found).toEqual([
      ['stricter: bucket b: for 10% of callers: each user and address 10 in 5s, before 20 in 5s'],
      ['stricter: bucket b: tries its numbers on 20% of callers, before on 10%'],
      ['stricter: bucket b: each user and address 10 in 5s, before 20 in 5s'],
      ['looser: bucket b: each user and address 20 in 5s, before 10 in 5s'],
      ['looser: bucket b: tries its numbers on 10% of callers, before on 20%'],
    ]);
  });

  it('compares who is blocked or spared, and names no caller', () => {
    const alice = { client: 'web', subject: 'alice' };
    const bob = { client: 'web', subject: 'bob' };
    const before = { blocked: { addresses: ['192.0.2.7'], callers: [alice] }, never_restrict: [bob] };
    const now = {
      blocked: { addresses: ['192.0.2.8'], callers: [bob] },
      never_restrict: [{ ...bob }, alice],
    };
    expect(changes(before, now)).toEqual([
      'stricter: blocked: blocks 192.0.2.8, 1 caller',
      'looser: never_restrict: no longer restricts 1 caller',
      'looser: blocked: no longer blocks 192.0.2.7, 1 caller',
    ]);
  });

  it('compares what restricts', () => {
    const before = { never_restrict: ['192.0.2.0/24'], ignored_refusals: { addresses: true } };
    const now = {
      never_restrict: ['198.51.100.7'],
      invalid_requests: { limit: '5/1m', restrict_for: '20m' },
      webhook_not_found: 'off',
      failed_verifications: '2000/1m',
      keys_per_caller: 5000,
      headers: ['x-ratelimit', 'ratelimit'],
      bucket_hash: 'route',
    };
    expect(changes(before, now)).toEqual([
      'stricter: never_restrict: may restrict again 192.0.2.0/24',
      'stricter: invalid_requests: 5 in 1m, before 10000 in 10m',
      'stricter: invalid_requests: restricts for 20m, before 10m',
      'looser: ignored_refusals: no longer restricts addresses',
      'looser: keys_per_caller: 5000, before 4096',
      'looser: never_restrict: no longer restricts 198.51.100.7',
      'looser: failed_verifications: 2000 in 1m, before 1000 in 1m',
      'looser: webhook_not_found: no limit, before 10 in 10m',
      'neutral: headers: RateLimit and RateLimit-Policy are sent as well',
      'neutral: bucket_hash: route, before value: clients see other X-RateLimit-Bucket',
    ]);
  });

  it('compares every key', () => {
    const others: Readonly<Record<string, object>> = {
      global: { global: 'off' },
      invalid_requests: { invalid_requests: 'off' },
      webhook_not_found: { webhook_not_found: 'off' },
      ignored_refusals: { ignored_refusals: 'off' },
      never_restrict: { never_restrict: ['192.0.2.7'] },
      blocked: { blocked: { addresses: ['192.0.2.7'] } },
      failed_verifications: { failed_verifications: 'off' },
      buckets: { buckets: { b: { user: '1/1s' } } },
      routes: oneBucket({ user: '1/1s' }),
      keys_per_caller: { keys_per_caller: 5 },
      ipv6_prefix: { ipv6_prefix: 56 },
      nat64_prefixes: { nat64_prefixes: ['2001:db8:64::/96'] },
      window_slack: { window_slack: '0ms' },
      time_zone: { time_zone: 'Asia/Tokyo' },
      patience: { patience: '50ms' },
      headers: { headers: ['x-ratelimit', 'ratelimit'] },
      bucket_hash: { bucket_hash: 'route' },
    };
    for (const key of Object.keys(limitsSchema.shape))
      expect([key, changes({}, others[key] ?? {})]).not.toEqual([key, []]);
    expect(changes({ patience: '50ms' }, {})).toEqual(['stricter: patience: off, before 50ms']);
  });

  it('compares periods of the calendar', () => {
    const of = (user: string, time_zone = 'UTC') => ({ ...oneBucket({ user }), time_zone });
    expect(changes(of('5/day'), of('4/day'))).toEqual([
      'stricter: bucket b: each caller 4 a day, before 5 a day',
    ]);
    expect(changes(of('5/24h'), of('5/day'))).toEqual([
      'mixed: bucket b: each caller 5 a day, before 5 in 24h',
    ]);
    expect(changes(of('5/day'), of('5/day', 'Asia/Tokyo'))).toEqual([
      'neutral: time_zone: days, weeks and months begin at midnight in Asia/Tokyo, before in UTC: from their next boundary on',
    ]);
  });

  it('compares lists of quotas by their periods', () => {
    const of = (...user: string[]) => oneBucket({ user: user.length === 1 ? (user[0] ?? '') : user });
    expect(changes(of('5/1s', '1000/day'), of('5/1s', '1000/day'))).toEqual([]);
    expect(changes(of('5/1s'), of('5/1s', '1000/day'))).toEqual([
      'stricter: bucket b: each caller 5 in 1s and 1000 a day, before 5 in 1s',
    ]);
    expect(changes(of('5/1s', '1000/day'), of('9/1s', '1000/day'))).toEqual([
      'looser: bucket b: each caller 9 in 1s and 1000 a day, before 5 in 1s and 1000 a day',
    ]);
    expect(changes(of('5/1s', '1000/day'), of('9/1s', '900/day'))).toEqual([
      'mixed: bucket b: each caller 9 in 1s and 900 a day, before 5 in 1s and 1000 a day',
    ]);
  });

  it('puts the strictest first', () => {
    const buckets = (a: string, b: string) => ({
      buckets: { a: { user: a }, b: { user: b } },
      routes: { '/a': 'a', '/b': 'b' },
    });
    const [first, second] = changes(buckets('100/5s', '100/5s'), buckets('50/5s', '1/5s'));
    expect([first, second]).toEqual([
      expect.stringContaining('bucket b: each caller 1 in'),
      expect.stringContaining('bucket a: each caller 50 in'),
    ]);
  });
});

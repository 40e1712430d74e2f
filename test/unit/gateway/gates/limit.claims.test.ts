import { describe, expect, test } from 'vitest';
import { CallerShare } from '../../../../src/limits/index.ts';
import { answering, type BareGateway, bareGateway } from '../../../support/bare-gateway.ts';
import { fieldOf, rateFieldsOf, rateOf, statusesOf } from '../../../support/rate-fields.ts';

type Claims = Readonly<Record<string, unknown>>;

const tokens = {
  classes: {
    partner: { claim: 'plan', value: 'partner', callers: [{ client: 'web', subject: 'carol' }] },
    gold: { claim: 'plan' },
  },
};

/** Limit and Remaining that this caller is told. */
async function told(bare: BareGateway, claims: Claims, line = 'GET /orders'): Promise<string> {
  const { limit, remaining } = rateOf(await bare.ask(line, { as: claims }));
  return `${limit} ${remaining}`;
}

const askTimes = async (bare: BareGateway, times: number, claims: Claims, line = 'GET /orders') =>
  statusesOf(await bare.askTimes(times, line, { as: claims }));

describe('a class of callers', () => {
  const limits = {
    buckets: { orders: { user: '10/1m', bot: '20/1m', classes: { partner: '100/1m' } } },
    routes: { '/orders': 'orders' },
  };

  test.each<[string, Claims, string]>([
    ['that its claim does not mark', {}, '10 9'],
    ['that its claim marks', { plan: 'partner' }, '100 99'],
    ['that one value of its claim marks', { plan: ['basic', 'partner'] }, '100 99'],
    ['that it lists', { azp: 'web', sub: 'carol' }, '100 99'],
    ['that it lists of another client', { azp: 'other', sub: 'carol' }, '10 9'],
    ['that are bots', { azp: 'job', client_id: 'job' }, '20 19'],
    ['that are bots, of a class without a number', { azp: 'job', client_id: 'job', plan: 'gold' }, '10 9'],
  ])('has numbers of its own: callers %s', async (_, claims, expected) => {
    expect(await told(await bareGateway(limits, { tokens }), claims)).toBe(expected);
  });

  test('leaves the caller and what it has drawn as they are', async () => {
    const bare = await bareGateway(limits, { tokens });
    const plans = [{}, { plan: 'partner' }, { plan: 'gold' }];
    const each: string[] = [];
    for (const claims of plans) each.push(await told(bare, claims));
    expect(each).toEqual(['10 9', '100 98', '10 7']);
    expect(bare.records.map(({ caller }) => caller.class)).toEqual(['user', 'partner', 'gold']);
    expect(new Set(bare.records.map(({ caller }) => caller.principal)).size).toBe(1);
  });

  test('has a global limit of its own', async () => {
    const global = { user: '1/1m', classes: { partner: '3/1m', gold: 'off' } };
    const bare = await bareGateway({ global }, { tokens });
    expect(await askTimes(bare, 4, { sub: 'alice' })).toEqual([200, 429, 429, 429]);
    expect(await askTimes(bare, 4, { sub: 'paul', plan: 'partner' })).toEqual([200, 200, 200, 429]);
    expect(await askTimes(bare, 4, { sub: 'greta', plan: 'gold' })).toEqual([200, 200, 200, 200]);
  });

  test('is tried in shadow, and enforced for a share of callers', async () => {
    const bucket = { user: '10/1m', classes: { partner: '5/1m' }, shadow: { classes: { partner: '1/1m' } } };
    const buckets = { orders: bucket, share: { ...bucket, enforce: '50%' } };
    const bare = await bareGateway(
      { buckets, routes: { '/orders': 'orders', '/share': 'share' } },
      { tokens },
    );
    expect(await askTimes(bare, 2, { plan: 'partner' })).toEqual([200, 200]);
    const refused = { bucket: 'orders', callerClass: 'partner', by: 'caller' };
    expect(bare.told.filter(([event]) => event === 'shadowRefused')).toEqual([['shadowRefused', refused]]);
    const limitsOf = new Set<number>();
    for (let i = 0; i < 20; i++)
      limitsOf.add(rateOf(await bare.ask('GET /share', { as: { sub: `u${i}`, plan: 'partner' } })).limit);
    expect(limitsOf).toEqual(new Set([1, 5]));
    expect(rateOf(await bare.ask('GET /share', { as: { sub: 'u0' } })).limit).toBe(10);
  });
});

describe('a number that the token says', () => {
  const number = (max: string, otherwise: string) => ({ claim: 'rate', max, otherwise });
  const limits = {
    buckets: {
      search: { user: number('500/10s', '50/10s'), classes: { partner: number('900/10s', '90/10s') } },
    },
    routes: { '/orders': 'search' },
    headers: ['x-ratelimit', 'ratelimit'],
  };

  test.each<[unknown, number]>([
    [120, 120],
    ['120', 120],
    ['0120', 120],
    [501, 500],
    [1e300, 500],
    ['9'.repeat(400), 500],
    [1, 1],
    ...[0, -3, '-3', 1.5, '12.0', '1e2', ' 12', '', null, true, [120], { of: 120 }, undefined].map(
      odd => [odd, 50] as [unknown, number],
    ),
  ])('holds where it is a whole number: %j', async (rate, expected) => {
    const bare = await bareGateway(limits, { tokens });
    const response = await bare.ask('GET /orders', { as: { rate } });
    expect(rateOf(response).limit).toBe(expected);
    expect(fieldOf(response, 'ratelimit-policy')).toBe(`"search";q=${expected};w=10`);
  });

  test('is bounded by the class, and acts at once in a newer token', async () => {
    const bare = await bareGateway(limits, { tokens });
    expect(await told(bare, { plan: 'partner', rate: 800 })).toBe('800 799');
    expect(await told(bare, { plan: 'partner', rate: 9000 })).toBe('900 898');
    expect(await told(bare, { rate: 4 })).toBe('4 1');
    expect(await askTimes(bare, 2, { rate: 4 })).toEqual([200, 429]);
    expect(await told(bare, { rate: 4 })).toBe('4 0');
    expect(await told(bare, { rate: 100 })).toBe('100 95');
  });
});

describe('the quota of a group', () => {
  const group = { claim: 'organization', limit: '3/1m' };
  const limits = {
    buckets: { exports: { user: '10/1m', group }, alone: { main: 'id', group } },
    routes: { '/orders': 'exports', '/alone/{id}': 'alone' },
    invalid_requests: { limit: '1/10m' },
    headers: ['x-ratelimit', 'ratelimit'],
  };
  const acme = (sub: string) => ({ sub, organization: 'acme' });

  test('counts all callers with one value of the claim together, and no others', async () => {
    const bare = await bareGateway(limits);
    for (const sub of ['a', 'b', 'c']) expect(await told(bare, acme(sub))).toBe('10 9');
    const refused = await bare.ask('GET /orders', { as: acme('d') });
    expect(rateOf(refused)).toMatchObject({ limit: 3, remaining: 0, scope: 'shared' });
    expect(fieldOf(refused, 'ratelimit')).toMatch(/^"exports\/group";r=0;/);
    expect(fieldOf(refused, 'ratelimit-policy')).toBe('"exports/group";q=3;w=60, "exports";q=10;w=60');
    expect(await told(bare, { sub: 'a', organization: 'initech' })).toBe('10 8');
    expect(await told(bare, { sub: 'd' })).toBe('10 9');
  });

  test('is described by no success, and its 429 is no invalid request', async () => {
    const bare = await bareGateway(limits);
    const first = await bare.ask('GET /alone/1', { as: acme('a') });
    expect(rateFieldsOf(first)).toEqual([]);
    expect(fieldOf(first, 'ratelimit-policy')).toBeUndefined();
    const other = await bare.ask('GET /orders', { as: acme('a') });
    expect(fieldOf(other, 'ratelimit-policy')).toBe('"exports";q=10;w=60');
    await askTimes(bare, 2, acme('a'), 'GET /alone/1');
    expect(await askTimes(bare, 5, acme('b'), 'GET /alone/1')).toEqual(Array(5).fill(429));
    expect((await bare.ask('GET /', { as: acme('b') })).status).toBe(200);
  });

  test('is counted for each main value', async () => {
    const bare = await bareGateway(limits);
    expect(await askTimes(bare, 4, acme('a'), 'GET /alone/1')).toEqual([200, 200, 200, 429]);
    expect(await askTimes(bare, 1, acme('b'), 'GET /alone/2')).toEqual([200]);
    expect(await askTimes(bare, 1, acme('b'), 'GET /alone/1')).toEqual([429]);
  });

  test.each<[unknown, boolean]>([
    ['a'.repeat(256), true],
    [7, true],
    [true, true],
    ...[['acme'], { name: 'acme' }, '', null, false, 'a'.repeat(257), 'é'.repeat(129), '\ud800'].map(
      odd => [odd, false] as [unknown, boolean],
    ),
  ])('is drawn on or not by a token with %j: %j', async (organization, isDrawnOn) => {
    const bare = await bareGateway(limits);
    expect(await askTimes(bare, 3, { organization }, 'GET /alone/1')).toEqual([200, 200, 200]);
    const last = await askTimes(bare, 1, { organization: String(organization) }, 'GET /alone/1');
    expect(last).toEqual([isDrawnOn ? 429 : 200]);
    if (!isDrawnOn) expect(await askTimes(bare, 1, { organization }, 'GET /alone/1')).toEqual([200]);
  });
});

describe('limits in shadow', () => {
  /** A user inside or outside the half of all callers that a bucket holds for. */
  function userOf(isInside: boolean): Claims {
    const share = new CallerShare('things', 50);
    for (let i = 0; ; i++) if (share.includes(`user:app user-${i}`) === isInside) return { sub: `user-${i}` };
  }

  test('are tried beside those that hold, and the record names what would have refused', async () => {
    const bare = await bareGateway({
      global: { user: '50/1s', shadow: { user: '1/10m' } },
      buckets: { things: { main: 'id', user: '4/10m', shadow: { user: '2/10m', resource: '3/10m' } } },
      routes: { 'GET /things/{id}': 'things' },
    });
    const responses = await bare.askTimes(5, 'GET /things/7', { as: {} });
    expect(responses.map(response => rateOf(response).remaining)).toEqual([3, 2, 1, 0, 0]);
    expect(responses.map(response => rateOf(response).limit)).toEqual(Array(5).fill(4));
    expect(bare.records.map(({ shadowRefusals }) => shadowRefusals)).toEqual([
      [],
      ['global'],
      ['global', 'caller'],
      ['global', 'caller', 'resource'],
      // Refused by what holds.
      [],
    ]);
  });

  test('hold for a share of callers, and the number of all others stays in force', async () => {
    const things = { main: 'id', user: '3/10m', shadow: { user: '2/10m' }, enforce: '50%' };
    const bare = await bareGateway({ buckets: { things }, routes: { 'GET /things/{id}': 'things' } });
    const line = 'GET /things/1';
    expect(await told(bare, userOf(true), line)).toBe('2 1');
    expect(await askTimes(bare, 2, userOf(true), line)).toEqual([200, 429]);
    expect(await told(bare, userOf(false), line)).toBe('3 2');
    expect(await askTimes(bare, 3, userOf(false), line)).toEqual([200, 200, 429]);
    expect(bare.told.filter(([event]) => event === 'shadowRefused')).toHaveLength(1);
  });

  test('say nothing to clients', async () => {
    const bare = await bareGateway(
      {
        buckets: { tried: { user: '1/60s', shadow: true } },
        routes: { 'GET /tried': 'tried' },
        headers: ['x-ratelimit', 'ratelimit'],
      },
      { service: answering(403) },
    );
    const responses = await bare.askTimes(6, 'GET /tried', { as: {} });
    expect(statusesOf(responses)).toEqual(Array(6).fill(403));
    expect(responses.flatMap(rateFieldsOf)).toEqual([]);
    expect(bare.records.map(({ shadowRefusals }) => shadowRefusals.join())).toEqual([
      ...['', 'caller', 'caller', 'caller', 'caller', 'caller'],
    ]);
    expect(bare.limiting.restrictions.size).toBe(0);
  });
});

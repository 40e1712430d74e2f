import { describe, expect, test } from 'vitest';
import { type BareGateway, bareGateway, type Sending } from '../../../support/bare-gateway.ts';
import { rateOf, refusalOf, statusesOf } from '../../../support/rate-fields.ts';

const ALICE: Sending = { as: true };
const plenty = { user: '65535/60s', address: '65535/60s' };
const caps = (limit_keys: number) => ({ config: { caps: { limit_keys } } });
const keysOf = ({ limiting }: BareGateway) => limiting.local.counts.keys;
const stranger = (i: number): Sending => ({ from: `198.51.${i}.7` });

/** Sends so many requests, and returns how many had each status. */
async function flood(
  bare: BareGateway,
  times: number,
  line: (i: number) => string,
  sending: (i: number) => Sending,
): Promise<Map<number, number>> {
  const statuses = new Map<number, number>();
  for (let i = 0; i < times; i++) {
    const { status } = await bare.ask(line(i), sending(i));
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  }
  return statuses;
}

/** What a hundred addresses get that nobody has seen before, each for its first request. */
const first = (bare: BareGateway, line: (i: number) => string) => flood(bare, 100, line, stranger);

describe('a flood', () => {
  test('of addresses in one IPv6 network is one address', async () => {
    const bare = await bareGateway({ global: { address: '50/60s' } });
    const within = (i: number) => ({ from: `2001:db8:1:2:${i.toString(16)}::${(i * 7).toString(16)}` });
    expect(await flood(bare, 300, () => 'GET /open/a', within)).toEqual(
      new Map([
        [200, 50],
        [429, 250],
      ]),
    );
    expect(keysOf(bare)).toBe(1);
    expect((await bare.ask('GET /open/a', { from: '2001:db8:1:3::1' })).status).toBe(200);
  });

  test('of main values of one caller fills its own keys and then shares one', async () => {
    const buckets = { things: { main: 'id', user: '5/60s' } };
    const bare = await bareGateway({ keys_per_caller: 100, buckets, routes: { '/things/{id}': 'things' } });
    const statuses = await flood(
      bare,
      400,
      i => `GET /things/${i}`,
      () => ALICE,
    );
    // 100 keys of its own, and five requests on the one for all that follow.
    expect(statuses).toEqual(
      new Map([
        [200, 105],
        [429, 295],
      ]),
    );
    expect(keysOf(bare)).toBe(101);
    expect(rateOf(await bare.ask('GET /things/399', { as: { sub: 'bob' } })).remaining).toBe(4);
  });

  test('of main values past those that an address may hold gets 429s of scope shared, which count against nobody', async () => {
    const bare = await bareGateway({
      ...{ keys_per_caller: 2, invalid_requests: { limit: '3/60s' } },
      ...{
        buckets: { things: { main: 'id', address: '1/60s', scope: 'user' } },
        routes: { '/open/{id}': 'things' },
      },
    });
    const responses = [];
    for (let id = 0; id < 12; id++) responses.push(await bare.ask(`GET /open/${id}`));
    expect(statusesOf(responses)).toEqual([...Array(3).fill(200), ...Array(9).fill(429)]);
    expect(new Set(responses.slice(3).map(response => rateOf(response).scope))).toEqual(new Set(['shared']));
  });

  test('of addresses leaves an exhausted key exhausted, whether there is room for all or not', async () => {
    for (const limit_keys of [100, 10_000]) {
      const bare = await bareGateway({ global: { address: '2/60s' } }, caps(limit_keys));
      expect(statusesOf(await bare.askTimes(3, 'GET /open/a', stranger(1)))).toEqual([200, 200, 429]);
      await flood(
        bare,
        2_000,
        () => 'GET /open/a',
        i => ({ from: `10.${i >> 8}.${i & 255}.1` }),
      );
      // One is kept for what stands in for a network, and may be in use.
      if (limit_keys === 100) expect([99, 100]).toContain(keysOf(bare));
      else expect(keysOf(bare)).toBe(2_001);
      expect((await bare.ask('GET /open/a', stranger(1))).status).toBe(429);
    }
  });

  test.each([
    ['a bucket', { buckets: { things: { address: '1/1h' } }, routes: { '/open/a': 'things' } }],
    ['the global limit', { global: { address: '1/1h' } }],
  ])('of addresses from one /44 takes nothing from strangers in %s', async (_, limits) => {
    const bare = await bareGateway({ invalid_requests: 'off', ...limits }, caps(2_000));
    const of44 = (i: number) => ({ from: `2001:db8:${(0x50 + (i % 16)).toString(16)}:${i.toString(16)}::1` });
    expect((await flood(bare, 4_000, () => 'GET /open/a', of44)).get(429)).toBeGreaterThan(2_000);
    expect(await first(bare, () => 'GET /open/a')).toEqual(new Map([[200, 100]]));
    expect(bare.limiting.local.counts.sharedOverflows).toBe(0);
  });
});

describe('a flood that fills the counters of one limit', () => {
  const limits = {
    ...{ global: plenty, invalid_requests: { limit: '20/60s' } },
    buckets: { things: { main: 'id', resource: '1/1h' }, others: { user: '5/60s' } },
    routes: { '/open/others': 'others', '/open/{id}/x': 'things' },
  };

  test('with main values of its choice, from one /56, takes nothing from anybody else', async () => {
    const bare = await bareGateway(limits, caps(400));
    const of56 = (i: number) => ({ from: `2001:db8:0:${(i % 256).toString(16)}::1` });
    await flood(bare, 3_000, i => `GET /open/v${i}/x`, of56);
    for (const line of [
      () => 'GET /open/other',
      () => 'GET /open/others',
      (i: number) => `GET /open/new${i}/x`,
    ])
      expect(await first(bare, line)).toEqual(new Map([[200, 100]]));
    expect(bare.limiting.local.counts.sharedOverflows).toBe(0);
  });

  test('from everywhere leaves other limits alone, and the 429s of its stand-in count against nobody', async () => {
    const bare = await bareGateway(limits, caps(400));
    await flood(
      bare,
      1_000,
      i => `GET /open/v${i}/x`,
      i => ({ from: `10.${i >> 4}.${i & 15}.1` }),
    );
    expect(await first(bare, () => 'GET /open/others')).toEqual(new Map([[200, 100]]));
    const refused = await bare.askTimes(50, 'GET /open/fresh/x', stranger(1));
    expect(new Set(refused.map(response => rateOf(response).scope))).toEqual(new Set(['shared']));
    expect(statusesOf(refused)).toEqual(Array(50).fill(429));
    expect((await bare.ask('GET /open/other', stranger(1))).status).toBe(200);
  });

  test('of the global limit has a stand-in whose 429s count against nobody', async () => {
    const bare = await bareGateway({ ...limits, global: { user: '1/1h', address: '1/1h' } }, caps(40));
    await flood(
      bare,
      200,
      () => 'GET /open/other',
      i => ({ from: `10.${i >> 4}.${i & 15}.1` }),
    );
    const refused = await bare.askTimes(50, 'GET /open/other', stranger(1));
    expect(refused.map(response => refusalOf(response)['code'])).toEqual(Array(50).fill(undefined));
    expect(bare.told.map(([event]) => event)).not.toContain('invalid');
  });
});

describe('the address of a client behind trusted proxies', () => {
  /** The first request of an address is admitted, each further one refused. */
  const knows =
    (trusted: readonly string[]) =>
    async (bare: BareGateway, ...claims: string[]) => {
      const fields = claims.flatMap(claim => ['X-Forwarded-For', claim]);
      return (await bare.ask('GET /open/a', { from: trusted[0] ?? '', fields })).status === 429;
    };

  test('is the rightmost that is not trusted, whatever comes before it', async () => {
    const isKnown = knows(['127.0.0.1']);
    const config = { trusted_proxies: ['127.0.0.1', '10.0.0.0/8'] };
    const bare = await bareGateway({ global: { address: '1/60s' } }, { config });
    expect(await isKnown(bare, '198.51.100.7')).toBe(false);
    for (const claims of [
      ...[['1.2.3.4, 198.51.100.7'], ['1.2.3.4, 198.51.100.7, 10.0.0.9'], ['9.9.9.9', '198.51.100.7']],
      ...[['198.51.100.7:4711'], ['::ffff:198.51.100.7']],
    ])
      expect(await isKnown(bare, ...claims), claims.join()).toBe(true);
    expect(await isKnown(bare, '[2001:db8::1]:443')).toBe(false);
    expect(await isKnown(bare, '2001:db8::2')).toBe(true);
  });

  test('is the peer if it forges 1,200 entries', async () => {
    const isKnown = knows(['192.0.2.1']);
    const bare = await bareGateway(
      { global: { address: '1/60s' } },
      { config: { trusted_proxies: ['10.0.0.0/8'] } },
    );
    expect(await isKnown(bare)).toBe(false);
    const forged = Array.from({ length: 1_200 }, (_, i) => `1.2.${i >> 8}.${i & 255}`).join(',');
    expect(await isKnown(bare, forged)).toBe(true);
  });
});

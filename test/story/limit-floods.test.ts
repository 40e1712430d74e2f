import { describe, expect, test } from 'vitest';
import {
  askOnce,
  askTimes,
  type LimitedGateway,
  rateOf,
  refusalOf,
  startLimited,
  statusesOf,
} from '../support/limits.ts';
import { head } from '../support/requests.ts';

const ROUTES = { '/things/{id}': 'things' };
const plenty = { user: '65535/60s', address: '65535/60s' };
/** The clients come through a proxy that tells their addresses. */
const config = { trusted_proxies: ['127.0.0.1'] };
const from = (addresses: string) => `X-Forwarded-For: ${addresses}`;

/** Keys held now, of all limits. */
async function keysOf({ gateway }: LimitedGateway): Promise<number> {
  return (await gateway.metric('weir_limit_keys')).get('') ?? Number.NaN;
}

/** Sends so many requests over a few connections, so that some are always under way. */
async function flood(
  { gateway }: LimitedGateway,
  times: number,
  request: (i: number) => string,
): Promise<Map<number, number>> {
  const statuses = new Map<number, number>();
  let next = 0;
  const worker = async () => {
    const client = await gateway.connect();
    while (next < times) {
      const { status } = await client.ask(request(next++));
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: 32 }, worker));
  return statuses;
}

describe('a flood', () => {
  test('of tokens that verify nowhere makes one key: that of its address', async () => {
    const front = await startLimited({
      global: plenty,
      buckets: { things: { main: 'id', user: '5/60s' } },
      routes: ROUTES,
      invalid_requests: 'off',
    });
    const [header = '', payload = ''] = front.issuer.token().split('.');
    const statuses = await flood(front, 5_000, i => {
      const forged = Buffer.from(`forged ${i}`.padEnd(64)).toString('base64url');
      return head(`GET /things/${i}`, `Authorization: Bearer ${header}.${payload}.${forged}`);
    });
    expect([...statuses.keys()].sort()).toEqual([401, 429]);
    expect(await keysOf(front)).toBe(1);
    expect(front.upstream.requests).toHaveLength(0);
  });

  test('of addresses in one IPv6 network is one address', async () => {
    const front = await startLimited({ global: { address: '50/60s' } }, { config });
    const statuses = await flood(front, 1_000, i =>
      head('GET /open/a', from(`2001:db8:1:2:${i.toString(16)}::${(i * 7).toString(16)}`)),
    );
    expect(statuses).toEqual(
      new Map([
        [200, 50],
        [429, 950],
      ]),
    );
    expect(await keysOf(front)).toBe(1);
    expect((await askOnce(front, 'GET /open/a', from('2001:db8:1:3::1'))).status).toBe(200);
  });

  test('of main values of one caller fills its own keys and then shares one', async () => {
    const front = await startLimited({
      global: 'off',
      keys_per_caller: 100,
      buckets: { things: { main: 'id', user: '5/60s' } },
      routes: ROUTES,
    });
    const bearer = front.issuer.bearer();
    const statuses = await flood(front, 400, i => head(`GET /things/${i}`, bearer));
    // 100 keys of its own, and five requests on the one for all that follow.
    expect(statuses).toEqual(
      new Map([
        [200, 105],
        [429, 295],
      ]),
    );
    expect(await keysOf(front)).toBe(101);
    const bob = await askOnce(front, 'GET /things/399', front.issuer.bearer({ sub: 'bob' }));
    expect(rateOf(bob).remaining).toBe(4);
  });

  test('of main values past those that an address may hold gets 429s of scope shared, which count against nobody', async () => {
    const front = await startLimited({
      global: 'off',
      keys_per_caller: 2,
      buckets: { things: { main: 'id', address: '1/60s', scope: 'user' } },
      routes: { '/open/{id}': 'things' },
      invalid_requests: { limit: '3/60s' },
    });
    const responses = [];
    for (let id = 0; id < 12; id++) responses.push(await askOnce(front, `GET /open/${id}`));
    expect(statusesOf(responses)).toEqual([...Array(3).fill(200), ...Array(9).fill(429)]);
    expect(new Set(responses.slice(3).map(response => rateOf(response).scope))).toEqual(new Set(['shared']));
  });

  test('of addresses fills no more than the keys there are, and leaves an exhausted one exhausted', async () => {
    const few = { ...config, caps: { limit_keys: 100 } };
    const front = await startLimited({ global: { address: '2/60s' } }, { config: few });
    const mallory = from('192.0.2.1');
    expect(statusesOf(await askTimes(front, 3, 'GET /open/a', mallory))).toEqual([200, 200, 429]);
    await flood(front, 2_000, i => head('GET /open/a', from(`10.${i >> 8}.${i & 255}.1`)));
    // One is kept for what stands in for a network, and may be in use.
    const keys = await keysOf(front);
    expect(keys).toBeGreaterThanOrEqual(99);
    expect(keys).toBeLessThanOrEqual(100);
    const evicted = await front.gateway.metric('weir_limit_keys_evicted_total');
    expect(evicted.get('{bucket="none",limit="global"}')).toBeGreaterThan(1_800);
    expect((await askOnce(front, 'GET /open/a', mallory)).status).toBe(429);
  });

  test('of addresses leaves an exhausted key exhausted', async () => {
    const front = await startLimited({ global: { address: '1/60s' } }, { config });
    expect(statusesOf(await askTimes(front, 2, 'GET /open/a', from('192.0.2.1')))).toEqual([200, 429]);
    const statuses = await flood(front, 9_800, i =>
      head('GET /open/a', from(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`)),
    );
    expect(statuses).toEqual(new Map([[200, 9_800]]));
    expect((await askOnce(front, 'GET /open/a', from('192.0.2.1'))).status).toBe(429);
  });

  test.each([
    ['a bucket', { buckets: { things: { address: '1/1h' } }, routes: { '/open/a': 'things' } }],
    ['the global limit', { global: { address: '1/1h' } }],
  ])('of addresses from one /44 takes nothing from strangers in %s', async (_, limits) => {
    const front = await startLimited(
      { invalid_requests: 'off', ...limits },
      { config: { ...config, caps: { limit_keys: 2_000 } } },
    );
    const statuses = await flood(front, 4_000, i =>
      head('GET /open/a', from(`2001:db8:${(0x50 + (i % 16)).toString(16)}:${i.toString(16)}::1`)),
    );
    expect(statuses.get(429)).toBeGreaterThan(2_000);
    const strangers = await flood(front, 200, i => head('GET /open/a', from(`198.51.${i}.7`)));
    expect(strangers).toEqual(new Map([[200, 200]]));
    const shared = await front.gateway.metric('weir_limit_shared_overflows_total');
    expect(Math.max(...shared.values())).toBe(0);
  });
});

describe('a flood that fills the counters of one limit', () => {
  const few = { ...config, caps: { limit_keys: 400 } };
  const limits = {
    global: plenty,
    buckets: { things: { main: 'id', resource: '1/1h' }, others: { user: '5/60s' } },
    routes: { ...ROUTES, '/open/others': 'others' },
    invalid_requests: { limit: '20/60s' },
  };
  const stranger = (i: number) => from(`198.51.${i}.7`);

  /** What a hundred addresses get that nobody has seen before, each for its first request. */
  async function first(front: LimitedGateway, target: (i: number) => string): Promise<Map<number, number>> {
    return flood(front, 100, i => head(`GET ${target(i)}`, stranger(i)));
  }

  test('with main values of its choice, from one /56, takes nothing from anybody else', async () => {
    const front = await startLimited(
      { ...limits, routes: { ...limits.routes, '/open/{id}/x': 'things' } },
      { config: few },
    );
    await flood(front, 3_000, i =>
      head(`GET /open/v${i}/x`, from(`2001:db8:0:${(i % 256).toString(16)}::1`)),
    );
    expect(await first(front, () => '/open/other')).toEqual(new Map([[200, 100]]));
    expect(await first(front, () => '/open/others')).toEqual(new Map([[200, 100]]));
    expect(await first(front, i => `/open/new${i}/x`)).toEqual(new Map([[200, 100]]));
    expect(
      (await front.gateway.metric('weir_limit_shared_overflows_total')).get(
        '{bucket="things",limit="resource"}',
      ),
    ).toBe(0);
  });

  test('from everywhere leaves other limits alone, and the 429s of its stand-in count against nobody', async () => {
    const front = await startLimited(
      { ...limits, routes: { ...limits.routes, '/open/{id}/x': 'things' } },
      { config: few },
    );
    await flood(front, 1_000, i => head(`GET /open/v${i}/x`, from(`10.${i >> 4}.${i & 15}.1`)));
    expect(await first(front, () => '/open/others')).toEqual(new Map([[200, 100]]));
    const refused = await askTimes(front, 50, 'GET /open/fresh/x', stranger(1));
    expect(statusesOf(refused)).toEqual(Array(50).fill(429));
    expect(refused.map(response => rateOf(response).scope)).toEqual(Array(50).fill('shared'));
    expect((await askOnce(front, 'GET /open/other', stranger(1))).status).toBe(200);
  });

  test('of the global limit leaves buckets alone, and the 429s of its stand-in count against nobody', async () => {
    const front = await startLimited(
      { ...limits, global: { user: '1/1h', address: '1/1h' } },
      { config: { ...config, caps: { limit_keys: 40 } } },
    );
    await flood(front, 200, i => head('GET /open/other', from(`10.${i >> 4}.${i & 15}.1`)));
    const refused = await askTimes(front, 50, 'GET /open/other', stranger(1));
    expect(new Set(statusesOf(refused))).toEqual(new Set([429]));
    expect(refused.map(response => refusalOf(response)['code'])).toEqual(Array(50).fill(undefined));
    expect((await front.gateway.metric('weir_invalid_requests_total')).get('{status="429"}')).toBe(0);
  });
});

describe('the address of a client behind trusted proxies', () => {
  const limits = { global: { address: '1/60s' } };

  /** The first request of an address is admitted, each further one refused. */
  async function isKnown(front: LimitedGateway, ...lines: string[]): Promise<boolean> {
    return (await askOnce(front, 'GET /open/a', ...lines)).status === 429;
  }

  test('is the rightmost that is not trusted, whatever comes before it', async () => {
    const front = await startLimited(limits, { config: { trusted_proxies: ['127.0.0.1', '10.0.0.0/8'] } });
    expect(await isKnown(front, from('198.51.100.7'))).toBe(false);
    expect(await isKnown(front, from('1.2.3.4, 198.51.100.7'))).toBe(true);
    expect(await isKnown(front, from('1.2.3.4, 198.51.100.7, 10.0.0.9'))).toBe(true);
    expect(await isKnown(front, from('9.9.9.9'), from('198.51.100.7'))).toBe(true);
    expect(await isKnown(front, from('198.51.100.7:4711'))).toBe(true);
    expect(await isKnown(front, from('::ffff:198.51.100.7'))).toBe(true);
    expect(await isKnown(front, from('[2001:db8::1]:443'))).toBe(false);
    expect(await isKnown(front, from('2001:db8::2'))).toBe(true);
  });

  test('is the peer if it forges 1,200 entries', async () => {
    const front = await startLimited(limits, { config: { trusted_proxies: ['10.0.0.0/8'] } });
    expect(await isKnown(front)).toBe(false);
    const forged = Array.from({ length: 1_200 }, (_, i) => `1.2.${i >> 8}.${i & 255}`).join(',');
    expect(await isKnown(front, from(forged))).toBe(true);
  });
});

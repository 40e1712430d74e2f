import { describe, expect, test } from 'vitest';
import { askOnce, askTimes, type LimitedGateway, startLimited, statusesOf } from '../support/limits.ts';
import { head } from '../support/requests.ts';
import { aMinuteAgo } from '../support/test-issuer.ts';

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
    const [header = '', payload = ''] = front.issuer.token(aMinuteAgo()).split('.');
    const statuses = await flood(front, 1_500, i => {
      const forged = Buffer.from(`forged ${i}`.padEnd(64)).toString('base64url');
      return head(`GET /things/${i}`, `Authorization: Bearer ${header}.${payload}.${forged}`);
    });
    expect([...statuses.keys()].sort()).toEqual([401, 429]);
    expect(await keysOf(front)).toBe(1);
    expect(front.upstream.requests).toHaveLength(0);
  });

  test('of addresses fills no more than the keys there are, and leaves an exhausted one exhausted', async () => {
    const few = { ...config, caps: { limit_keys: 100 } };
    const front = await startLimited({ global: { address: '2/60s' } }, { config: few });
    const mallory = from('192.0.2.1');
    expect(statusesOf(await askTimes(front, 3, 'GET /open/a', mallory))).toEqual([200, 200, 429]);
    await flood(front, 1_000, i => head('GET /open/a', from(`10.${i >> 8}.${i & 255}.1`)));
    // One is kept for what stands in for a network, and may be in use.
    const keys = await keysOf(front);
    expect(keys).toBeGreaterThanOrEqual(99);
    expect(keys).toBeLessThanOrEqual(100);
    const evicted = await front.gateway.metric('weir_limit_keys_evicted_total');
    expect(evicted.get('{bucket="none",limit="global"}')).toBeGreaterThan(800);
    expect((await askOnce(front, 'GET /open/a', mallory)).status).toBe(429);
  });
});

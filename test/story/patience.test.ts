import { describe, expect, onTestFinished, test } from 'vitest';
import { stringify } from 'yaml';
import { changeLimits, serves } from '../support/edit-config.ts';
import { type LocalGateway, startGateway } from '../support/gateway.ts';
import { accessLines } from '../support/identity-gateway.ts';
import { type LimitedGateway, startLimited, statusesOf } from '../support/limits.ts';
import { startRedis } from '../support/redis.ts';
import { startRedisGateway } from '../support/redis-gateway.ts';
import { head } from '../support/requests.ts';
import { tempText } from '../support/temp.ts';
import { inTime } from '../support/test-clock.ts';
import { startUpstream } from '../support/wire/index.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

const LIMITS = { patience: '1s', buckets: { things: { address: '2/1s' } }, routes: { '/open/**': 'things' } };

async function heldOf({ gateway }: LimitedGateway, outcome: string): Promise<number> {
  return (await gateway.metric('weir_limit_held_total')).get(`{outcome="${outcome}"}`) ?? Number.NaN;
}

async function inFlight(gateway: LocalGateway): Promise<number> {
  return (await gateway.metric('weir_requests_in_flight')).get('') ?? Number.NaN;
}

describe('a gateway with patience', () => {
  test('holds what it would refuse, says so in log and metric, and forgets clients that go away', async () => {
    const clock = new FrozenClock(Date.now());
    const front = await startLimited(LIMITS, { clock });
    const [client, leaving] = [await front.gateway.connect(), await front.gateway.connect()];
    const responses = [await client.ask(head('GET /open/a')), await client.ask(head('GET /open/a'))];
    const held = client.ask(head('GET /open/a'));
    await expect.poll(() => inFlight(front.gateway)).toBe(1);
    clock.advance(1_000);
    expect(statusesOf([...responses, await held])).toEqual([200, 200, 200]);
    expect(await heldOf(front, 'admitted')).toBe(1);
    await expect.poll(() => accessLines(front.gateway).length).toBe(3);
    const waited = accessLines(front.gateway).map(line => Number(line['waitedMs'] ?? 0));
    expect(waited.slice(0, 2)).toEqual([0, 0]);
    expect(waited[2]).toBeCloseTo(1_000);
    await client.ask(head('GET /open/a'));
    await leaving.send(head('GET /open/a'));
    await expect.poll(() => inFlight(front.gateway)).toBe(1);
    leaving.reset();
    await expect.poll(() => heldOf(front, 'abandoned')).toBe(1);
    expect(front.upstream.requests).toHaveLength(4);
  });

  test('gives up the connection to the service where the body of a held request turns out broken', async () => {
    const clock = new FrozenClock(Date.now());
    const front = await startLimited(LIMITS, { clock });
    const client = await front.gateway.connect();
    for (const _ of [1, 2]) await client.ask(head('GET /open/a'));
    const held = client.ask(`${head('POST /open/a', 'Transfer-Encoding: chunked')}x\r\n`);
    await expect.poll(() => inFlight(front.gateway)).toBe(1);
    clock.advance(1_000);
    expect((await held).status).toBe(400);
    await expect.poll(() => front.upstream.openConnections).toHaveLength(0);
  });

  test('serves those that it holds after a reload that ends its patience, and while it drains', async () => {
    const upstream = await startUpstream();
    const limits = await tempText('limits.yaml', stringify({ ...LIMITS, global: 'off' }));
    const clock = new FrozenClock();
    const gateway = await startGateway({
      upstreamPort: upstream.port,
      clock,
      config: { limits, routes: [{ path: '/**', upstream: 'api', authentication: 'none' }] },
    });
    const clients = await Promise.all([1, 2].map(() => gateway.connect()));
    for (const client of clients) await client.ask(head('GET /open/a'));
    const held = clients.map(client => client.ask(head('GET /open/a')));
    await expect.poll(() => inFlight(gateway)).toBe(2);
    await changeLimits(gateway, { ...LIMITS, global: 'off', patience: 'off' });
    await serves(gateway, 2);
    const drained = gateway.app.drain();
    clock.advance(1_000);
    expect(statusesOf(await Promise.all(held))).toEqual([200, 200]);
    expect(await drained).toBe(true);
  });

  test('holds requests that are counted in Redis', async () => {
    const redis = await startRedis();
    onTestFinished(() => redis.close());
    const gateway = await startRedisGateway({
      store: { redis: `redis://127.0.0.1:${redis.port}`, timeout: '1s' },
      limits: { ...LIMITS, global: 'off', routes: { '/**': 'things' } },
    });
    const clients = await Promise.all([1, 2].map(() => gateway.connect()));
    // Redis has a clock of its own: on a busy machine the second pair may come in the next second, and one or none is held.
    const heldAfterTwo = async () => {
      const asked = clients.map(client => client.ask(head('GET /a')));
      const responses = await inTime(gateway.time, Promise.all(asked));
      expect(statusesOf(responses)).toEqual([200, 200]);
      return (await gateway.metric('weir_limit_held_total')).get('{outcome="admitted"}');
    };
    await expect.poll(heldAfterTwo).toBeGreaterThan(0);
  });
});

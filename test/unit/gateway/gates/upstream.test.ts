import { describe, expect, test } from 'vitest';
import { ProcessPermits, UpstreamPermits } from '../../../../src/core/index.ts';
import { ConnectionMemory, OwnedConnections } from '../../../../src/gateway/index.ts';
import {
  answering,
  type BareGateway,
  bareGateway,
  type Sending,
  type Service,
  silence,
} from '../../../support/bare-gateway.ts';
import type { ConfigPart } from '../../../support/gateway.ts';
import { rateFieldsOf, rateOf, refusalOf, statusesOf } from '../../../support/rate-fields.ts';

const ALICE: Sending = { as: true };
const BOB: Sending = { as: { sub: 'bob' } };
const BOT: Sending = { as: { client_id: 'robot', azp: 'robot' } };
const FORGED: Sending = { fields: ['Authorization', 'Bearer forged'] };
const UPGRADE: Sending = {
  fields: [
    ...['Connection', 'Upgrade', 'Upgrade', 'websocket', 'Sec-WebSocket-Version', '13'],
    ...['Sec-WebSocket-Key', 'dGhlIHNhbXBsZSBub25jZQ=='],
  ],
};

/** Answers everything but `/held`. */
const holding: Service = (request, sink) => {
  if (request.target !== '/held') answering(200)(request, sink);
};

describe('upstreams that share the callers of a route', () => {
  const start = () => {
    const url = 'http://127.0.0.1:1';
    const upstream = { api: 50, next: 50 };
    const routes = [
      { path: '/split/{id}', upstream, authentication: 'optional', websocket: true },
      { path: '/answer', respond: { status: 204 }, upstream: undefined },
    ];
    return bareGateway(
      {},
      { routes, config: { upstreams: { api: { url }, next: { url } } }, service: silence },
    );
  };
  /** The upstream that a request goes to, among whose requests or WebSockets it counts. */
  const sideOf = (bare: BareGateway, sending: Sending, line = 'GET /split/7?q') => {
    const { exchange, leave } = bare.send(line, sending);
    leave();
    const { pool } = exchange.destination;
    const upstream = bare.records.at(-1)?.upstream;
    expect(pool?.upstream ?? null).toBe(upstream);
    return [upstream, pool?.name];
  };
  const CALLERS = Array.from({ length: 12 }, (_, i) => i);
  const caller = (i: number): Sending => ({ as: { sub: `u${i}` } });
  const at = (address: string): Sending => ({ from: address });

  test.each<[string, (i: number) => Sending, (i: number) => Sending]>([
    ['its caller, wherever that is', caller, i => ({ ...caller(i), from: '198.51.100.1' })],
    [
      'its address without a valid token',
      i => at(`192.0.2.${i}`),
      i => ({ ...at(`192.0.2.${i}`), ...FORGED }),
    ],
    ['its network of IPv6', i => at(`2001:db8:0:${i}::1`), i => at(`2001:db8:0:${i}::2`)],
    ['its caller also where it opens a WebSocket', caller, i => ({ ...caller(i), ...UPGRADE })],
  ])('serve a request by %s', async (_, one, other) => {
    const bare = await start();
    const sides = CALLERS.map(i => sideOf(bare, one(i))[0]);
    expect(new Set(sides)).toEqual(new Set(['api', 'next']));
    const pool = other(0).fields === UPGRADE.fields ? 'websockets' : 'requests';
    for (const i of CALLERS) expect(sideOf(bare, other(i))).toEqual([sides[i], pool]);
    expect(new Set(bare.requests.map(({ target }) => target))).toEqual(new Set(['/split/7?q']));
  });

  test('have no say in what goes to none, or to one alone', async () => {
    const bare = await start();
    for (const i of CALLERS) {
      expect(sideOf(bare, caller(i), 'GET /answer')).toEqual([null, undefined]);
      expect(sideOf(bare, caller(i), 'GET /a')).toEqual(['api', 'requests']);
    }
  });
});

describe('a request that its upstream has no room for', () => {
  const limits = {
    global: { user: '9/1m' },
    buckets: { things: { user: '2/1m' } },
    routes: { '/things': 'things' },
  };
  const start = () => bareGateway(limits, { api: { max_requests: 1 }, service: holding });

  test('draws on no limit, and takes the place of the one that leaves', async () => {
    const bare = await start();
    const held = bare.send('GET /held', BOB);
    const refused = await bare.askTimes(9, 'GET /things', ALICE);
    expect(statusesOf(refused)).toEqual(Array(9).fill(503));
    expect(refused.flatMap(rateFieldsOf)).toEqual(Array(9).fill('retry-after'));
    expect(bare.records.every(({ decision }) => decision === null)).toBe(true);
    // Only the one in flight was decided.
    expect(bare.told.filter(([event]) => event === 'decided')).toHaveLength(1);
    held.leave();
    expect(rateOf(await bare.ask('GET /things', ALICE)).remaining).toBe(1);
  });

  test('hears of its limits and its token first, where they refuse it', async () => {
    const bare = await start();
    await bare.askTimes(2, 'GET /things', ALICE);
    bare.send('GET /held', BOB);
    expect((await bare.ask('GET /a', ALICE)).status).toBe(503);
    refusalOf(await bare.ask('GET /things', ALICE));
    expect((await bare.ask('GET /things')).status).toBe(401);
  });

  test('names the cap that it met: of all, or of its caller', async () => {
    const api = { max_requests: 2, max_requests_per_caller: '50%' };
    const bare = await bareGateway({}, { api, service: holding });
    bare.send('GET /held', ALICE);
    expect((await bare.ask('GET /a', ALICE)).status).toBe(503);
    bare.send('GET /held', BOB);
    for (const sending of [BOT, ALICE]) expect((await bare.ask('GET /a', sending)).status).toBe(503);
    expect(bare.records.map(({ error, upstream }) => [error?.cap, upstream])).toEqual([
      ['max_requests_per_caller', 'api'],
      ['max_requests', 'api'],
      // Whose own share is taken as well is told of that.
      ['max_requests_per_caller', 'api'],
    ]);
  });

  test('takes no place, and is served, where no service serves it; nor does one that has to be refused', async () => {
    const routes = [
      { path: '/answer', respond: { status: 204 }, upstream: undefined },
      { path: '/scoped', require: { scopes: ['a'] } },
      { path: '/maybe', authentication: 'optional' },
    ];
    const bare = await bareGateway({}, { api: { max_requests: 1 }, service: holding, routes });
    bare.send('GET /held', BOB);
    for (const [line, sending, status] of [
      ['GET /answer', {}, 204],
      ['OPTIONS *', {}, 204],
      ['GET /a', {}, 401],
      ['GET /scoped', ALICE, 403],
      ['GET /maybe', {}, 503],
    ] as const) {
      const { exchange, client } = bare.send(line, sending);
      expect([(await client.response).status, exchange.upstreamPermit], line).toEqual([status, null]);
      expect(exchange.noRoom === null, line).toBe(status !== 503);
    }
    expect(bare.gateway.inFlightTo('api')).toBe(1);
  });

  test('has no room among those of its kind alone: WebSockets have places of their own', async () => {
    const api = { max_requests: 1, max_websockets: 2, max_websockets_per_caller: '50%' };
    const routes = [{ path: '/live', websocket: true, authentication: 'none' }];
    const bare = await bareGateway({}, { api, routes, service: silence });
    bare.send('GET /a', BOB);
    for (const from of ['192.0.2.1', '192.0.2.1', '192.0.2.2', '192.0.2.3']) {
      const { exchange, leave } = bare.send('GET /live', { ...UPGRADE, from });
      if (exchange.response.error !== null) leave();
    }
    const [ofCaller, ofAll, ...others] = bare.records.map(({ error, status }) => [status, error?.cap]);
    expect(ofCaller).toEqual([503, 'max_websockets_per_caller']);
    expect([ofAll, others, bare.requests.length]).toEqual([[503, 'max_websockets'], [], 3]);
  });

  test('has the place of a connection to that upstream which is its own, and then no second one', async () => {
    const bare = await bareGateway({}, { api: { max_requests: 1 }, service: holding });
    const { exchange } = bare.send('GET /held', ALICE);
    const on = new ConnectionMemory(true);
    on.owned = new OwnedConnections(new UpstreamPermits(() => new ProcessPermits()), exchange);
    on.owned.keep({ closeWhenIdle: () => {} });
    bare.send('GET /held', { ...ALICE, on });
    expect(bare.requests).toHaveLength(2);
    expect((await bare.ask('GET /a', { ...ALICE, on })).status).toBe(503);
  });
});

describe('the share of a caller in what an upstream takes', () => {
  const EIGHT = { max_requests: 8 };
  const HUNDRED = { max_requests: 100, max_requests_per_caller: '1%' };
  const FOUR = [0, 1, 2, 3].map((i): Sending => ({ from: `2001:db8:0:${i}::1` }));
  const statusAfter = async (api: ConfigPart, held: readonly Sending[], last: Sending): Promise<number> => {
    const config = { trusted_proxies: ['10.0.0.0/8'] };
    const bare = await bareGateway({}, { api, config, service: silence });
    for (const sending of held) bare.send('as' in sending ? 'GET /a' : 'GET /open/a', sending);
    bare.service = answering(200);
    return (await bare.ask('as' in last ? 'GET /a' : 'GET /open/a', last)).status;
  };
  const ONE: Sending = { from: '192.0.2.1' };
  const OTHER: Sending = { from: '192.0.2.2' };
  const behind = (address: string): Sending => ({ from: '10.0.0.1', fields: ['X-Forwarded-For', address] });
  const [PROXIED, BESIDE] = [behind('192.0.2.7'), behind('192.0.2.8')];

  test.each<[string, ConfigPart, readonly Sending[], Sending, number]>([
    ['a quarter by default', EIGHT, [ONE], ONE, 200],
    ['no more than a quarter by default', EIGHT, [ONE, ONE], ONE, 503],
    ['leaves the rest to others', EIGHT, [ONE, ONE], OTHER, 200],
    ['what the upstream says', { max_requests: 2, max_requests_per_caller: '100%' }, [ONE], ONE, 200],
    ['all that there is', { max_requests: 2, max_requests_per_caller: '100%' }, [ONE, ONE], OTHER, 503],
    ['one at least', { max_requests: 3, max_requests_per_caller: '1%' }, [], ONE, 200],
    ['one and no more', { max_requests: 3, max_requests_per_caller: '1%' }, [ONE], ONE, 503],
    ['is one of four of an owner of networks', HUNDRED, FOUR, { from: '2001:db8:0:4::1' }, 503],
    ['is not that of another owner', HUNDRED, FOUR, { from: '2001:db8:10::1' }, 200],
    ['is that of its tokens together', EIGHT, [ALICE, { as: { jti: '2' }, ...OTHER }], ALICE, 503],
    ['is not that of another caller there', EIGHT, [ALICE, ALICE], BOB, 200],
    ['is not that of its address', EIGHT, [ALICE, ALICE], ONE, 200],
    ['is that of the address behind a proxy', EIGHT, [PROXIED, PROXIED], PROXIED, 503],
    ['is not that of the proxy', EIGHT, [PROXIED, PROXIED], BESIDE, 200],
  ])('%s', async (_, api, held, last, status) => {
    expect(await statusAfter(api, held, last)).toBe(status);
  });
});

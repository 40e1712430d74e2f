import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { WebSocket } from 'ws';
import { changeConfig, configPart, serves } from '../support/edit-config.ts';
import {
  startBalancer,
  startCountingBalancer,
  startEndpoints,
  type TestEndpoint,
  urlsOf,
} from '../support/endpoints.ts';
import { type ConfigPart, type LocalGateway, withoutWorkers } from '../support/gateway.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { head, withBody } from '../support/requests.ts';
import { waitFor } from '../support/wait.ts';
import { message, openSocket, startWsServer, type WsServer } from '../support/web-sockets.ts';
import type { Response } from '../support/wire/index.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

type Three = readonly [TestEndpoint, TestEndpoint, TestEndpoint];

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.close());

/**
 * Three endpoints and a gateway before them, in whose world time stands still. Its limits are counted in Redis, with endpoints of
 * HTTP/2 in its own memory.
 */
async function front(isHttp2 = false, { clock = new FrozenClock(Date.now()), api = {} as ConfigPart } = {}) {
  const endpoints = (await startEndpoints(3, isHttp2)) as unknown as Three;
  const gateway = await startCountingBalancer('/**', isHttp2 ? null : redis, {
    ...{ upstreamPort: 0, clock },
    api: {
      ...{ url: undefined, urls: urlsOf(endpoints), max_requests_per_caller: '100%' },
      ...(isHttp2 ? { protocol: 'h2' } : {}),
      ...api,
    },
  });
  return { endpoints, gateway, clock };
}

/** Sends requests over a few connections at once, until there were so many. Returns how often each status came. */
async function load(
  gateway: LocalGateway,
  times: number,
  { request = head('GET /a'), clients = 8, between = () => {} } = {},
): Promise<Record<number, number>> {
  const counts: Record<number, number> = {};
  let left = times;
  const run = async () => {
    const client = await gateway.connect();
    while (left-- > 0) {
      const { status } = await client.ask(request);
      counts[status] = (counts[status] ?? 0) + 1;
      between();
    }
    client.destroy();
  };
  await Promise.all(Array.from({ length: clients }, run));
  return counts;
}

const servedBy = ({ body }: Response) => Number(body.toString());
const requestsAt = (endpoints: readonly TestEndpoint[]) => endpoints.map(({ requests }) => requests.length);

describe.each([
  ['over HTTP/1.1, with limits in Redis', false],
  ['over HTTP/2, with limits in memory', true],
])('of three endpoints %s', (_, isHttp2) => {
  test('each gets its part of the requests', async () => {
    const { endpoints, gateway } = await front(isHttp2);
    expect(await load(gateway, 150)).toEqual({ 200: 150 });
    for (const count of requestsAt(endpoints)) expect(count).toBeGreaterThan(25);
  });

  test('one that refuses costs no request, and is left out', async () => {
    const { endpoints, gateway } = await front(isHttp2);
    await endpoints[0].die();
    expect(await load(gateway, 100)).toEqual({ 200: 100 });
    const request = withBody('POST /a', 'hello');
    expect(await load(gateway, 50, { request })).toEqual({ 200: 50 });
    expect(requestsAt(endpoints)[0]).toBe(0);
  });

  test('one that resets every request costs no idempotent one, and is left out', async () => {
    const { endpoints, gateway, clock } = await front(isHttp2);
    endpoints[0].mode = 'reset';
    const slowly = { clients: 1, between: () => clock.advance(300) };
    expect(await load(gateway, 100, slowly)).toEqual({ 200: 100 });
    const [tried] = requestsAt(endpoints);
    expect(tried).toBeGreaterThanOrEqual(5);
    expect(tried).toBeLessThan(20);
    expect((await gateway.counted('weir_upstream_retries_total')).get('{upstream="api"}')).toBe(tried);
  });

  test('one that dies under load and comes back costs no idempotent request', async () => {
    const { endpoints, gateway, clock } = await front(isHttp2);
    await load(gateway, 30);
    const under = load(gateway, 400);
    await waitFor('it has begun', () => requestsAt(endpoints).every(count => count > 15));
    await endpoints[0].die();
    expect(await under).toEqual({ 200: 400 });
    await endpoints[0].listen();
    const before = endpoints[0].requests.length;
    // Its ejection is over, and so is the time for which it gets less than its share.
    clock.advance(10_000);
    await load(gateway, 20);
    clock.advance(30_000);
    expect(await load(gateway, 200)).toEqual({ 200: 200 });
    expect(endpoints[0].requests.length - before).toBeGreaterThan(30);
  });
});

test('a body that may have arrived is never sent twice', async () => {
  const { endpoints, gateway } = await front();
  for (const endpoint of endpoints) endpoint.mode = 'reset';
  for (const method of ['POST', 'PUT', 'DELETE'])
    expect(await gateway.ask(withBody(`${method} /a`, 'hello'))).toMatchObject({ status: 502 });
  expect(await gateway.ask(head('POST /b', 'Content-Length: 0'))).toMatchObject({ status: 502 });
  const sent = endpoints.flatMap(({ requests }) => requests.map(({ method, body }) => `${method} ${body}`));
  expect(sent.toSorted()).toEqual(['DELETE hello', 'POST ', 'POST hello', 'PUT hello']);
});

test('a caller stays at one endpoint, elsewhere only while that is out, and other callers never move', async () => {
  const endpoints = (await startEndpoints(3)) as unknown as Three;
  const clock = new FrozenClock(Date.now());
  const gateway = await startBalancer(
    endpoints,
    { balance: 'caller' },
    { clock, config: { trusted_proxies: ['127.0.0.1'] } },
  );
  const callers = Array.from({ length: 30 }, (_, index) => `192.0.2.${index + 1}`);
  const placesOf = () =>
    Promise.all(
      callers.map(async caller => servedBy(await gateway.ask(head('GET /a', `X-Forwarded-For: ${caller}`)))),
    );
  const before = await placesOf();
  expect(new Set(before).size).toBe(3);
  expect(await placesOf()).toEqual(before);
  const [gone] = endpoints;
  await gone.die();
  const meanwhile = await placesOf();
  for (const [index, place] of before.entries())
    if (place === gone.port) expect(meanwhile[index]).not.toBe(gone.port);
    else expect(meanwhile[index]).toBe(place);
  await gone.listen();
  clock.advance(10_000);
  await placesOf();
  clock.advance(30_000);
  expect(await placesOf()).toEqual(before);
});

test('a WebSocket is opened at another endpoint where one refuses', async () => {
  const [dead] = (await startEndpoints(1)) as [TestEndpoint];
  await dead.die();
  const upstream = (await startWsServer()).echo();
  const urls = [...urlsOf([dead]), `http://127.0.0.1:${upstream.port}`];
  const gateway = await startBalancer([], { urls }, { route: { websocket: true } });
  for (let i = 0; i < 6; i++) {
    const socket = await openSocket(gateway);
    const answer = message(socket);
    socket.send('hello');
    expect(await answer).toBe('hello');
    socket.close();
  }
});

/** How many requests are in flight to the upstream and to each of its addresses, as the status page tells. */
async function inFlightTo(gateway: LocalGateway): Promise<readonly number[]> {
  const [{ requestsInFlight, endpoints }] = JSON.parse((await gateway.admin('/status.json')).text).upstreams;
  return [requestsInFlight, ...endpoints.map((each: { requestsInFlight: number }) => each.requestsInFlight)];
}

const nothingIn = (counts: readonly number[]) => counts.every(count => count === 0);

test.each([
  ['HTTP/1.1', false],
  ['HTTP/2', true],
])('the status says what is in flight to an only address, over %s', async (_, isHttp2) => {
  const endpoints = await startEndpoints(1, isHttp2);
  const [endpoint] = endpoints as [TestEndpoint];
  const gateway = await startBalancer(endpoints, isHttp2 ? { protocol: 'h2' } : {});
  await load(gateway, 3);
  await waitFor('nothing is left', async () => nothingIn(await inFlightTo(gateway)));
  endpoint.mode = 'hang';
  const under = load(gateway, 4);
  await waitFor('all are there', () => endpoint.hanging === 4);
  expect(await inFlightTo(gateway)).toEqual([4, 4]);
  endpoint.release();
  expect(await under).toEqual({ 200: 4 });
  await waitFor('nothing is left', async () => nothingIn(await inFlightTo(gateway)));
});

test.each([1, 2])(
  'WebSockets to %i addresses count for their endpoint as long as they are open, and the status says so',
  async count => {
    withoutWorkers();
    const servers: WsServer[] = [];
    while (servers.length < count) servers.push((await startWsServer()).echo());
    const urls = servers.map(({ port }) => `http://127.0.0.1:${port}`);
    const gateway = await startBalancer([], { urls }, { route: { websocket: true } });
    const sockets: WebSocket[] = [];
    for (let i = 0; i < 20; i++) sockets.push(await openSocket(gateway));
    const each = servers.map(() => 20 / count);
    expect(servers.map(({ server }) => server.clients.size)).toEqual(each);
    expect(await inFlightTo(gateway)).toEqual([20, ...each]);
    for (const socket of sockets) socket.close();
    await waitFor('none is open', async () => nothingIn(await inFlightTo(gateway)));
  },
);

/** Gives the upstream these endpoints, and leaves the rest of it as it is. */
async function changeEndpoints(
  gateway: LocalGateway,
  endpoints: Parameters<typeof urlsOf>[0],
): Promise<void> {
  const { api } = await configPart(gateway, 'upstreams');
  await changeConfig(gateway, { upstreams: { api: { ...(api as object), urls: urlsOf(endpoints) } } });
}

describe('a reload', () => {
  test('adds and removes endpoints under load without losing a request', async () => {
    const { endpoints, gateway } = await front();
    const extra = await startEndpoints(1);
    const under = load(gateway, 300);
    await waitFor('it has begun', () => requestsAt(endpoints).every(count => count > 20));
    await changeEndpoints(gateway, [...endpoints.slice(1), ...extra]);
    await serves(gateway, 2);
    const [last = 0] = requestsAt(endpoints);
    expect(await under).toEqual({ 200: 300 });
    await load(gateway, 100);
    expect(requestsAt(extra)[0]).toBeGreaterThan(0);
    // What was under way when the configuration changed may have come after it was counted.
    expect((requestsAt(endpoints)[0] ?? 0) - last).toBeLessThan(9);
  });

  test('keeps the connections to endpoints that stay', async () => {
    const { endpoints, gateway } = await front();
    const client = await gateway.connect();
    const ports = new Set<number>();
    while (ports.size < 3) ports.add(servedBy(await client.ask(head('GET /a'))));
    const before = await gateway.metric('weir_upstream_connections');
    await changeEndpoints(gateway, endpoints.slice(0, 2));
    await serves(gateway, 2);
    await waitFor('the connection to the third has closed', async () => {
      const now = await gateway.metric('weir_upstream_connections');
      return now.get('{upstream="api"}') === (before.get('{upstream="api"}') ?? 0) - 1;
    });
  });
});

import { expect, test } from 'vitest';
import { ADMIN_TOKEN, ApiClient } from '../support/admin-api.ts';
import { type LocalGateway, startGateway, withoutWorkers } from '../support/gateway.ts';
import { type LimitedGateway, startLimited } from '../support/limits.ts';
import { head } from '../support/requests.ts';
import { tempText } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';
import { type Script, startUpstream } from '../support/wire/index.ts';

const sumOf = (values: ReadonlyMap<string, number>) =>
  [...values.values()].reduce((sum, value) => sum + value, 0);

const jsonAt = async (gateway: LocalGateway, path: string) => JSON.parse((await gateway.admin(path)).text);

test('three workers count each request once, and are told apart where a person must see it', async () => {
  const { port } = await startUpstream();
  const gateway = await startGateway({ upstreamPort: port, config: { workers: 3 } });
  for (let sent = 0; sent < 40; sent++) expect((await gateway.ask(head('GET /a'))).status).toBe(200);
  await waitFor('all are counted', async () => sumOf(await gateway.metric('weir_requests_total')) === 40);
  expect(sumOf(await gateway.metric('weir_request_duration_seconds_count'))).toBe(40);
  expect(sumOf(await gateway.metric('weir_worker_requests_total'))).toBe(40);
  const up = new Map([1, 2, 3].map(worker => [`{worker="${worker}"}`, 1]));
  expect(await gateway.metric('weir_worker_up')).toEqual(up);
  expect([...(await gateway.metric('weir_build_info')).keys()].join()).toContain('workers="3"');
  // The process has one start, whichever thread is asked.
  expect([...(await gateway.metric('process_start_time_seconds')).keys()]).toEqual(['']);
  expect((await gateway.admin('/readyz')).status).toBe(200);
});

test('the status adds up what workers have, and lists them', async () => {
  const upstream = await startUpstream(async () => {});
  const gateway = await startGateway({ upstreamPort: upstream.port, config: { workers: 3 } });
  const clients = await Promise.all([gateway.connect(), gateway.connect(), gateway.connect()]);
  for (const client of clients) await client.send(head('GET /a'));
  await waitFor('all are in flight', () => upstream.requests.length === 3);
  const { workers, traffic, upstreams } = await jsonAt(gateway, '/status.json');
  const sum = (name: string) =>
    workers.each.reduce((all: number, each: Record<string, number>) => all + (each[name] ?? 0), 0);
  expect([traffic.connections, sum('connections')]).toEqual([3, 3]);
  expect([traffic.requestsInFlight, sum('requestsInFlight')]).toEqual([3, 3]);
  expect(workers).toMatchObject({ count: 3, each: [{ worker: 1, up: true, replacements: 0 }, {}, {}] });
  expect(upstreams[0]).toMatchObject({ connections: 3, endpoints: [{ state: 'used' }] });
  expect((await gateway.admin('/status')).text).toContain('Event loop late by, ms');
  const { upstreams: listed } = await jsonAt(gateway, '/api/upstreams');
  expect(listed[0].endpoints[0]).toMatchObject({ connections: 3, requestsInFlight: 3 });
  for (const client of clients) client.destroy();
});

test('one worker is not told apart', async () => {
  withoutWorkers();
  const { port } = await startUpstream();
  const gateway = await startGateway({ upstreamPort: port });
  expect((await gateway.ask(head('GET /a'))).status).toBe(200);
  expect((await gateway.admin('/metrics')).text).not.toMatch(/weir_worker|workers=/);
  expect((await jsonAt(gateway, '/status.json')).workers).toEqual({ count: 1, why: null, each: [] });
  expect((await gateway.admin('/status')).text).not.toContain('Workers');
});

const limits = {
  global: { user: 'off', bot: 'off', address: '5/1h' },
  buckets: { held: { concurrent: 5 } },
  routes: { 'GET /open/held': 'held' },
};

/** Answers everything but `/open/held`, which waits until its connection is gone. */
const holding: Script = async exchange => {
  if (exchange.request.target === '/open/held') return exchange.gone;
  await exchange.received();
  return exchange.answer(200, [], 'ok');
};

async function limited() {
  const token_file = await tempText('admin-token', ADMIN_TOKEN);
  const listen = { http: '127.0.0.1:0', admin: { address: '127.0.0.1:0', token_file } };
  const front = await startLimited(limits, { upstream: holding, config: { listen, workers: 3 } });
  return { front, api: await ApiClient.of(front.gateway) };
}

/** The statuses of so many requests, each on a connection of its own: the kernel spreads them over the workers. */
async function spread({ gateway }: LimitedGateway, count: number): Promise<number[]> {
  const statuses: number[] = [];
  for (let sent = 0; sent < count; sent++) statuses.push((await gateway.ask(head('GET /open/a'))).status);
  return statuses;
}

test('the lists of the status page name each caller once, with what all workers refused', async () => {
  const { front } = await limited();
  const statuses = await spread(front, 40);
  const refused = statuses.filter(status => status === 429).length;
  expect(refused).toBeGreaterThan(0);
  const { callers, buckets } = await jsonAt(front.gateway, '/status.json');
  const address = { address: '127.0.0.1', class: 'address', bucket: 'none', why: 'global' };
  expect(callers.refusedMost).toEqual([
    expect.objectContaining({ ...address, count: refused, maxCount: refused }),
  ]);
  const row = buckets.find(
    (each: Record<string, unknown>) => `${each['bucket']} ${each['class']}` === 'none address',
  );
  expect(row.lastMinute).toMatchObject({ admitted: 40 - refused, refused });
});

test('a restriction of the admin API holds at all workers, until it is lifted', async () => {
  const { front, api } = await limited();
  const added = await api.call('POST', '/api/restrictions', { body: { address: '127.0.0.1', for: '5m' } });
  expect(added.status).toBe(201);
  expect(new Set(await spread(front, 20))).toEqual(new Set([429]));
  const { callers } = await jsonAt(front.gateway, '/status.json');
  expect(callers.refusedMost).toMatchObject([{ address: '127.0.0.1', restricted: 20, why: 'operator' }]);
  expect(callers.restrictions).toMatchObject([{ address: '127.0.0.1', reason: 'operator' }]);
  const { id } = added.body as { readonly id: string };
  expect((await api.call('DELETE', `/api/restrictions/${id}`)).status).toBe(204);
  expect((await front.gateway.ask(head('GET /open/a'))).status).toBe(200);
  expect((await jsonAt(front.gateway, '/status.json')).callers.restrictions).toEqual([]);
});

test('requests at once are those of all workers, and named', async () => {
  const { front, api } = await limited();
  const clients = await Promise.all([1, 2, 3, 4].map(() => front.gateway.connect()));
  for (const client of clients) await client.send(head('GET /open/held'));
  await waitFor('all are in flight', () => front.upstream.requests.length === 4);
  const { concurrent, callers } = await jsonAt(front.gateway, '/status.json');
  expect(concurrent).toEqual([{ bucket: 'held', perCaller: 5, inFlight: 4, callers: 1 }]);
  expect(callers.mostInFlight).toEqual([{ address: '127.0.0.1', bucket: 'held', inFlight: 4 }]);
  expect(await front.gateway.metric('weir_limit_in_flight')).toEqual(new Map([['{bucket="held"}', 4]]));
  const { body } = await api.call('GET', '/api/buckets?address=127.0.0.1');
  expect(body).toMatchObject({ atOnce: [{ bucket: 'held', concurrent: 5, inFlight: 4 }] });
  for (const client of clients) client.destroy();
});

test('the admin API reads and resets what all workers count together', async () => {
  const { front, api } = await limited();
  const served = (statuses: number[]) => statuses.filter(status => status === 200).length;
  const left = async () => {
    const { body } = await api.call('GET', '/api/buckets?address=127.0.0.1');
    return (body as { readonly limits: { readonly remaining: number }[] }).limits[0]?.remaining;
  };
  expect(served(await spread(front, 3))).toBe(3);
  expect(await left()).toBe(2);
  expect(served(await spread(front, 10))).toBe(2);
  expect((await api.call('DELETE', '/api/buckets?address=127.0.0.1')).status).toBe(200);
  expect(await left()).toBe(5);
  expect(served(await spread(front, 10))).toBe(5);
  expect(sumOf(await front.gateway.metric('weir_limit_decisions_total'))).toBe(23);
});

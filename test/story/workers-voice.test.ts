import { expect, test } from 'vitest';
import { type LocalGateway, startGateway } from '../support/gateway.ts';
import { head } from '../support/requests.ts';
import { waitFor } from '../support/wait.ts';
import { startUpstream } from '../support/wire/index.ts';

const sumOf = (values: ReadonlyMap<string, number>) =>
  [...values.values()].reduce((sum, value) => sum + value, 0);

const jsonAt = async (gateway: LocalGateway, path: string) => JSON.parse((await gateway.admin(path)).text);

test('three workers count each request once, and are told apart where a person must see it', async () => {
  const { port } = await startUpstream();
  const gateway = await startGateway({ upstreamPort: port, config: { workers: 3 } });
  for (let sent = 0; sent < 40; sent++) expect((await gateway.ask(head('GET /a'))).status).toBe(200);
  expect(sumOf(await gateway.metric('weir_requests_total'))).toBe(40);
  expect(sumOf(await gateway.metric('weir_request_duration_seconds_count'))).toBe(40);
  expect(sumOf(await gateway.metric('weir_worker_requests_total'))).toBe(40);
  const up = new Map([1, 2, 3].map(worker => [`{worker="${worker}"}`, 1]));
  expect(await gateway.metric('weir_worker_up')).toEqual(up);
  expect([...(await gateway.metric('weir_build_info')).keys()].join()).toContain('workers="3"');
  // The process has one start, whoever is asked.
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
  const { port } = await startUpstream();
  const gateway = await startGateway({ upstreamPort: port });
  expect((await gateway.ask(head('GET /a'))).status).toBe(200);
  expect((await gateway.admin('/metrics')).text).not.toMatch(/weir_worker|workers=/);
  expect((await jsonAt(gateway, '/status.json')).workers).toEqual({ count: 1, why: null, each: [] });
  expect((await gateway.admin('/status')).text).not.toContain('Workers');
});

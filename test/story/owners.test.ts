import { randomBytes } from 'node:crypto';
import { describe, expect, onTestFinished, test } from 'vitest';
import { SharedMemory } from '../../src/core/index.ts';
import { SharedPermits } from '../../src/limits/index.ts';
import { type GatewaySettings, startGateway } from '../support/gateway.ts';
import { partOf } from '../support/process-part.ts';
import { v1 } from '../support/proxy-header.ts';
import { head } from '../support/requests.ts';
import { waitFor } from '../support/wait.ts';
import { NoResponse, type RawClient, startUpstream } from '../support/wire/index.ts';

const listen = { http: { address: '127.0.0.1:0', proxy_protocol: true }, admin: '127.0.0.1:0' };

/** A gateway behind a balancer, whose upstream answers nothing under /held, and clients at any address. */
async function front({ config, ...settings }: Partial<GatewaySettings>) {
  const upstream = await startUpstream(async exchange => {
    await exchange.received();
    if (exchange.request.target === '/held') await exchange.gone;
    else await exchange.answer(200, [], 'ok');
  });
  const gateway = await startGateway({
    upstreamPort: upstream.port,
    config: { listen, trusted_proxies: ['127.0.0.1'], ...config },
    ...settings,
  });
  const clients: RawClient[] = [];
  onTestFinished(() => {
    for (const client of clients) client.destroy();
  });
  let asked = 0;
  const connect = async (address: string) => {
    const client = await gateway.connect();
    clients.push(client);
    await client.send(v1(`${address.includes(':') ? 'TCP6' : 'TCP4'} ${address} ${address} 1 2`));
    return client;
  };
  /** Has each of these addresses hold requests, one on each connection. Returns how many are held; the others are refused. */
  const hold = async (addresses: readonly string[], each: number) => {
    asked += addresses.length * each;
    for (const address of addresses)
      for (let i = 0; i < each; i++) await (await connect(address)).send(head('GET /held'));
    const refused = () => clients.filter(({ bytesRead, end }) => bytesRead > 0 || end !== null);
    await waitFor('all are held or refused', () => upstream.requests.length + refused().length >= asked);
    for (const client of refused()) client.destroy();
    return upstream.requests.length;
  };
  const ask = async (address: string, target = '/a') => {
    const client = await connect(address);
    await client.send(head(`GET ${target}`));
    return client.answer();
  };
  /** A connection that is refused may be reset before its answer is read, because its request is not. */
  const isRefused = (address: string) =>
    ask(address).then(
      ({ status }) => status === 503,
      (error: unknown) => error instanceof NoResponse,
    );
  return { hold, ask, isRefused };
}

const subnets = (network: string, count: number) =>
  Array.from({ length: count }, (_, i) => `${network}:${i + 1}::1`);

/** The caps on addresses; each gives an address two places of twenty. */
const CAPS: [string, Partial<GatewaySettings>][] = [
  ['requests', { config: { caps: { requests: 20, requests_per_address: 2 } } }],
  ['requests to one upstream', { api: { max_requests: 20, max_requests_per_caller: '10%' } }],
  ['connections', { config: { caps: { connections: 20, connections_per_address: 2 } } }],
];

describe.each(CAPS)('of the cap on %s', (_, settings) => {
  test('ten /64s of one owner leave room for strangers', async () => {
    const { hold, ask, isRefused } = await front(settings);
    expect(await hold(subnets('2001:db8:0', 10), 2)).toBe(8);
    expect(await isRefused('2001:db8:0:99::1')).toBe(true);
    for (const stranger of ['2001:db8:10:1::1', '2001:db8:1:1::1', '198.51.100.9'])
      expect([stranger, (await ask(stranger)).status]).toEqual([stranger, 200]);
  });

  test('a /44 has eight shares, whatever its /48s hold', async () => {
    const { hold, ask, isRefused } = await front(settings);
    expect(await hold([...subnets('2001:db8:1', 3), ...subnets('2001:db8:2', 3)], 2)).toBe(12);
    expect(await hold([...subnets('2001:db8:3', 3)], 2)).toBe(16);
    expect(await isRefused('2001:db8:f:1::1')).toBe(true);
    expect((await ask('2001:db8:10:1::1')).status).toBe(200);
  });

  test('threads keep it together', async () => {
    const main = SharedMemory.create(2, randomBytes);
    new SharedPermits(main, 1_000);
    const [one, other] = await Promise.all(
      [1, 2].map(worker => {
        const memory = new SharedMemory(structuredClone(main.handover), worker);
        return front({ ...settings, part: partOf(new SharedPermits(memory, 1_000).named) });
      }),
    );
    expect(await one?.hold(subnets('2001:db8:0', 3), 2)).toBe(6);
    expect(await other?.hold(subnets('2001:db8:0', 9).slice(3), 2)).toBe(2);
    expect((await one?.ask('198.51.100.9'))?.status).toBe(200);
  });
});

test('an address that embeds an IPv4 address has the share of that', async () => {
  const { hold, ask, isRefused } = await front({ config: { caps: { requests_per_address: 1 } } });
  expect(await hold(['198.51.100.7'], 1)).toBe(1);
  expect(await isRefused('64:ff9b::c633:6407')).toBe(true);
  expect(await isRefused('2002:c633:6407::1')).toBe(true);
  expect((await ask('64:ff9b::c633:6408')).status).toBe(200);
});

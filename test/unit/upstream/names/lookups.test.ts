import { Socket } from 'node:net';
import { expect, test, vi } from 'vitest';
import { MainPart, ownPermits, ownRates, thisMachine } from '../../../../src/core/index.ts';
import { Lookups, NamedEndpoints } from '../../../../src/upstream/names/index.ts';
import { DnsServer, hostAt } from '../../../support/dns-server.ts';
import { threadsOf } from '../../../support/shared-memory.ts';
import { waitFor } from '../../../support/wait.ts';
import { FrozenClock } from '../../limits/frozen-clock.ts';

const NAME = { host: 'api.test', port: 80, weight: 1, lookup: 'system' } as const;

/** How often the name was looked up. */
function lookupsOf({ asked }: DnsServer): number {
  return asked.filter(question => question === 'A api.test').length;
}

async function front() {
  const dns = await DnsServer.start();
  dns.records.set('api.test', [hostAt('127.0.0.1')]);
  const clock = new FrozenClock();
  let told = 0;
  const system = { ...thisMachine, network: dns.network, clock };
  const [memory = null] = threadsOf(2);
  if (memory === null) throw new Error('no memory');
  const part = new MainPart({
    ...{ id: 'process', memory, permits: ownPermits, rates: ownRates, clock, late: () => {} },
  });
  part.connect({ tell: () => void told++, knows: () => Promise.resolve() });
  const lookups = new Lookups(part, system);
  /** The endpoints of one thread. */
  const startThread = () => {
    const said: string[] = [];
    const endpoints = new NamedEndpoints(() => lookups.ask(NAME), 'api.test', system, {
      failed: cause => void said.push(cause),
      works: () => void said.push('works'),
      follow: news => lookups.follow(NAME, news),
    });
    endpoints.start(() => {});
    const hosts = () => endpoints.endpoints.map(({ host }) => host).join();
    return { endpoints, said, hosts };
  };
  return { dns, clock, lookups, told: () => told, startThread };
}

test('threads that look a name up together ask once', async () => {
  const { dns, clock, lookups, told, startThread } = await front();
  const threads = [startThread(), startThread(), startThread()];
  await waitFor('all know it', () => threads.every(({ hosts }) => hosts() === '127.0.0.1'));
  expect([lookupsOf(dns), told()]).toEqual([1, 1]);
  clock.advance(999);
  await lookups.ask(NAME);
  expect(lookupsOf(dns)).toBe(1);
  clock.advance(1);
  await lookups.ask(NAME);
  expect(lookupsOf(dns)).toBe(2);
});

test('what one thread finds out after a failed connect, all know at once', async () => {
  const { dns, clock, startThread } = await front();
  const threads = [startThread(), startThread()];
  await waitFor('both know it', () => threads.every(({ hosts }) => hosts() === '127.0.0.1'));
  dns.records.set('api.test', [hostAt('127.0.0.2')]);
  clock.advance(1_000);
  await threads[0]?.endpoints.refresh(null);
  await waitFor('both know it', () => threads.every(({ hosts }) => hosts() === '127.0.0.2'));
  // Another one meets the same failure a moment later.
  clock.advance(900);
  await threads[1]?.endpoints.refresh(null);
  expect(lookupsOf(dns)).toBe(2);
  dns.state = 'fails';
  clock.advance(200);
  await threads[0]?.endpoints.refresh(null);
  await waitFor('both know it', () => threads.every(({ endpoints }) => endpoints.fault !== null));
  expect([lookupsOf(dns), threads.map(({ said }) => said.length)]).toEqual([3, [1, 1]]);
  dns.state = 'answers';
  clock.advance(1_000);
  await threads[1]?.endpoints.refresh(null);
  await waitFor('both know it', () => threads.every(({ said }) => said[1] === 'works'));
  expect(lookupsOf(dns)).toBe(4);
});

test('news that comes while a thread tries a better address is taken as soon as it has tried', async () => {
  const clock = new FrozenClock();
  const [better, worse, later] = [1, 2, 3].map(n => ({ host: `127.0.0.${n}`, port: 80, weight: 1 }));
  if (better === undefined || worse === undefined || later === undefined) throw new Error('no address');
  let tiers = [[better], [worse]];
  let news = () => {};
  const follow = (hear: () => void) => {
    news = hear;
    return () => {};
  };
  /** A connection that is never made. */
  const connect = vi.fn(() => new Socket());
  const lookup = vi.fn(async () => tiers);
  const endpoints = new NamedEndpoints(
    lookup,
    'api.test',
    { ...thisMachine, clock, network: { ...thisMachine.network, connect } },
    { failed: () => {}, works: () => {}, follow },
  );
  endpoints.start(() => {});
  const hosts = () => endpoints.endpoints.map(({ host }) => host).join();
  await waitFor('it is known', () => hosts() === better.host);
  await endpoints.refresh(better);
  expect(hosts()).toBe(worse.host);
  news();
  await waitFor('the better one is tried', () => connect.mock.calls.length === 1);
  tiers = [[later]];
  news();
  clock.advance(1_000);
  await waitFor('the timer is set', () => clock.isWaiting);
  clock.advance(0);
  await waitFor('it is known', () => hosts() === later.host);
  // Old news does not have it asked again and again.
  await waitFor('the timer is set', () => clock.isWaiting);
  lookup.mockClear();
  clock.advance(29_999);
  expect(lookup).not.toHaveBeenCalled();
});

test('threads that have ended hear no more', async () => {
  const { dns, clock, lookups, startThread } = await front();
  const { endpoints, hosts } = startThread();
  await waitFor('it knows it', () => hosts() === '127.0.0.1');
  endpoints.close();
  dns.records.set('api.test', [hostAt('127.0.0.2')]);
  clock.advance(60_000);
  await lookups.ask(NAME);
  expect(hosts()).toBe('127.0.0.1');
});

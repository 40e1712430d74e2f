import { createServer, type Server } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type System, type Timer, thisMachine } from '../../src/core/index.ts';
import { systemLookup } from '../../src/upstream/names/lookup.ts';
import { NamedEndpoints } from '../../src/upstream/names/named-endpoints.ts';
import { srvLookup } from '../../src/upstream/names/srv-lookup.ts';
import { DnsServer, hostAt, serviceAt } from '../support/dns-server.ts';
import { freePort } from '../support/free-port.ts';
import { clockOfTests } from '../support/test-clock.ts';
import { waitFor } from '../support/wait.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

const SERVICE = '_http._tcp.api.test';

/** A clock whose lookups come when the test says so; other timers, which bound waits, never fire. */
class LookupClock extends FrozenClock {
  /** When the next lookup is due, in milliseconds from the last. */
  nextMs = 0;
  #next: (() => void) | null = null;
  readonly #waits = new FrozenClock();

  override readonly after = (ms: number, run: () => void): Timer => {
    if (ms < 4_000) return this.#waits.after(ms, run);
    this.nextMs = ms;
    this.#next = run;
    return {};
  };

  override readonly cancel = (timer: Timer | null): void => {
    this.#waits.cancel(timer);
  };

  /** Waits until the next lookup is due, and begins it. */
  async next(): Promise<void> {
    await waitFor('the last lookup is over', () => this.#next !== null);
    const run = this.#next;
    this.#next = null;
    this.advance(this.nextMs);
    run?.();
    await waitFor('this lookup is over', () => this.#next !== null);
  }
}

function machineOf({ network }: DnsServer): System {
  return { ...thisMachine, clock: clockOfTests(), network };
}

function watch(lookup: ConstructorParameters<typeof NamedEndpoints>[0], dns: DnsServer) {
  const clock = new LookupClock();
  const heard: string[] = [];
  const source = new NamedEndpoints(
    lookup,
    'api.test',
    { clock, random: () => 0, network: dns.network },
    {
      ...{ failed: () => void heard.push('failed'), works: () => void heard.push('works') },
      follow: () => () => {},
    },
  );
  const changes: string[][] = [];
  source.start(() => changes.push(placesOf(source)));
  onTestFinished(() => source.close());
  return { source, clock, changes, heard };
}

/** The addresses of a source, sorted, each with its weight where that is not 1. */
function placesOf({ endpoints }: NamedEndpoints): string[] {
  return endpoints
    .map(({ host, port, weight }) => `${host} ${port}${weight === 1 ? '' : ` x${weight}`}`)
    .toSorted();
}

describe('an upstream that is a name', () => {
  it('has all addresses of the family that the system lists first', async () => {
    const dns = await DnsServer.start();
    dns.records.set('api.test', [
      hostAt('10.0.0.1'),
      hostAt('10.0.0.2'),
      hostAt('fd00::1'),
      hostAt('fd00::2'),
    ]);
    const { source, changes } = watch(systemLookup({ host: 'api.test', port: 80 }, dns.network), dns);
    expect(source.endpoints).toEqual([]);
    await source.refresh(null);
    expect(changes).toEqual([['fd00::1 80', 'fd00::2 80']]);
  });

  it('follows addresses that come, go and come back', async () => {
    const dns = await DnsServer.start();
    dns.records.set('api.test', [hostAt('10.0.0.1')]);
    const { source, clock, changes } = watch(systemLookup({ host: 'api.test', port: 80 }, dns.network), dns);
    await source.refresh(null);
    dns.records.set('api.test', [hostAt('10.0.0.2'), hostAt('10.0.0.1')]);
    await clock.next();
    expect(clock.nextMs).toBe(30_000);
    dns.records.set('api.test', [hostAt('10.0.0.1'), hostAt('10.0.0.2')]);
    await clock.next();
    dns.records.set('api.test', [hostAt('10.0.0.2')]);
    await clock.next();
    dns.records.set('api.test', [hostAt('10.0.0.1'), hostAt('10.0.0.2')]);
    await clock.next();
    const both = ['10.0.0.1 80', '10.0.0.2 80'];
    expect(changes).toEqual([['10.0.0.1 80'], both, ['10.0.0.2 80'], both]);
  });

  it('keeps its last addresses while the name cannot be looked up, and says why', async () => {
    const dns = await DnsServer.start();
    dns.records.set('api.test', [hostAt('10.0.0.1')]);
    const { source, clock, changes, heard } = watch(
      systemLookup({ host: 'api.test', port: 80 }, dns.network),
      dns,
    );
    await source.refresh(null);
    dns.records.clear();
    await clock.next();
    expect(source.fault).toMatchObject({ code: 'ENOTFOUND' });
    await dns.stop();
    await clock.next();
    expect(clock.nextMs).toBe(5_000);
    expect(changes).toEqual([['10.0.0.1 80']]);
    await dns.start();
    dns.records.set('api.test', [hostAt('10.0.0.3')]);
    await clock.next();
    expect(changes.at(-1)).toEqual(['10.0.0.3 80']);
    expect(source.fault).toBeNull();
    expect(heard).toEqual(['failed', 'works']);
  });

  it('is looked up again after a failed connect, once a second at most', async () => {
    const dns = await DnsServer.start();
    dns.records.set('api.test', [hostAt('10.0.0.1')]);
    const { source, clock } = watch(systemLookup({ host: 'api.test', port: 80 }, dns.network), dns);
    await source.refresh(null);
    const asked = dns.asked.length;
    dns.records.set('api.test', [hostAt('10.0.0.2')]);
    const refreshed = [1, 2, 3].map(() => source.refresh({ host: '10.0.0.1', port: 80 }));
    await Promise.all(refreshed);
    expect(placesOf(source)).toEqual(['10.0.0.2 80']);
    expect(dns.asked.length).toBe(asked * 2);
    await source.refresh({ host: '10.0.0.2', port: 80 });
    expect(dns.asked.length).toBe(asked * 2);
    clock.advance(1_000);
    await source.refresh({ host: '10.0.0.2', port: 80 });
    expect(dns.asked.length).toBe(asked * 3);
  });

  it('uses its other family while none of the first can be reached, and goes back', async () => {
    const dns = await DnsServer.start();
    const port = await portOn('127.0.0.1');
    dns.records.set('api.test', [hostAt('127.0.0.1'), hostAt('::1')]);
    const { source, clock } = watch(systemLookup({ host: 'api.test', port }, dns.network), dns);
    await source.refresh(null);
    expect(placesOf(source)).toEqual([`::1 ${port}`]);
    await source.refresh({ host: '::1', port });
    expect(placesOf(source)).toEqual([`127.0.0.1 ${port}`]);
    await clock.next();
    expect(placesOf(source)).toEqual([`127.0.0.1 ${port}`]);
    await portOn('::1', port);
    await clock.next();
    expect(placesOf(source)).toEqual([`::1 ${port}`]);
  });
});

describe('an upstream that SRV records name', () => {
  it('has the addresses of their hosts, with port and weight', async () => {
    const dns = await DnsServer.start();
    dns.records.set('one.test', [hostAt('10.0.0.1'), hostAt('fd00::1')]);
    dns.records.set('two.test', [hostAt('fd00::2')]);
    dns.records.set(SERVICE, [
      serviceAt('one.test', 3_000, { weight: 30 }),
      serviceAt('two.test', 3_001, { weight: 10 }),
      serviceAt('two.test', 0, { weight: 10 }),
    ]);
    const { source } = watch(srvLookup(SERVICE, machineOf(dns)), dns);
    await source.refresh(null);
    expect(placesOf(source)).toEqual(['10.0.0.1 3000 x1.5', 'fd00::2 3001 x0.5']);
  });

  it('is looked up every 30 seconds, and has the hosts that came meanwhile', async () => {
    const dns = await DnsServer.start();
    dns.records.set('one.test', [hostAt('10.0.0.1')]);
    dns.records.set('two.test', [hostAt('10.0.0.2')]);
    dns.records.set(SERVICE, [serviceAt('one.test', 80)]);
    const { source, clock } = watch(srvLookup(SERVICE, machineOf(dns)), dns);
    await source.refresh(null);
    dns.records.set(SERVICE, [serviceAt('one.test', 80), serviceAt('two.test', 81)]);
    await clock.next();
    expect(clock.nextMs).toBe(30_000);
    expect(placesOf(source)).toEqual(['10.0.0.1 80', '10.0.0.2 81']);
  });

  it('uses hosts of a lower priority only while none of a higher can be reached', async () => {
    const dns = await DnsServer.start();
    const port = await portOn('127.0.0.1');
    dns.records.set('main.test', [hostAt('127.0.0.1')]);
    dns.records.set('spare.test', [hostAt('10.0.0.9')]);
    dns.records.set(SERVICE, [
      serviceAt('spare.test', port, { priority: 20 }),
      serviceAt('main.test', port, { priority: 10 }),
    ]);
    const { source, clock } = watch(srvLookup(SERVICE, machineOf(dns)), dns);
    await source.refresh(null);
    expect(placesOf(source)).toEqual([`127.0.0.1 ${port}`]);
    await source.refresh({ host: '127.0.0.1', port });
    expect(placesOf(source)).toEqual([`10.0.0.9 ${port}`]);
    await clock.next();
    expect(placesOf(source)).toEqual([`127.0.0.1 ${port}`]);
  });

  it('has hundreds of hosts, whose records come by TCP', async () => {
    const dns = await DnsServer.start();
    const hosts = Array.from({ length: 300 }, (_, at) => `10.1.${at >> 8}.${at & 255}`);
    for (const [at, address] of hosts.entries()) dns.records.set(`pod-${at}.test`, [hostAt(address)]);
    dns.records.set(
      SERVICE,
      hosts.map((_, at) => serviceAt(`pod-${at}.test`, 80)),
    );
    const { source } = watch(srvLookup(SERVICE, machineOf(dns)), dns);
    await source.refresh(null);
    expect(source.endpoints.length).toBe(300);
    // By UDP, by TCP, and both families of each host.
    expect(dns.asked.length).toBe(2 + 2 * 300);
  });

  it('keeps its addresses while the name is gone, fails or offers nothing, and the server is dead', async () => {
    const dns = await DnsServer.start();
    dns.records.set('one.test', [hostAt('10.0.0.1')]);
    dns.records.set(SERVICE, [serviceAt('one.test', 80)]);
    const { source, clock, changes } = watch(srvLookup(SERVICE, machineOf(dns)), dns);
    await source.refresh(null);
    dns.records.set(SERVICE, [serviceAt('.', 0)]);
    await clock.next();
    expect(String(source.fault)).toContain('not offered');
    dns.records.delete(SERVICE);
    await clock.next();
    expect(String(source.fault)).toContain(`ENOTFOUND ${SERVICE}`);
    dns.state = 'fails';
    await clock.next();
    expect(String(source.fault)).toContain('ESERVFAIL');
    await dns.stop();
    await clock.next();
    expect(String(source.fault)).toContain('ECONNREFUSED');
    expect(changes).toEqual([['10.0.0.1 80']]);
  });

  it('keeps the addresses of a host that cannot be looked up for a while, and drops a host that is gone', async () => {
    const dns = await DnsServer.start();
    dns.records.set('one.test', [hostAt('10.0.0.1')]);
    dns.records.set('two.test', [hostAt('10.0.0.2')]);
    dns.records.set(SERVICE, [serviceAt('one.test', 80), serviceAt('two.test', 80)]);
    const { source, clock } = watch(srvLookup(SERVICE, machineOf(dns)), dns);
    await source.refresh(null);
    expect(placesOf(source)).toEqual(['10.0.0.1 80', '10.0.0.2 80']);
    dns.records.delete('two.test');
    await clock.next();
    expect(placesOf(source)).toEqual(['10.0.0.1 80']);
  });
});

/** Listens at this address and returns the port. */
async function portOn(host: string, port?: number): Promise<number> {
  const server: Server = createServer(socket => socket.destroy());
  // Others may listen there later, at other hosts.
  const at = port ?? (await freePort());
  await new Promise<void>(listening => server.listen(at, host, listening));
  onTestFinished(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

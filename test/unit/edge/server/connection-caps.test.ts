import { expect, test } from 'vitest';
import { ownPermits } from '../../../../src/core/index.ts';
import { ConnectionCaps } from '../../../../src/edge/server/connection-caps.ts';
import { AddressSet } from '../../../../src/wire/http/index.ts';

const CAPS = { connections: 100, connectionsPerAddress: 2, refusedConnections: 100 };
const PROXIES = new AddressSet(['2001:db8:5:1::/64', '10.0.0.1']);
const newCaps = (caps = CAPS) => new ConnectionCaps(caps, PROXIES, ownPermits);

/** How many connections are let in, of so many from each of these addresses. */
function admitted(caps: ConnectionCaps, addresses: readonly string[], each = 1): number {
  return addresses
    .flatMap(address => Array.from({ length: each }, () => caps.take(address)))
    .filter(cap => cap === null).length;
}

const subnets = (network: string, count: number) =>
  Array.from({ length: count }, (_, i) => `${network}:${i + 1}::1`);

test('an address has a share, a /48 four and a /44 eight', () => {
  const caps = newCaps();
  expect(admitted(caps, ['2001:db8:5:2::1', '2001:db8:5:2::2'], 2)).toBe(2);
  expect(admitted(caps, subnets('2001:db8:7', 10), 2)).toBe(8);
  expect(caps.take('2001:db8:7:99::1')).toBe('connections_per_address');
  // The /44 holds 10 of its 16.
  expect(admitted(caps, subnets('2001:db8:8', 10), 2)).toBe(6);
  expect(admitted(caps, subnets('2001:db8:10', 10), 2)).toBe(8);
});

test('an IPv4 /24 has 64 shares, and counts with those that embed its addresses', () => {
  const caps = newCaps({ connections: 1_000, connectionsPerAddress: 2, refusedConnections: 1_000 });
  const clients = Array.from({ length: 100 }, (_, i) =>
    i % 2 === 0 ? `192.0.2.${i}` : `64:ff9b::c000:2${i.toString(16).padStart(2, '0')}`,
  );
  expect(admitted(caps, clients, 2)).toBe(128);
  expect(caps.take('192.0.3.1')).toBe(null);
});

test('a place that is given back is there for any address of the owner', () => {
  const caps = newCaps();
  const clients = subnets('2001:db8:7', 5);
  expect(admitted(caps, clients, 2)).toBe(8);
  caps.giveBack('2001:db8:7:1::1');
  expect([caps.take('2001:db8:7:5::1'), caps.take('2001:db8:7:1::1')]).toEqual([
    null,
    'connections_per_address',
  ]);
});

test('the connections of trusted proxies take nothing from other addresses of their network', () => {
  const caps = newCaps();
  expect(admitted(caps, ['2001:db8:5:1::1'], 50)).toBe(50);
  expect(admitted(caps, ['2001:db8:5:2::1'], 2)).toBe(2);
  for (let i = 0; i < 50; i++) expect(caps.move('2001:db8:5:1::1', `192.0.2.${i}`)).toBe(null);
  expect(admitted(caps, subnets('2001:db8:5', 9).slice(2), 2)).toBe(6);
});

test('counts stay right where a proxy comes to be trusted, or is no longer', () => {
  const caps = newCaps({ connections: 1_000, connectionsPerAddress: 2, refusedConnections: 1_000 });
  const [some, nobody] = [PROXIES, new AddressSet([])];
  const proxy = '10.0.0.1';
  const use = (trusted: AddressSet) =>
    caps.use({ connections: 1_000, connectionsPerAddress: 2, refusedConnections: 1_000 }, trusted);
  use(nobody);
  expect(caps.take(proxy)).toBe(null);
  use(some);
  expect(admitted(caps, [proxy], 3)).toBe(3);
  caps.giveBack(proxy);
  use(nobody);
  expect(caps.take(proxy)).toBe('connections_per_address');
  for (let i = 0; i < 3; i++) caps.giveBack(proxy);
  const neighbours = Array.from({ length: 70 }, (_, i) => `10.0.0.${i + 1}`);
  expect(admitted(caps, neighbours, 2)).toBe(128);
});

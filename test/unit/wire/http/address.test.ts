import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  AddressSet,
  forwardedAddress,
  forwardedClient,
  isListed,
  isLoopback,
  normalizeAddress,
  restrictionKey,
} from '../../../../src/wire/http/address.ts';
import { addressKey, addressOfKey } from '../../../../src/wire/http/address-keys.ts';
import { played } from '../../../support/runs.ts';

const ipv6 = fc.array(fc.oneof(fc.constant(0), fc.nat(0xffff)), { minLength: 8, maxLength: 8 });
const ipv4Bits = fc.integer({ min: 0, max: 0xffff_ffff });

function dotted(bits: number): string {
  return [24, 16, 8, 0].map(shift => (bits >>> shift) & 255).join('.');
}

/** The canonical text by way of the URL parser, which follows RFC 5952 but for mapped addresses. */
function canonicalIpv6(text: string): string {
  return new URL(`http://[${text}]/`).hostname.slice(1, -1);
}

describe('a normalized address', () => {
  test.each([
    ['192.0.2.7', '192.0.2.7'],
    ['192.0.2.7:443', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['::FFFF:192.0.2.7', '192.0.2.7'],
    ['::ffff:c000:207', '192.0.2.7'],
    ['0:0:0:0:0:ffff:192.0.2.7', '192.0.2.7'],
    ['[::ffff:192.0.2.7]:80', '192.0.2.7'],
    ['2001:DB8::1', '2001:db8::1'],
    ['2001:0db8:0000:0000:0000:0000:0000:0001', '2001:db8::1'],
    ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['2001:0:0:1:0:0:0:1', '2001:0:0:1::1'],
    ['2001:0:0:1:1:0:0:1', '2001::1:1:0:0:1'],
    ['2a02:908:1234:5600:abcd:1234:5678:9abc', '2a02:908:1234:5600:abcd:1234:5678:9abc'],
    ['[2001:db8::1]', '2001:db8::1'],
    ['[2001:db8::1]:65535', '2001:db8::1'],
    ['fe80::1%eth0', 'fe80::1'],
    ['::', '::'],
    ['::1', '::1'],
    ['1::', '1::'],
    ['1:2:3:4:5:6:7::', '1:2:3:4:5:6:7:0'],
    ['0::ffff:192.0.2.7', '192.0.2.7'],
    ['64:ff9b::192.0.2.7', '64:ff9b::c000:207'],
  ])('of %s is %s', (text, address) => {
    expect(normalizeAddress(text)).toBe(address);
  });

  test.each([
    ...['', ' ', 'unknown', '_hidden', 'example.com', '192.0.2'],
    ...['192.0.2.256', '192.0.2.07', '0xc0.0.2.7', '3221225991'],
    ...['192.0.2.7:', '192.0.2.7:http', '192.0.2.7:123456'],
    ...[' 192.0.2.7', '192.0.2.7 ', '192.0.2.7, 192.0.2.8'],
    ...['[192.0.2.7]', '[::1', '::1]', '[::1]80', '[]', ':::'],
    ...['1:2:3:4:5:6:7', '1::2::3', '12345::', '"::1"'],
    ...['for=192.0.2.7', `[${'0'.repeat(1_000)}::1]`, '::ffff:192.0.2.7:80'],
  ])('does not exist for %j', text => {
    expect(normalizeAddress(text)).toBeNull();
  });

  test('is the same for every spelling of an IPv6 address', () => {
    fc.assert(
      fc.property(ipv6, groups => {
        const long = groups.map(group => group.toString(16).padStart(4, '0').toUpperCase()).join(':');
        fc.pre(!long.startsWith('0000:0000:0000:0000:0000:FFFF'));
        const canonical = canonicalIpv6(long);
        expect(normalizeAddress(long)).toBe(canonical);
        expect(normalizeAddress(canonical)).toBe(canonical);
        expect(normalizeAddress(`[${long}]:1`)).toBe(canonical);
      }),
      played(2_000),
    );
  });

  test('stays as it is when it is normalized again', () => {
    const text = fc.string({ unit: fc.constantFrom(...'0123456789abcfF:.[]%') });
    fc.assert(
      fc.property(text, text => {
        const address = normalizeAddress(text);
        if (address !== null) expect(normalizeAddress(address)).toBe(address);
      }),
      played(5_000),
    );
  });
});

describe('a set of addresses', () => {
  test('contains the addresses in its networks', () => {
    const set = new AddressSet(['10.1.0.0/16', '192.0.2.7', '2001:db8::/32', '::1']);
    for (const address of ['10.1.0.0', '10.1.255.255', '192.0.2.7', '2001:db8:ffff::1', '::1']) {
      expect(set.has(address)).toBe(true);
    }
    for (const address of ['10.2.0.0', '10.0.255.255', '192.0.2.8', '2001:db9::', '::2']) {
      expect(set.has(address)).toBe(false);
    }
  });

  test('lists the keys that its entries name one by one', () => {
    const networks = ['10.1.0.0/16', '192.0.2.6/31', '2001:db8::/63', '::ffff:10.1.0.0/112'];
    expect([...new AddressSet(networks).keys]).toEqual([]);
    const single = ['192.0.2.7', '::ffff:192.0.2.8', '192.0.2.9/32', '2001:DB8:0:1::/64', '2001:db8:0:2::'];
    expect([...new AddressSet(single).keys]).toEqual([
      ...['192.0.2.7', '192.0.2.8', '192.0.2.9', '2001:db8:0:1::/64', '2001:db8:0:2::/64'],
    ]);
    for (const key of new AddressSet(single).keys) {
      expect(new AddressSet(single).has(addressOfKey(key))).toBe(true);
    }
    // Another host of its network is not listed, so the network is not.
    expect([...new AddressSet(['2001:db8::7']).keys]).toEqual([]);
  });

  test('treats an IPv4 network written as IPv6 the same', () => {
    const set = new AddressSet(['::ffff:10.1.0.0/112', '::FFFF:c000:207']);
    expect(set.has('10.1.2.3')).toBe(true);
    expect(set.has('10.2.2.3')).toBe(false);
    expect(set.has('192.0.2.7')).toBe(true);
    expect(new AddressSet(['::ffff:0.0.0.0/96']).has('192.0.2.7')).toBe(true);
  });

  test('keeps IPv4 and IPv6 apart', () => {
    expect(new AddressSet(['::/0']).has('10.1.2.3')).toBe(false);
    expect(new AddressSet(['::/0']).has('2001:db8::1')).toBe(true);
    expect(new AddressSet(['0.0.0.0/0']).has('::1')).toBe(false);
    expect(new AddressSet(['0.0.0.0/0']).has('10.1.2.3')).toBe(true);
  });

  test('contains nothing without entries, and nothing that is not an address', () => {
    expect(new AddressSet([]).has('10.1.2.3')).toBe(false);
    expect([...new AddressSet([]).keys]).toEqual([]);
    expect(new AddressSet(['0.0.0.0/0', '::/0']).has('')).toBe(false);
    expect(new AddressSet(['0.0.0.0/0', '::/0']).has('unix:')).toBe(false);
  });

  test('compares as many bits as the prefix says', () => {
    fc.assert(
      fc.property(ipv4Bits, fc.nat(32), fc.nat(31), (bits, prefix, flipped) => {
        const other = (bits ^ (1 << flipped)) >>> 0;
        const set = new AddressSet([`${dotted(bits)}/${prefix}`]);
        expect(set.has(dotted(bits))).toBe(true);
        expect(set.has(dotted(other))).toBe(31 - flipped >= prefix);
      }),
      played(1_000),
    );
    fc.assert(
      fc.property(ipv6, fc.nat(128), fc.nat(127), (groups, prefix, flipped) => {
        // Not a mapped address, neither before nor after the flip.
        fc.pre(groups.slice(0, 5).filter(group => group !== 0).length > 1);
        const text = (groups: number[]) => groups.map(group => group.toString(16)).join(':');
        const other = groups.map((group, i) =>
          i === flipped >> 4 ? group ^ (0x8000 >> (flipped & 15)) : group,
        );
        const set = new AddressSet([`${text(groups)}/${prefix}`]);
        expect(set.has(canonicalIpv6(text(groups)))).toBe(true);
        expect(set.has(canonicalIpv6(text(other)))).toBe(flipped >= prefix);
      }),
      played(1_000),
    );
  });

  test.each([
    ...['', 'x', 'example.com', '10.1.0.0/', '10.1.0.0/33'],
    ...['10.1.0.0/-1', '10.1.0.0/016', '10.1.0.0/16/16', '10.1/16'],
    ...['10.1.0.0/255.255.0.0', '::/129', '::1%eth0', '[::1]', '10.1.0.0:80', ' 10.1.0.0'],
  ])('refuses %j and says what to write', entry => {
    expect(() => new AddressSet(['10.0.0.0/8', entry])).toThrow(
      `"${entry}" is not an address or network: write 192.0.2.7, 10.1.0.0/16 or 2001:db8::/32`,
    );
  });

  test('rejects a network that is partly IPv4', () => {
    expect(() => new AddressSet(['::ffff:10.0.0.0/90'])).toThrow('write it as IPv4, such as 10.0.0.0/32');
  });
});

describe('the address of a client behind a trusted proxy', () => {
  const trusted = new AddressSet(['10.1.0.0/16', '2001:db8::/32']);
  const of = (peer: string, ...forwardedFor: string[]) =>
    forwardedClient(peer, forwardedFor, trusted).address;

  test('is the trusted peer if it forwards for no one', () => {
    expect(of('10.1.0.1')).toBe('10.1.0.1');
    expect(of('10.1.0.1', '')).toBe('10.1.0.1');
  });

  test('is the right-most one that is not a trusted proxy', () => {
    expect(of('10.1.0.1', '203.0.113.9')).toBe('203.0.113.9');
    expect(of('10.1.0.1', '192.0.2.66, 203.0.113.9, 10.1.7.7')).toBe('203.0.113.9');
    expect(of('2001:db8::1', '2001:DB9::0:1,2001:db8::2')).toBe('2001:db9::1');
    expect(of('10.1.0.1', '10.1.0.9, 203.0.113.9')).toBe('203.0.113.9');
  });

  test('is the left-most one if all are trusted', () => {
    expect(of('10.1.0.1', '10.1.0.3, 10.1.0.2')).toBe('10.1.0.3');
  });

  test('is the one to the right of an entry that is not an address', () => {
    expect(of('10.1.0.1', '203.0.113.9, unknown, 10.1.0.2')).toBe('10.1.0.2');
    expect(of('10.1.0.1', '203.0.113.9, 999.1.1.1')).toBe('10.1.0.1');
  });

  test('may come with a port, brackets or as IPv6', () => {
    expect(of('10.1.0.1', '203.0.113.9:5678')).toBe('203.0.113.9');
    expect(of('10.1.0.1', '[2001:db9::7]:443')).toBe('2001:db9::7');
    expect(of('10.1.0.1', '203.0.113.9 ,\t[::ffff:10.1.0.2]:80')).toBe('203.0.113.9');
  });

  test('is the same whether the list comes in one line or several', () => {
    expect(of('10.1.0.1', '192.0.2.66', '203.0.113.9, 10.1.0.3', '10.1.0.2')).toBe('203.0.113.9');
    expect(of('10.1.0.1', '203.0.113.9', 'nonsense')).toBe('10.1.0.1');
  });

  test('ignores empty elements', () => {
    expect(of('10.1.0.1', ',203.0.113.9,, ,10.1.0.2,', '', ',')).toBe('203.0.113.9');
    expect(of('10.1.0.1', ',,,')).toBe('10.1.0.1');
  });

  test('is found in ten thousand entries', () => {
    const forged = '192.0.2.66, '.repeat(10_000);
    expect(of('10.1.0.1', `${forged}203.0.113.9`)).toBe('203.0.113.9');
    expect(of('10.1.0.1', ...new Array<string>(10_000).fill('192.0.2.66'), '203.0.113.9')).toBe(
      '203.0.113.9',
    );
    expect(of('10.1.0.1', `203.0.113.9, ${'10.1.0.2, '.repeat(10_000)}10.1.0.3`)).toBe('203.0.113.9');
    expect(of('10.1.0.1', `203.0.113.9${','.repeat(10_000)}`)).toBe('203.0.113.9');
  });

  test('does not depend on what is to the left of it', () => {
    const junk = fc
      .array(fc.oneof(fc.string(), fc.ipV4(), fc.ipV6()), { maxLength: 5 })
      .map(entries => entries.join(','));
    fc.assert(
      fc.property(junk, junk, (first, second) => {
        expect(of('10.1.0.1', first, `${second},203.0.113.9, 10.1.0.2`)).toBe('203.0.113.9');
      }),
    );
  });
});

test.each([
  ['X-Forwarded-For', '192.0.2.1, 192.0.2.2 , 192.0.2.3:80', '192.0.2.3'],
  ['X-Forwarded-For', '192.0.2.1, unknown', null],
  ['Forwarded', 'for=192.0.2.1, for=192.0.2.2;by=x, proto=https; FOR="[2001:db8::7]:443"', '2001:db8::7'],
  ['Forwarded', 'for=192.0.2.1, by=192.0.2.2', null],
  ['X-Forwarded-For', `${'192.0.2.1, '.repeat(100)}192.0.2.3`, '192.0.2.3'],
] as const)('the sender of %s: %s saw %s', (field, value, address) => {
  expect(forwardedAddress(field, value)).toBe(address);
});

describe('a client that embeds an IPv4 address', () => {
  const NAT64 = '64:ff9b::c633:6407';
  const IPV4 = '198.51.100.7';
  const restricted = (address: string, spared: string[]) =>
    restrictionKey(address, addressKey(address), new AddressSet(spared));
  const isSpared = (address: string, spared: string[]) =>
    new AddressSet(spared).has(addressOfKey(restricted(address, spared)));

  test('is restricted as that address', () => {
    for (const address of [NAT64, IPV4, '2002:c633:6407::1']) expect(restricted(address, [])).toBe(IPV4);
    expect(restricted(NAT64, ['198.51.101.0/24', '2001:db8::/32'])).toBe(IPV4);
    expect(restricted('2001:db8::1', ['2001:db8::/32'])).toBe('2001:db8:0:0::/64');
  });

  test('is not spared for that address, and does not have it restricted', () => {
    for (const address of [NAT64, '2002:c633:6407::1', '::ffff:0:c633:6407', '2001:0:1:2:3:4:39cc:9bf8']) {
      expect([address, isSpared(address, [IPV4])]).toEqual([address, false]);
      expect([address, restricted(address, [IPV4])]).not.toEqual([address, IPV4]);
    }
    expect(isSpared(IPV4, [IPV4])).toBe(true);
  });

  test('is spared as it is, in a network or alone, and its IPv4 address is not', () => {
    for (const list of [['64:ff9b::/96'], [NAT64], ['64:ff9b::/96', IPV4]])
      expect([list, isSpared(NAT64, list)]).toEqual([list, true]);
    expect(isSpared('64:ff9b::c633:6408', [NAT64])).toBe(false);
    expect(isSpared(IPV4, ['64:ff9b::/96'])).toBe(false);
  });

  test.each([
    [NAT64, '198.51.100.0/24', true],
    [NAT64, '198.51.101.0/24', false],
    [NAT64, '64:ff9b::/96', true],
    [NAT64, '64:ff9b::c633:6400/120', true],
    [NAT64, '64:ff9b::c633:6500/120', false],
    [NAT64, '::/0', true],
    [IPV4, '64:ff9b::/96', false],
    [IPV4, '::/0', false],
    ['2002:c633:6407::1', '2002::/16', true],
    ['2001:db8::1', '2001:db8::/64', true],
    ['2001:db8::1', '2001:db8::1/128', false],
  ])('%s is in a list of %s: %s', (address, network, listed) => {
    expect(isListed(address, addressKey(address), new AddressSet([network]))).toBe(listed);
  });

  test('adds no key of its IPv4 address to a list that names it', () => {
    expect([...new AddressSet([NAT64, '2002:c633:6407::']).keys]).toEqual(['2002:c633:6407:0::/64']);
  });
});

test.each([
  ['localhost', true],
  ['LocalHost', true],
  ['127.0.0.1', true],
  ['127.9.8.7', true],
  ['::1', true],
  ['[::1]', true],
  ['0:0:0:0:0:0:0:1', true],
  ['::ffff:127.0.0.1', true],
  ['128.0.0.1', false],
  ['::2', false],
  ['127.0.0.1.example', false],
  ['localhost.example', false],
  ['', false],
])('"%s" is this machine: %s', (host, own) => {
  expect(isLoopback(host)).toBe(own);
});

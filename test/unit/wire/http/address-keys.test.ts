import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AddressSet, normalizeAddress } from '../../../../src/wire/http/address.ts';
import {
  addressKey,
  addressOfKey,
  DEFAULT_KEYING,
  isTranslated,
  networkOfKey,
  ownersOf,
  parseTranslator,
} from '../../../../src/wire/http/address-keys.ts';

/** The canonical text by way of the URL parser, which follows RFC 5952 but for mapped addresses. */
function canonicalIpv6(text: string): string {
  return new URL(`http://[${text}]/`).hostname.slice(1, -1);
}

/** The key of an address that a proxy wrote in any spelling. */
function keyOf(text: string, ...prefixes: string[]): string {
  const keying = { ipv6Prefix: 64, translators: prefixes.map(parseTranslator) };
  return addressKey(normalizeAddress(text) ?? 'none', prefixes.length === 0 ? DEFAULT_KEYING : keying);
}

describe('the key of an address', () => {
  test('is an IPv4 address itself and the /64 of an IPv6 address', () => {
    expect(addressKey('192.0.2.7')).toBe('192.0.2.7');
    expect(addressKey('2001:db8:1:2:3:4:5:6')).toBe('2001:db8:1:2::/64');
    expect(addressKey('2001:db8::1')).toBe('2001:db8:0:0::/64');
    expect(addressKey('::1')).toBe('0:0:0:0::/64');
    expect(addressKey('::')).toBe('0:0:0:0::/64');
    const within = (ipv6Prefix: number) =>
      addressKey('2001:db8:1:2ff:3:4:5:6', { ipv6Prefix, translators: [] });
    expect([56, 63, 48].map(within)).toEqual([
      '2001:db8:1:200::/56',
      '2001:db8:1:2fe::/63',
      '2001:db8:1:0::/48',
    ]);
    expect(addressOfKey('2001:db8:1:200::/56')).toBe('2001:db8:1:200::');
    expect(networkOfKey('2001:db8:1:200::/56')).toBe('2001:db8:1');
  });

  test('turns back into an address that a set of networks can look up', () => {
    const of = (address: string) => addressOfKey(addressKey(address));
    expect(of('192.0.2.7')).toBe('192.0.2.7');
    expect(of('2001:db8:1:2:3:4:5:6')).toBe('2001:db8:1:2::');
    expect(new AddressSet(['2001:db8::/32']).has(of('2001:db8::1'))).toBe(true);
  });

  test('is the same for a thousand addresses of a /64', () => {
    const keys = Array.from({ length: 1_000 }, (_, i) =>
      addressKey(normalizeAddress(`2001:db8::${i.toString(16)}:1`) ?? ''),
    );
    expect(new Set(keys)).toEqual(new Set(['2001:db8:0:0::/64']));
  });

  test('is the same for two IPv6 addresses exactly when their first 64 bits are', () => {
    const network = fc.array(fc.constantFrom(0, 1, 0x10, 0xdb8), { minLength: 4, maxLength: 4 });
    const host = fc.array(fc.constantFrom(0, 1, 0xabcd), { minLength: 4, maxLength: 4 });
    const key = (groups: number[]) =>
      addressKey(canonicalIpv6(groups.map(group => group.toString(16)).join(':')));
    fc.assert(
      fc.property(network, network, host, host, (a, b, c, d) => {
        expect(key([...a, ...c]) === key([...a, ...d])).toBe(true);
        expect(key([...a, ...c]) === key([...b, ...d])).toBe(a.join() === b.join());
      }),
    );
  });
});

describe('an address that a translator or a tunnel made of an IPv4 address', () => {
  test.each([
    ['64:ff9b::198.51.100.7', '198.51.100.7'],
    ['64:FF9B::C633:6407', '198.51.100.7'],
    ['0064:ff9b:0000:0000:0000:0000:198.51.100.7', '198.51.100.7'],
    ['[64:ff9b::198.51.100.7]:443', '198.51.100.7'],
    ['64:ff9b::c633:6407%eth0', '198.51.100.7'],
    ['64:ff9b::', '0.0.0.0'],
    ['64:ff9b::7', '0.0.0.7'],
    ['64:ff9b::c633:0', '198.51.0.0'],
    ['::ffff:0:198.51.100.7', '198.51.100.7'],
    ['::FFFF:0:0:7', '0.0.0.7'],
    ['::ffff:0:0:0', '0.0.0.0'],
    ['::ffff:0000:c633:0', '198.51.0.0'],
    ['2002:c633:6407::1', '198.51.100.7'],
    ['2002:c633:6407:ffff:1:2:3:4', '198.51.100.7'],
    ['2002::', '0.0.0.0'],
    // RFC 4380, 4: of this client of the server 65.54.227.120 the address is 192.0.2.45.
    ['2001:0000:4136:e378:8000:63bf:3fff:fdd2', '192.0.2.45'],
    ['2001::3fff:fdd2', '192.0.2.45'],
    ['2001:0:1:1:1:1:3fff:fdd2', '192.0.2.45'],
    ['2001:0:1::', '255.255.255.255'],
  ])('counts as that: %s', (text, key) => {
    expect(keyOf(text)).toBe(key);
  });

  test.each([
    ['::', '0:0:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    // The compatible form is deprecated (RFC 4291, 2.5.5.1).
    ['::198.51.100.7', '0:0:0:0::/64'],
    ['64:ff9b::1:198.51.100.7', '64:ff9b:0:0::/64'],
    ['64:ff9b:1::198.51.100.7', '64:ff9b:1:0::/64'],
    ['64:ff9b:0:1::198.51.100.7', '64:ff9b:0:1::/64'],
    ['::ffff:1:198.51.100.7', '0:0:0:0::/64'],
    ['::1:ffff:0:198.51.100.7', '0:0:0:1::/64'],
    ['1::ffff:0:198.51.100.7', '1:0:0:0::/64'],
    ['2001:1::3fff:fdd2', '2001:1:0:0::/64'],
    ['2001:db8::198.51.100.7', '2001:db8:0:0::/64'],
    ['2003:c633:6407::1', '2003:c633:6407:0::/64'],
  ])('is no such: %s', (text, key) => {
    expect(keyOf(text)).toBe(key);
  });

  // RFC 6052, 2.4, with two further addresses of each prefix: with a suffix, and with an octet that is not 0.
  test.each([
    ['2001:db8::/32', '2001:db8:c000:221::', '2001:db8:c000:221:0:1:2:3', '2001:db8:c000:221:100::'],
    ['2001:db8:100::/40', '2001:db8:1c0:2:21::', '2001:db8:1c0:2:21:ffff::', '2001:db8:1c0:2:121::'],
    [
      '2001:db8:122::/48',
      '2001:db8:122:c000:2:2100::',
      '2001:db8:122:c000:2:21ff::',
      '2001:db8:122:c000:102:2100::',
    ],
    [
      '2001:db8:122:300::/56',
      '2001:db8:122:3c0:0:221::',
      '2001:db8:122:3c0:0:221:1::',
      '2001:db8:122:3c0:8000:221::',
    ],
    [
      '2001:db8:122:344::/64',
      '2001:db8:122:344:c0:2:2100::',
      '2001:db8:122:344:c0:2:2100:1',
      '2001:db8:122:344:1c0:2:2100:0',
    ],
  ])('is found behind the prefix %s: %s', (prefix, address, suffixed, other) => {
    expect([address, suffixed].map(each => keyOf(each, prefix))).toEqual(['192.0.2.33', '192.0.2.33']);
    expect(keyOf(other, prefix)).toBe(keyOf(other));
    expect(keyOf(address)).toMatch(/::\/64$/);
  });

  test('is found behind each of several prefixes, and the well-known ones count as ever', () => {
    const prefixes = ['2001:db8:122:344::/96', '2001:DB8:5::/48', '64:ff9b:1::/48'];
    for (const address of [
      ...['2001:db8:122:344::192.0.2.33', '64:ff9b::192.0.2.33', '2002:c000:221::'],
      ...['2001:db8:5:c000:2:2100::', '64:ff9b:1:c000:2:2100::'],
    ])
      expect([address, keyOf(address, ...prefixes)]).toEqual([address, '192.0.2.33']);
    expect(keyOf('2001:db8:122:344:0:1:192.0.2.33', ...prefixes)).toBe('2001:db8:122:344::/64');
  });

  test('is the same in every place of every prefix', () => {
    const prefixes = [32, 40, 48, 56, 64, 96] as const;
    const octet = fc.nat(255);
    fc.assert(
      fc.property(
        fc.constantFrom(...prefixes),
        fc.array(octet, { minLength: 4, maxLength: 4 }),
        fc.array(octet, { minLength: 16, maxLength: 16 }),
        (length, ipv4, noise) => {
          const network = noise.map((each, at) =>
            at * 8 >= length || at === 8 ? 0 : at === 0 ? 0x20 : each,
          );
          const address = noise.map((each, at) => (at * 8 < length || at === 8 ? (network[at] ?? 0) : each));
          let at = length / 8;
          for (const each of ipv4) {
            if (at === 8) at++;
            address[at++] = each;
          }
          const text = (octets: readonly number[]) =>
            Array.from({ length: 8 }, (_, i) =>
              (((octets[2 * i] ?? 0) << 8) | (octets[2 * i + 1] ?? 0)).toString(16),
            ).join(':');
          expect(keyOf(text(address), `${text(network)}/${length}`)).toBe(ipv4.join('.'));
        },
      ),
    );
  });
});

describe('the prefix of a translator', () => {
  test('is written in its one form', () => {
    expect(parseTranslator('2001:DB8:0064:0::/96').text).toBe('2001:db8:64::/96');
  });

  test.each([
    ['10.0.0.0/8', 'is not an IPv6 network'],
    ['2001:db8::', 'is not an IPv6 network'],
    ['2001:db8::/33', 'has 32, 40, 48, 56, 64 or 96 bits (RFC 6052, 2.2), not 33'],
    ['2001:db8:64::1/96', 'has bits after its prefix: write 2001:db8:64::/96'],
    ['2001:db8:0:0:100::/96', "bits 64 to 71 of a translator's prefix"],
    ['::/96', 'is in a special range of addresses'],
    ['::ffff:0:0/96', 'is in a special range of addresses'],
  ])('cannot be %s', (text, message) => {
    expect(() => parseTranslator(text)).toThrow(message);
  });

  test.each([
    ['64:ff9b::c633:6400', 120, true],
    ['64:ff9b::', 96, true],
    ['64:ff9b::', 64, false],
    ['2002::', 16, true],
    ['2001::', 32, true],
    ['2001::', 31, false],
    ['2001:db8:64::', 96, true],
    ['2001:db8:65::', 96, false],
  ])('holds nothing but embedded addresses: %s/%i, %s', (address, length, whole) => {
    expect(isTranslated(address, length, [parseTranslator('2001:db8:64::/96')])).toBe(whole);
  });
});

describe('the owners of an address', () => {
  const ofAddress = (text: string) => ownersOf(keyOf(text)).map(({ key, shares }) => `${key} ${shares}`);

  test('are its /24, or its /48 and /44', () => {
    expect(ofAddress('198.51.100.7')).toEqual(['198.51.100.0/24 64']);
    expect(ofAddress('2001:db8:1234:5678::9')).toEqual(['2001:db8:1234::/48 4', '2001:db8:1230::/44 8']);
    expect(ofAddress('2001:db8:f::')).toEqual(['2001:db8:f::/48 4', '2001:db8:0::/44 8']);
    expect(ofAddress('::1')).toEqual(['0:0:0::/48 4', '0:0:0::/44 8']);
  });

  test('are those of the IPv4 address that it embeds', () => {
    for (const text of ['64:ff9b::198.51.100.7', '2002:c633:6407::1'])
      expect(ofAddress(text)).toEqual(ofAddress('198.51.100.7'));
  });

  test('are the same exactly for addresses of one network', () => {
    const group = fc.constantFrom(0, 1, 0xf, 0x10, 0x1f, 0xdb8, 0xffff);
    const groups = fc.array(group, { minLength: 4, maxLength: 4 });
    fc.assert(
      fc.property(groups, groups, (one, other) => {
        const owners = (four: number[]) =>
          ofAddress(canonicalIpv6(['2a00', ...four.map(each => each.toString(16)), '1', '2', '3'].join(':')));
        const [a48, a44] = owners(one);
        const [b48, b44] = owners(other);
        expect(a48 === b48).toBe(one[0] === other[0] && one[1] === other[1]);
        expect(a44 === b44).toBe(one[0] === other[0] && (one[1] ?? 0) >> 4 === (other[1] ?? 0) >> 4);
      }),
    );
  });
});

test.each([
  ['198.51.100.7', '198.51.100'],
  ['2001:db8:1:2::9', '2001:db8:1'],
  ['2001:db8::9', '2001:db8:0'],
  ['::1', '0:0:0'],
])('the network that one owner of %s may hold is %s', (address, network) => {
  expect(networkOfKey(addressKey(address))).toBe(network);
});

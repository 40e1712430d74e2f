import { describe, expect, test } from 'vitest';
import { canonicalHost, readHost } from '../../../../src/wire/http/index.ts';

describe('a host', () => {
  test.each(['a', 'a-b_c.test', '192.0.2.7', '[::1]', '[2001:db8::7]', 'xn--bcher-kva.example.com'])(
    'is a name or an address: %s',
    host => {
      expect(readHost(host)).toBe(host);
      expect(readHost(`${host}:80`)).toBe(host);
      expect(readHost(host.toUpperCase())).toBe(host);
    },
  );

  test('is up to 255 characters long', () => {
    expect(readHost('a'.repeat(255))).toBe('a'.repeat(255));
  });

  test('has one form: the case of letters, the port and the dot of the root mean nothing', () => {
    expect(readHost('API.Example.com.:8443')).toBe('api.example.com');
    expect(readHost('api.example.com.')).toBe('api.example.com');
    expect(readHost('[2001:DB8:0:0::7]:80')).toBe('[2001:db8::7]');
    expect(readHost('[::ffff:192.0.2.7]')).toBe(readHost('[::FFFF:c000:207]'));
  });

  test('may have any valid port and no other', () => {
    for (let port = 0; port < 100_000; port++) {
      const [plain, bracketed] = [readHost(`a:${port}`), readHost(`[::1]:${port}`)];
      const isValid = port <= 65_535;
      if ((plain === 'a') !== isValid || (bracketed === '[::1]') !== isValid) expect.fail(`${port}`);
    }
    for (const port of ['+80', '-1', '8a', '0x50', '080080', '100000', '99999999999999999999'])
      expect(readHost(`a:${port}`), port).toBeNull();
    expect(readHost('a:00080')).toBe('a');
    // RFC 3986, 3.2.3: a port may be empty.
    for (const host of ['a', '[::1]']) expect(readHost(`${host}:`)).toBe(host);
    expect(canonicalHost('A.test:', 'a.test')).toBe('a.test');
  });

  test.each([
    [
      '[]',
      '[:]',
      '[:::]',
      '[1]',
      '[192.0.2.7]',
      '[::1',
      '::1',
      '[::1]x',
      '[::1%25eth0]',
      '[1::2::3]',
      '[::1].',
    ],
    ['', '.', '..', '.a', 'a..b', 'a..', 'a.:80.', ':80', '.:80'],
    ['a@b', 'a:b@c', 'user@api.example.com', 'a:80:80', 'a:80,b', 'a,b', 'a b', ' a', 'a ', 'a\tb'],
    ['a%2eb', 'a%', 'a/b', 'a?b', 'a#b', 'a\\b', '*.example.com', '*', 'b\u00fccher.example.com'],
    [
      '\u212aelvin.test',
      'a\u3002b',
      '[\uff1a\uff1a1]',
      'http://a',
      '{a}',
      "a'b",
      'a;b',
      `${'a'.repeat(256)}`,
    ],
  ])('is not %j', (...texts) => {
    for (const text of texts) expect(readHost(text), text).toBeNull();
  });
});

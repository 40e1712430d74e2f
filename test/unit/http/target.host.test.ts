import { describe, expect, test } from 'vitest';
import { isPlainHost } from '../../../src/http/index.ts';

describe('a plain host', () => {
  test.each(['a', 'A-b_c.test', '192.0.2.7', '[::1]', '[2001:DB8::7]', '[::ffff:192.0.2.7]'])(
    'is a name or an address: %s',
    host => {
      expect(isPlainHost(host)).toBe(true);
      expect(isPlainHost(`${host}:80`)).toBe(true);
    },
  );

  test('may have any valid port and no other', () => {
    for (let port = 0; port < 100_000; port++) {
      const [plain, bracketed] = [isPlainHost(`a:${port}`), isPlainHost(`[::1]:${port}`)];
      if (plain !== port <= 65_535 || bracketed !== plain) expect.fail(`${port}`);
    }
    for (const port of ['', '+80', '-1', '8a', '0x50', '080080', '100000', '99999999999999999999'])
      expect(isPlainHost(`a:${port}`), port).toBe(false);
    expect(isPlainHost('a:00080')).toBe(true);
  });

  test.each([
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
    '',
  ])('is not %j', host => {
    expect(isPlainHost(host)).toBe(false);
  });
});

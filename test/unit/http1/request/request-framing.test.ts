import { describe, expect, test } from 'vitest';
import { ForwardingRules, isPlainHost, RequestHead } from '../../../../src/http/index.ts';
import { requestFraming } from '../../../../src/http1/index.ts';

const rules = new ForwardingRules();
const framing = (httpMinor: number, ...fields: string[]) =>
  requestFraming(new RequestHead(fields, rules, false), httpMinor);

describe('the framing of a request body', () => {
  test('without either field there is no body', () => {
    expect(framing(1)).toBe(0);
    expect(framing(1, 'Content-Length', '0')).toBe(0);
  });

  test('a plain Content-Length is the number of bytes', () => {
    expect(framing(1, 'Content-Length', '17')).toBe(17);
    expect(framing(0, 'Content-Length', '999999999999999')).toBe(999_999_999_999_999);
  });

  test.each(['010', '00', '+5', '-1', '5, 5', '0x5', '5 ', '', '1000000000000000', '٣'])(
    'Content-Length "%s" is refused',
    value => {
      expect(framing(1, 'Content-Length', value)).toHaveProperty('refused');
    },
  );

  test('chunked is chunked in any letter case', () => {
    expect(framing(1, 'Transfer-Encoding', 'Chunked')).toBe('chunked');
  });

  test.each([',chunked', 'gzip, chunked', 'chunked;x', 'identity', 'chunked, chunked', ''])(
    'Transfer-Encoding "%s" is refused',
    value => {
      expect(framing(1, 'Transfer-Encoding', value)).toHaveProperty('refused');
    },
  );

  test('both fields together are refused, in either order', () => {
    expect(framing(1, 'Content-Length', '5', 'Transfer-Encoding', 'chunked')).toHaveProperty('refused');
    expect(framing(1, 'Transfer-Encoding', 'chunked', 'Content-Length', '5')).toHaveProperty('refused');
  });

  test('chunks in HTTP/1.0 are refused', () => {
    expect(framing(0, 'Transfer-Encoding', 'chunked')).toHaveProperty('refused');
  });
});

describe('a plain host', () => {
  test.each(['a.example', 'a.example:8080', '127.0.0.1', '[::1]:80', 'my_service', 'A-b.c'])(
    '"%s" is one',
    host => {
      expect(isPlainHost(host)).toBe(true);
    },
  );

  test.each([
    '',
    ' ',
    'a b',
    'a,b',
    'user@a',
    'a/b',
    'a?b',
    'a#b',
    'a:b',
    'a:123456',
    '[::1',
    'http://a',
    'a\\b',
    'a%2eb',
    'é',
    'a'.repeat(300),
  ])('"%s" is none', host => {
    expect(isPlainHost(host)).toBe(false);
  });
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readProxyHeader } from '../../../../src/edge/proxy-protocol/read-proxy-header.ts';
import { LOCAL_V2, TCP4, TCP6, v1, v2 } from '../../../support/proxy-header.ts';

const REQUEST = Buffer.from('GET / HTTP/1.1\r\n\r\n');

const VALID: readonly (readonly [string, Buffer])[] = [
  ['version 1 over IPv4', v1('TCP4 192.0.2.7 198.51.100.1 56324 443')],
  ['version 1 over IPv6', v1('TCP6 2001:db8::7 2001:db8::1 56324 443')],
  ['version 1, unknown', v1('UNKNOWN')],
  ['version 2 over IPv4', v2(TCP4('192.0.2.7'))],
  ['version 2 over IPv6', v2(TCP6('2001:db8::7'))],
  ['version 2, local', LOCAL_V2],
];

describe.each(VALID)('a header (%s)', (_, header) => {
  test('is read to its end and no further', () => {
    expect(readProxyHeader(Buffer.concat([header, REQUEST]))).toMatchObject({ bytes: header.length });
  });

  test('is incomplete at every byte before its end', () => {
    for (let length = 0; length < header.length; length++)
      expect(readProxyHeader(header.subarray(0, length)), `${length} bytes`).toBe('incomplete');
  });
});

describe('a connection without a header', () => {
  test.each([
    ...[
      'GET / HTTP/1.1\r\n',
      'PRI * HTTP/2.0\r\n',
      'PUT / HTTP/1.1\r\n',
      'PROXYING',
      'proxy TCP4 ',
      ' PROXY ',
    ],
    ...['\r\nGET / HTTP/1.1\r\n', '\r\n\r\nGET', '\x16\x03\x01', '\0'],
  ])('is known by its first bytes: %j', text => {
    expect(readProxyHeader(Buffer.from(text, 'latin1'))).toBe('missing');
  });

  test('is known by the first byte that no header has', () => {
    expect(readProxyHeader(Buffer.from('P'))).toBe('incomplete');
    expect(readProxyHeader(Buffer.from('PU'))).toBe('missing');
    expect(readProxyHeader(Buffer.from('G'))).toBe('missing');
  });
});

describe('whatever comes', () => {
  const anything = fc.oneof(
    fc.uint8Array({ maxLength: 300 }),
    fc.tuple(fc.constantFrom(...VALID.map(([, header]) => header)), fc.nat(), fc.nat(255)).map(flipped),
  );

  test('is decided by the same bytes, however they are split', () => {
    fc.assert(
      fc.property(anything, bytes => {
        const all = Buffer.from(bytes);
        const whole = readProxyHeader(all);
        for (let length = 0; length < all.length; length++) {
          const part = readProxyHeader(all.subarray(0, length));
          if (part !== 'incomplete') expect(part).toEqual(whole);
        }
      }),
    );
  });

  test('is decided by so many bytes at most', () => {
    const begun = fc.constantFrom(
      'PROXY ',
      'PROXY UNKNOWN ',
      '\r\n\r\n\0\r\nQUIT\n!\x11',
      '\r\n\r\n\0\r\nQUIT\n\x20',
    );
    fc.assert(
      fc.property(begun, fc.uint8Array({ minLength: 4_096, maxLength: 70_000 }), (text, rest) => {
        expect(readProxyHeader(Buffer.concat([Buffer.from(text, 'latin1'), rest]))).not.toBe('incomplete');
      }),
    );
  });
});

function flipped([header, at, byte]: [Buffer, number, number]): Buffer {
  const copy = Buffer.from(header);
  copy[at % copy.length] = byte;
  return copy;
}

import { describe, expect, test } from 'vitest';
import { MAX_V2_BYTES, readV2 } from '../../../../src/edge/proxy-protocol/read-proxy-header.ts';
import { LOCAL_V2, TCP4, TCP6, tlv, UNIX, v2 } from '../../../support/proxy-header.ts';

describe('the client that a header names', () => {
  test.each([
    ['TCP over IPv4', TCP4('192.0.2.7'), '192.0.2.7'],
    ['TCP over IPv6', TCP6('2001:db8::7'), '2001:db8::7'],
    ['IPv4 mapped into IPv6', TCP6('::ffff:192.0.2.7'), '192.0.2.7'],
  ])('is the source (%s)', (_, relayed, address) => {
    const header = v2(relayed);
    expect(readV2(header)).toEqual({ from: 'client', address, bytes: header.length });
  });

  test.each([
    ['unspecified', { family: 0x00, address: Buffer.alloc(0) }],
    ['unspecified, with bytes behind it', { family: 0x00, address: Buffer.alloc(30, 1) }],
    ['of an unspecified family', { family: 0x01, address: Buffer.alloc(12) }],
    ['of an unspecified transport', { ...TCP4('192.0.2.7'), family: 0x10 }],
    ['UDP over IPv4', { ...TCP4('192.0.2.7'), family: 0x12 }],
    ['UDP over IPv6', { ...TCP6('2001:db8::7'), family: 0x22 }],
    ['a Unix socket', UNIX],
  ])('is unknown where the connection is %s', (_, relayed) => {
    const header = v2(relayed);
    expect(readV2(header)).toEqual({ from: 'unknown', bytes: header.length });
  });

  test('is the proxy itself where the header says LOCAL, whatever else it says', () => {
    expect(readV2(LOCAL_V2)).toEqual({ from: 'proxy', bytes: 16 });
    for (const relayed of [TCP4('192.0.2.7'), { family: 0xff, address: Buffer.alloc(7) }]) {
      const header = v2(relayed, { command: 0x20 });
      expect(readV2(header)).toEqual({ from: 'proxy', bytes: header.length });
    }
  });
});

describe('a header is broken', () => {
  test.each([0x00, 0x10, 0x11, 0x22, 0x2f, 0x30, 0x31, 0xff])('with version and command %i', command => {
    expect(readV2(v2(TCP4('192.0.2.7'), { command }))).toBe('broken');
  });

  test.each([0x03, 0x13, 0x1f, 0x41, 0xf1, 0xff])('with family and transport %i', family => {
    expect(readV2(v2({ family, address: Buffer.alloc(216) }))).toBe('broken');
  });

  test.each([TCP4('192.0.2.7'), TCP6('2001:db8::7'), UNIX])('where its addresses are cut short', relayed => {
    const { family, address } = relayed;
    expect(readV2(v2({ family, address: address.subarray(0, -1) }))).toBe('broken');
    expect(readV2(v2({ family, address: Buffer.alloc(0) }))).toBe('broken');
  });

  test('as soon as it announces too much', () => {
    const room = MAX_V2_BYTES - 16 - 12 - 3;
    expect(readV2(v2(TCP4('192.0.2.7'), { tlvs: [tlv(0x04, Buffer.alloc(room))] }))).toMatchObject({
      bytes: MAX_V2_BYTES,
    });
    const tooLong = v2(TCP4('192.0.2.7'), { tlvs: [tlv(0x04, Buffer.alloc(room + 1))] });
    expect(readV2(tooLong.subarray(0, 16))).toBe('broken');
  });
});

import { describe, expect, test } from 'vitest';
import { readV2 } from '../../../../src/edge/proxy-protocol/read-proxy-header.ts';
import { TCP4, tlv, v2 } from '../../../support/proxy-header.ts';

const CLIENT = TCP4('192.0.2.7');
const UNIQUE_ID = tlv(0x05, Buffer.from('weir'));
const NOOP = tlv(0x04, Buffer.alloc(0));

/** CRC32C of the header below with zeros in this place, computed bit by bit elsewhere. */
const CRC = Buffer.from('909a70b6', 'hex');

describe('what follows the addresses', () => {
  test('is skipped', () => {
    expect(readV2(v2(CLIENT, { tlvs: [UNIQUE_ID, NOOP] }))).toMatchObject({ address: '192.0.2.7' });
  });

  test.each([
    ['a type alone', Buffer.from([0x04])],
    ['a type and half a length', Buffer.from([0x04, 0x00])],
    ['a value that is too short', Buffer.from([0x04, 0x00, 0x02, 0x00])],
    ['a length beyond the header', Buffer.from([0x04, 0xff, 0xff])],
  ])('is broken where it is %s', (_, bytes) => {
    expect(readV2(v2(CLIENT, { tlvs: [NOOP, bytes] }))).toBe('broken');
  });
});

describe('the checksum of a header', () => {
  const header = v2(CLIENT, { tlvs: [UNIQUE_ID, tlv(0x03, CRC), NOOP] });

  test('is accepted where it is right', () => {
    expect(readV2(header)).toMatchObject({ address: '192.0.2.7' });
  });

  test('notices each bit that differs', () => {
    // From the addresses on: what stands before has a meaning of its own. So has the type of the checksum.
    const typeAt = header.indexOf(tlv(0x03, CRC));
    for (let at = 16; at < header.length; at++) {
      if (at === typeAt) continue;
      const changed = Buffer.from(header);
      changed[at] = (header[at] ?? 0) ^ 1;
      expect(readV2(changed), `byte ${at}`).toBe('broken');
    }
  });

  test.each([0, 3, 5])('has four bytes, not %i', length => {
    expect(readV2(v2(CLIENT, { tlvs: [tlv(0x03, Buffer.alloc(length))] }))).toBe('broken');
  });

  test('comes once', () => {
    expect(readV2(v2(CLIENT, { tlvs: [tlv(0x03, CRC), tlv(0x03, CRC)] }))).toBe('broken');
  });
});

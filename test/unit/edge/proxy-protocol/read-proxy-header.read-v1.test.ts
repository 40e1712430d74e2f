import { describe, expect, test } from 'vitest';
import { MAX_V1_BYTES, readV1 } from '../../../../src/edge/proxy-protocol/read-proxy-header.ts';
import { v1 } from '../../../support/proxy-header.ts';

describe('the client that a line names', () => {
  test.each([
    ['TCP4 192.0.2.7 198.51.100.1 56324 443', '192.0.2.7'],
    ['TCP4 255.255.255.255 255.255.255.255 65535 65535', '255.255.255.255'],
    ['TCP4 192.0.2.7 198.51.100.1 0 0', '192.0.2.7'],
    ['TCP6 2001:DB8:0:0:0:0:0:7 ::1 56324 443', '2001:db8::7'],
    ['TCP6 ::ffff:192.0.2.7 ::1 56324 443', '192.0.2.7'],
  ])('of %s is %s', (line, address) => {
    const header = v1(line);
    expect(readV1(header)).toEqual({ from: 'client', address, bytes: header.length });
  });

  test.each([
    'UNKNOWN',
    'UNKNOWN ',
    'UNKNOWN ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535',
    'UNKNOWN whatever  \0 this is',
  ])('is unknown where the line says so: %j', line => {
    const header = v1(line);
    expect(readV1(header)).toEqual({ from: 'unknown', bytes: header.length });
  });
});

describe('a line', () => {
  test.each([
    '',
    'TCP4',
    'TCP4 192.0.2.7 198.51.100.1 56324',
    'TCP4 192.0.2.7 198.51.100.1 56324 443 ',
    'TCP4 192.0.2.7 198.51.100.1 56324 443 more',
    'TCP4  192.0.2.7 198.51.100.1 56324 443',
    ' TCP4 192.0.2.7 198.51.100.1 56324 443',
    'TCP4\t192.0.2.7 198.51.100.1 56324 443',
    'tcp4 192.0.2.7 198.51.100.1 56324 443',
    'TCP4 192.0.2.07 198.51.100.1 56324 443',
    'TCP4 192.0.2 198.51.100.1 56324 443',
    'TCP4 192.0.2.256 198.51.100.1 56324 443',
    'TCP4 192.0.2.7:1 198.51.100.1 56324 443',
    'TCP4 2001:db8::7 2001:db8::1 56324 443',
    'TCP4 192.0.2.7 2001:db8::1 56324 443',
    'TCP4 192.0.2.7 198.51.100.1 056324 443',
    'TCP4 192.0.2.7 198.51.100.1 65536 443',
    'TCP4 192.0.2.7 198.51.100.1 56324 -1',
    'TCP4 192.0.2.7 198.51.100.1 56324 +443',
    'TCP4 192.0.2.7 198.51.100.1 0x10 443',
    'TCP6 192.0.2.7 198.51.100.1 56324 443',
    'TCP6 [2001:db8::7] 2001:db8::1 56324 443',
    'TCP6 fe80::7%eth0 2001:db8::1 56324 443',
    'TCP6 2001:db8::7::1 2001:db8::1 56324 443',
    'TCP5 192.0.2.7 198.51.100.1 56324 443',
    'UNKNOWNX',
    'UDP4 192.0.2.7 198.51.100.1 56324 443',
  ])('is broken unless it is exactly as specified: %j', line => {
    expect(readV1(v1(line))).toBe('broken');
  });

  test.each(['\n', '\r', '\r\r\n', '\n\r', '\r \n'])('is broken where %j ends it', ending => {
    for (const line of ['TCP4 192.0.2.7 198.51.100.1 56324 443', 'UNKNOWN'])
      expect(readV1(Buffer.from(`PROXY ${line}${ending}GET`, 'latin1'))).toBe('broken');
  });

  test('may have 107 bytes with its end, and not one more', () => {
    const longest = v1(`UNKNOWN ${'x'.repeat(MAX_V1_BYTES - 16)}`);
    expect(longest).toHaveLength(MAX_V1_BYTES);
    expect(readV1(longest)).toEqual({ from: 'unknown', bytes: MAX_V1_BYTES });
    const longer = v1(`UNKNOWN ${'x'.repeat(MAX_V1_BYTES - 15)}`);
    expect(readV1(longer.subarray(0, MAX_V1_BYTES - 1))).toBe('incomplete');
    expect(readV1(longer.subarray(0, MAX_V1_BYTES))).toBe('broken');
    expect(readV1(longer)).toBe('broken');
  });
});

import { describe, expect, it } from 'vitest';
import { parseSizeBytes } from '../../../../src/config/values/quantities.ts';

describe('parseSizeBytes', () => {
  it.each([
    ['0B', 0],
    ['512B', 512],
    ['64KiB', 65_536],
    ['10MiB', 10_485_760],
    ['2GiB', 2_147_483_648],
  ])('reads %s', (text, bytes) => {
    expect(parseSizeBytes(text)).toBe(bytes);
  });

  it.each(['', '10', '10MB', '10 MiB', '10mib', '1.5MiB', '-1B', '10MiB ', '1e3B', '999999999GiB'])(
    'takes %j for no size',
    text => {
      expect(parseSizeBytes(text)).toBeUndefined();
    },
  );
});

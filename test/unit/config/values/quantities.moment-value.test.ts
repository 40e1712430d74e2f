import { describe, expect, it } from 'vitest';
import { parseMomentS } from '../../../../src/config/values/quantities.ts';

describe('parseMomentS', () => {
  it.each([
    ['2026-01-31T12:00:00Z', 1_769_860_800],
    ['2026-01-31T12:00:00+01:00', 1_769_857_200],
    ['2024-02-29T00:00:00Z', 1_709_164_800],
    ['1970-01-01T00:00:00Z', 0],
    ['0', 0],
    ['1769860800', 1_769_860_800],
    ['253402300799', 253_402_300_799],
  ])('reads %s', (text, seconds) => {
    expect(parseMomentS(text)).toBe(seconds);
  });

  it.each([
    ['', 'nothing'],
    ['2026-01-31', 'a day'],
    ['2026-01-31T12:00:00', 'a moment of no zone'],
    ['2026-01-31T12:00:00.5Z', 'a part of a second'],
    ['2026-02-30T00:00:00Z', 'a day that does not exist'],
    ['2026-13-01T00:00:00Z', 'a month that does not exist'],
    ['2026-01-31T12:00:00+99:00', 'a zone that does not exist'],
    ['1969-12-31T23:59:59Z', 'a moment before 1970'],
    ['1769860800000', 'milliseconds'],
    ['253402300800', 'a second after the year 9999'],
    ['-1', 'a negative number'],
    ['1e9', 'another notation'],
  ])('refuses "%s", %s', text => {
    expect(parseMomentS(text)).toBeUndefined();
  });
});

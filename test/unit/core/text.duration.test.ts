import { describe, expect, it } from 'vitest';
import { parseDurationMs, wholeSeconds } from '../../../src/core/index.ts';

describe('parseDurationMs', () => {
  it.each([
    ['0ms', 0],
    ['250ms', 250],
    ['5s', 5_000],
    ['10m', 600_000],
    ['24h', 86_400_000],
  ])('reads %s', (text, ms) => {
    expect(parseDurationMs(text)).toBe(ms);
  });

  it.each(['', '5', 's', '5 s', '1.5s', '-1s', '+1s', '5S', '1d', '1h30m', '5s ', '1e3ms', '1234567890s'])(
    'rejects %j',
    text => {
      expect(parseDurationMs(text)).toBeUndefined();
    },
  );
});

describe('wholeSeconds', () => {
  it.each([
    [0, 1],
    [0.5, 1],
    [1_000, 1],
    [1_000.01, 2],
    [59_001, 60],
  ])('rounds a wait of %d ms up to %d s', (waitMs, seconds) => {
    expect(wholeSeconds(waitMs)).toBe(seconds);
  });
});

import { expect, test } from 'vitest';
import { parseQuota, QuotaError } from '../../../../src/limits/index.ts';

test.each([
  ['5/5s', 5, 5_000],
  ['1/1s', 1, 1_000],
  ['65535/18h', 65_535, 64_800_000],
  ['10000/10m', 10_000, 600_000],
  ['7/64800s', 7, 64_800_000],
  ['7/1080m', 7, 64_800_000],
])('%s is %d in %d ms', (text, units, periodMs) => {
  expect(parseQuota(text)).toEqual({ units, periodMs });
});

test.each([
  ['', 'for example 5/5s'],
  ['5', 'for example 5/5s'],
  ['/5s', 'for example 5/5s'],
  ['5/', 'for example 5/5s'],
  ['5/5s/5s', 'for example 5/5s'],
  ['off', 'for example 5/5s'],
  ['5 / 5s', 'write it without spaces: 5/5s'],
  ['5/5s\n', 'write it without spaces: 5/5s'],
  ['0/5s', 'write at least 1 (to switch a route off, take it out of gateway.yaml)'],
  ['65536/5s', 'write at most 65535'],
  ['99999999999999999999/5s', 'write at most 65535'],
  ['-5/5s', '"-5" is not a whole number from 1 to 65535'],
  ['5.5/5s', '"5.5" is not a whole number from 1 to 65535'],
  ['1e3/5s', '"1e3" is not a whole number from 1 to 65535'],
  ['1_000/5s', '"1_000" is not a whole number from 1 to 65535'],
  ['٥/5s', '"٥" is not a whole number from 1 to 65535'],
  ['05/5s', 'write 5 without leading zeros'],
  ['5/05s', 'write the period without leading zeros: 5s'],
  ['5/5', 'the period lacks its unit: write 5/5s, 5/5m or 5/5h'],
  ['5/s', 'write 5/1s'],
  ['5/0s', 'the shortest period is 1s'],
  ['5/0m', 'the shortest period is 1s'],
  ['5/500ms', 'the shortest period is 1s'],
  ['5/1.5m', '90s for one minute and a half'],
  ['5/.s', '90s for one minute and a half'],
  ['5/19h', 'the longest period is 18h'],
  ['5/64801s', 'the longest period is 18h'],
  ['5/1d', 'a period ends in s, m or h, and the longest is 18h'],
  ['5/-5s', 'a period ends in s, m or h'],
  ['5/5S', 'write 5/5s'],
  ['5/2min', 'write 5/2m'],
  ['5/sec', 'write 5/1s'],
  ['5/3hours', 'write 5/3h'],
])('%j is refused, and the message says: %s', (text, advice) => {
  expect(() => parseQuota(text)).toThrow(QuotaError);
  expect(() => parseQuota(text)).toThrow(advice);
});

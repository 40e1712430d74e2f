import { expect, test } from 'vitest';
import { parseQuota, QuotaError } from '../../../../src/limits/index.ts';

test.each([
  ['5/5s', 5, 5_000],
  ['1/1s', 1, 1_000],
  ['65535/18h', 65_535, 64_800_000],
  ['10000/10m', 10_000, 600_000],
  ['7/64800s', 7, 64_800_000],
  ['7/1080m', 7, 64_800_000],
  ['1000/24h', 1_000, 86_400_000],
  ['1000/1d', 1_000, 86_400_000],
  ['1000000000/31d', 1_000_000_000, 2_678_400_000],
  ['7/2678400s', 7, 2_678_400_000],
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
  ['1000000001/5s', 'write at most 1000000000'],
  ['99999999999999999999/5s', 'write at most 1000000000'],
  ['-5/5s', '"-5" is not a whole number from 1 to 1000000000'],
  ['5.5/5s', '"5.5" is not a whole number from 1 to 1000000000'],
  ['1e3/5s', '"1e3" is not a whole number from 1 to 1000000000'],
  ['1_000/5s', '"1_000" is not a whole number from 1 to 1000000000'],
  ['٥/5s', '"٥" is not a whole number from 1 to 1000000000'],
  ['05/5s', 'write 5 without leading zeros'],
  ['5/05s', 'write the period without leading zeros: 5s'],
  ['5/5', 'the period lacks its unit: write 5/5s, 5/5m, 5/5h or 5/5d'],
  ['5/s', 'write 5/1s'],
  ['5/0s', 'the shortest period is 1s'],
  ['5/0m', 'the shortest period is 1s'],
  ['5/500ms', 'the shortest period is 1s'],
  ['5/1.5m', '90s for one minute and a half'],
  ['5/.s', '90s for one minute and a half'],
  ['5/745h', 'the longest period is 31d'],
  ['5/2678401s', 'the longest period is 31d'],
  ['5/32d', 'the longest period is 31d'],
  ['5/1w', 'a period ends in s, m, h or d, at most 31d, or is day, week or month'],
  ['5/-5s', 'a period ends in s, m, h or d'],
  ['5/5S', 'write 5/5s'],
  ['5/2min', 'write 5/2m'],
  ['5/sec', 'write 5/1s'],
  ['5/3hours', 'write 5/3h'],
  ['5/3days', 'write 5/3d'],
  ['5/days', 'write 5/1d'],
  ['5/weeks', 'write 5/week'],
  ['5/monthly', 'write 5/month'],
  ['5/daily', 'write 5/day'],
  ['5/1month', 'write 5/month'],
  ['5/2month', 'or is day, week or month'],
])('%j is refused, and the message says: %s', (text, advice) => {
  expect(() => parseQuota(text)).toThrow(QuotaError);
  expect(() => parseQuota(text)).toThrow(advice);
});

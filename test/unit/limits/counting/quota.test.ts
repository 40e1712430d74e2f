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

const EXPECTED =
  'write a number from 1 to 1000000000 and a period from 1s to 31d, or day, week or month, such as 5/5s or 100/10m';

test.each([
  ...['', '5', '/5s', '5/', '5/5s/5s', '5/5', 'off', '-1/1s', '100 per customer'],
  ...[
    '0/5s',
    '1000000001/5s',
    '99999999999999999999/5s',
    '-5/5s',
    '5.5/5s',
    '1e3/5s',
    '1_000/5s',
    '٥/5s',
    '05/5s',
  ],
  ...['5/05s', '5/0s', '5/0m', '5/500ms', '5/1.5m', '5/.s', '5/-5s'],
  ...['5/745h', '5/2678401s', '5/32d', '5/2w', '5/2month', '5/year', '5/never'],
])('%j is refused, and the message says what is expected', text => {
  expect(() => parseQuota(text)).toThrow(new QuotaError(`"${text}" is not a quota: ${EXPECTED}`));
});

test.each([
  ['5 / 5s', '5/5s'],
  ['5/5s\n', '5/5s'],
  ['5/5S', '5/5s'],
  ['5/Day', '5/day'],
  ['5/s', '5/1s'],
  ['5/sec', '5/1s'],
  ['5/2min', '5/2m'],
  ['5/3hours', '5/3h'],
  ['5/days', '5/1d'],
  ['5/weeks', '5/week'],
  ['5/monthly', '5/month'],
])('%j is refused, and the message says what to write: %s', (text, meant) => {
  expect(() => parseQuota(text)).toThrow(new QuotaError(`"${text}" is not a quota: write ${meant}`));
});

import { expect, test } from 'vitest';
import type { ClaimedValues } from '../../../../src/core/index.ts';
import { ClaimedLimits, type LimitSet } from '../../../../src/limits/index.ts';
import { FrozenClock } from '../frozen-clock.ts';
import { limit, limits, newStore } from '../stores.ts';

const number = { units: 5, periodMs: 10_000, claim: 'rate', maxUnits: 20 };
const caller = limit('1/10s', { quota: number });
const group = limit('9/10s', { role: 'group', claim: 'org' });

function values(rate: number | null, org: string | null = null): ClaimedValues {
  return {
    numbers: new Map(rate === null ? [] : [['rate', rate]]),
    groups: new Map(org === null ? [] : [['org', org]]),
  };
}

const unitsOf = (set: LimitSet) => [set.caller?.units, set.group?.units ?? null];

test('a set follows what the token says, within the maximum, and keeps its counters', () => {
  const claimed = new ClaimedLimits('org');
  const set = limits({ caller, group });
  expect(unitsOf(claimed.of(set, null))).toEqual([5, null]);
  expect(claimed.groupOf(null)).toBe('');
  expect(unitsOf(claimed.of(set, values(7)))).toEqual([7, null]);
  expect(unitsOf(claimed.of(set, values(21, 'acme')))).toEqual([20, 9]);
  expect(unitsOf(claimed.of(set, values(null, 'acme')))).toEqual([5, 9]);
  expect(claimed.of(set, values(7)).caller?.identity).toBe(caller.identity);
});

test('the same token finds its set at once, and tokens that say the same share one', () => {
  const claimed = new ClaimedLimits(null);
  const set = limits({ caller });
  const token = values(7);
  expect(claimed.of(set, token)).toBe(claimed.of(set, token));
  expect(claimed.of(set, values(7))).toBe(claimed.of(set, token));
  expect(claimed.of(set, null)).toBe(claimed.of(set, null));
});

test('a claim that names groups, too, says the number of a caller alone', () => {
  const ofGroup = limit('9/10s', { role: 'group', claim: 'rate' });
  const both = { numbers: new Map([['rate', 4]]), groups: new Map([['rate', '4']]) };
  expect(unitsOf(new ClaimedLimits('rate').of(limits({ caller, group: ofGroup }), both))).toEqual([4, 9]);
});

test('limits in shadow follow it, too', () => {
  const set = limits({ caller: limit('3/10s'), shadow: limits({ caller, group }) });
  const { caller: held, shadow } = new ClaimedLimits('org').of(set, values(8, 'acme'));
  expect([held?.units, shadow?.caller?.units, shadow?.group?.units]).toEqual([3, 8, 9]);
  expect(new ClaimedLimits('org').of(set, values(8)).shadow?.group).toBeNull();
});

test.each([
  ['smooth', 1],
  ['window', 20],
] as const)(
  'more units of a %s limit have a slack of %i ms, which never admits one request more',
  (algorithm, slackMs) => {
    const quota = { units: 2, periodMs: 1_000, claim: 'rate', maxUnits: 500 };
    const set = limits({ caller: limit('1/1s', { quota, algorithm }) });
    const { caller: many } = new ClaimedLimits(null).of(set, values(500));
    expect(many?.slackMs).toBe(slackMs);
  },
);

test('very many different numbers are decided by the counters of one', () => {
  const claimed = new ClaimedLimits(null);
  const store = newStore(new FrozenClock());
  const quota = { units: 5, periodMs: 10_000, claim: 'rate', maxUnits: 65_535 };
  const set = limits({ caller: limit('1/10s', { quota }) });
  for (let rate = 1; rate <= 3_000; rate++) store.decide(claimed.of(set, values(rate)), 'user:a', '');
  expect(store.decide(claimed.of(set, values(4_000)), 'user:a', '')).toMatchObject({ remaining: 999 });
  expect(store.counts.keys).toBe(1);
});

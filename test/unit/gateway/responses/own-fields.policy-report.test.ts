import { beforeEach, describe, expect, test } from 'vitest';
import type { LimitPolicies } from '../../../../src/config/index.ts';
import { policyFields, policyReportOf } from '../../../../src/gateway/responses/own-fields.ts';
import { type Decision, type LimitSet, limitsIn } from '../../../../src/limits/index.ts';
import { serviceLimitsIn } from '../../../support/rate-limit-policies.ts';
import { FrozenClock } from '../../limits/frozen-clock.ts';
import { admittedOf, limit, limits, newStore } from '../../limits/stores.ts';

let clock = new FrozenClock();
let store = newStore(clock);
beforeEach(() => {
  clock = new FrozenClock();
  store = newStore(clock);
});

const HASH = '0123456789abcdef0123456789abcdef';
const policies = (isPartitioned = false): LimitPolicies => {
  const names = { caller: 'b', group: 'b/group', resource: 'b/resource', global: 'global' };
  const list = '"b";q=1;w=1';
  const listWithGroup = `"b/group";q=1;w=1, ${list}`;
  const namesIn = (set: LimitSet) =>
    new Map(limitsIn(set).map(({ identity, role }) => [identity, names[role]]));
  return { get: set => ({ list, listWithGroup, names: namesIn(set), isPartitioned }) };
};

function told(decision: Decision, set: LimitSet, sentAfterMs = 0) {
  const report = policyReportOf(decision, set, policies(), null, clock.monotonicMs());
  if (report === null) throw new Error('nothing is told');
  const [, , , value] = policyFields(report, clock.monotonicMs() + sentAfterMs);
  const [item] = serviceLimitsIn(value);
  return {
    name: item?.name,
    r: item?.['r'],
    t: item?.['t'],
    windowMs: report.endsAtMs - clock.monotonicMs(),
  };
}

describe.each(['window', 'smooth'] as const)('with the algorithm %s', algorithm => {
  test.each(['1/1s', '3/10s', '7/60s', '50/1s', '10/10s'])(
    'of %s no more than r are admitted until t has passed, and then there is more',
    quota => {
      const caller = limit(quota, { algorithm, windowSlackMs: 0 });
      const set = limits({ caller });
      const decide = () => store.decide(set, 'alice', '');
      for (let sent = 1; sent <= 2 * caller.units; sent++) {
        const { r, windowMs } = told(decide(), set);
        expect(windowMs).toBeGreaterThan(0);
        clock.advance(windowMs - 3);
        expect(admittedOf(Number(r) + 5, decide)).toBe(r);
        clock.advance(4);
        expect(decide().admitted).toBe(true);
        clock.advance(sent * 100);
      }
    },
  );

  test('a refusal tells the wait, as Retry-After does', () => {
    const set = limits({ caller: limit('5/10s', { algorithm }) });
    const decide = () => store.decide(set, 'alice', '');
    while (decide().admitted);
    const refused = decide();
    expect(told(refused, set)).toMatchObject({ name: 'b', r: 0, windowMs: refused.retryAfterMs });
  });
});

test('the window is measured from when the response goes out', () => {
  const set = limits({ caller: limit('5/10s') });
  expect(told(store.decide(set, 'alice', ''), set, 7_500)).toMatchObject({ r: 4, t: 3 });
});

test('each limit is told by its own name', () => {
  const resource = limits({ resource: limit('5/10s', { role: 'resource' }) });
  expect(told(store.decide(resource, 'alice', ''), resource)).toMatchObject({ name: 'b/resource', r: 4 });
  const global = limits({ global: limit('1/10s', { role: 'global', bucket: '' }) });
  store.decide(global, 'alice', '');
  expect(told(store.decide(global, 'alice', ''), global)).toMatchObject({ name: 'global', r: 0, t: 10 });
});

test('a bucket with a main parameter tells its parts apart', () => {
  const set = limits({ caller: limit('5/10s') });
  const decision = store.decide(set, 'alice', '');
  const partitionOf = (isPartitioned: boolean) =>
    policyReportOf(decision, set, policies(isPartitioned), HASH, 0)?.partition;
  expect([partitionOf(true), partitionOf(false)]).toEqual([HASH, null]);
});

test('nothing is told of a decision that no limit made', () => {
  const set = limits({});
  expect(policyReportOf(store.decide(set, 'alice', ''), set, policies(), null, 0)).toBeNull();
});

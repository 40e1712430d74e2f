import { expect, test } from 'vitest';
import type { DecidedBy, FailurePolicy } from '../../../../../src/core/index.ts';
import { Fallback } from '../../../../../src/limits/redis/store/fallback.ts';
import { FrozenClock } from '../../frozen-clock.ts';
import { limit, limits, newStore } from '../../stores.ts';

const caller = limit('2/5s');
const question = {
  ...{ limits: limits({ caller }), caller: 'user:a', callerKeys: '', main: '', group: '', cost: 1 },
  ...{ consuming: true, lease: null },
};

function fallback(policy: FailurePolicy) {
  const by: DecidedBy[] = [];
  const local = newStore(new FrozenClock(Date.parse('2026-12-01T00:00:00Z')));
  const listener = { decidedBy: (who: DecidedBy) => void by.push(who) };
  return { by, parts: new Fallback({ policy, local, replicas: () => 1, listener }) };
}

test.each([
  ['open', true, 0],
  ['closed', false, 1_000],
] as const)(
  'without Redis the policy "%s" decides the same of every request',
  (policy, admitted, retryAfterMs) => {
    const { by, parts } = fallback(policy);
    for (let asked = 0; asked < 5; asked++)
      expect(parts.decide(question)).toMatchObject({ admitted, retryAfterMs, drawn: [] });
    expect(by).toEqual(Array(5).fill(policy));
    expect(parts.allowances).toBeNull();
  },
);

test('without Redis the policy "local" counts here, and has no windows of Redis to return units to', () => {
  const { by, parts } = fallback('local');
  const admitted = Array.from({ length: 3 }, () => parts.decide(question).admitted);
  expect(admitted).toEqual([true, true, false]);
  expect(parts.refund(caller, '', 1, 1, 'user:a')).toBe(false);
  expect(parts.decide(question).admitted).toBe(false);
  expect(by).toEqual(Array(4).fill('local'));
});

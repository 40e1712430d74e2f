import { expect, test } from 'vitest';
import { DividedLimits } from '../../../../../src/limits/redis/store/fallback.ts';
import { limit, limits } from '../../stores.ts';

const set = limits({ global: limit('50/1s', { role: 'global' }), caller: limit('2/5s') });

test('each of three gateways enforces a third, rounded down, and never less than one', () => {
  const divided = new DividedLimits().of(set, 3);
  expect(divided.global).toMatchObject({ units: 16, periodMs: 1_000 });
  expect(divided.caller).toMatchObject({ units: 1, periodMs: 5_000 });
  expect(divided.resource).toBeNull();
});

test('divided limits keep their identity', () => {
  expect(new DividedLimits().of(set, 3).global?.identity).toBe(set.global?.identity);
});

test('one gateway alone enforces the whole', () => {
  expect(new DividedLimits().of(set, 1)).toBe(set);
});

test('a set is divided once per number of gateways', () => {
  const limitsOf = new DividedLimits();
  expect(limitsOf.of(set, 2)).toBe(limitsOf.of(set, 2));
  expect(limitsOf.of(set, 5).global?.units).toBe(10);
  expect(limitsOf.of(set, 2).global?.units).toBe(25);
});

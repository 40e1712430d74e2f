import { beforeEach, expect, test } from 'vitest';
import type { MemoryStore } from '../../../../src/limits/index.ts';
import { FrozenClock } from '../frozen-clock.ts';
import { admittedOf, copyOf, limit, limits, newStore } from '../stores.ts';

let clock: FrozenClock;
let store: MemoryStore;

beforeEach(() => {
  clock = new FrozenClock();
  store = newStore(clock);
});

const smooth = (quota: string) => limits({ caller: limit(quota, { algorithm: 'smooth' }) });
const tenInTen = smooth('10/10s');
const decide = (set = tenInTen) => store.decide(set, 'user:a', '');

test('a full burst is admitted, and Reset is the moment of full refill', () => {
  const responses = Array.from({ length: 10 }, () => copyOf(decide()));
  expect(responses.every(response => response.admitted)).toBe(true);
  expect(responses.map(response => response.remaining)).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
  expect(responses.map(response => response.resetAfterMs)).toEqual(responses.map((_, i) => (i + 1) * 1_000));
  expect(responses[9]?.resetAtMs).toBe(1_700_000_010_000);
});

test('then one request is admitted every period / units, and the announced wait lasts until the next', () => {
  admittedOf(10, decide);
  expect(decide()).toMatchObject({
    admitted: false,
    remaining: 0,
    retryAfterMs: 1_000,
    resetAfterMs: 10_000,
  });
  clock.advance(400);
  expect(decide()).toMatchObject({ admitted: false, retryAfterMs: 600, resetAfterMs: 9_600 });
  clock.advance(600);
  expect(decide()).toMatchObject({ admitted: true, remaining: 0, resetAfterMs: 10_000 });
  expect(decide()).toMatchObject({ admitted: false, retryAfterMs: 1_000 });
});

test('units come back one by one without requests', () => {
  admittedOf(10, decide);
  clock.advance(3_500);
  expect(store.peek(tenInTen, 'user:a', '')).toMatchObject({ remaining: 3, resetAfterMs: 6_500 });
  expect(admittedOf(20, decide)).toBe(3);
});

test('a request in the slack is admitted and draws a full step, so no one gains', () => {
  admittedOf(10, decide);
  let admitted = 0;
  for (let i = 0; i < 100; i++) {
    clock.advance(i === 0 ? 980 : 1_000);
    admitted += admittedOf(5, decide);
  }
  expect(admitted).toBe(100);
  clock.advance(979);
  expect(decide().admitted).toBe(false);
});

test.each(['50/1s', '100/1s', '1000/1s', '65535/1s', '7/1s', '3/1s', '13/7s', '65535/18h', '1/1s', '1/18h'])(
  'exactly %s is admitted in one burst, whatever the slack',
  quota => {
    const set = smooth(quota);
    const units = Number(quota.split('/')[0]);
    expect(admittedOf(units + 50, () => decide(set))).toBe(units);
  },
);

test.each(['1000000000/31d', '999999937/2678399s', '1000000000/1s'])(
  'a limit of %s counts to the unit, although its products need more than 53 bits',
  quota => {
    const caller = limit(quota, { algorithm: 'smooth', largestCost: 1_000_000_000 });
    const ask = (cost: number) => copyOf(store.decide(limits({ caller }), 'user:a', '', '', cost));
    const { units, periodMs } = caller;
    expect(ask(units - 3)).toMatchObject({ admitted: true, remaining: 3 });
    expect(ask(1)).toMatchObject({ admitted: true, remaining: 2 });
    expect(ask(3)).toMatchObject({ admitted: false });
    expect(ask(2)).toMatchObject({ admitted: true, remaining: 0, resetAfterMs: periodMs });
    clock.advance(periodMs / 2);
    const half = BigInt(units) * BigInt(periodMs / 2 - (periodMs % 2) / 2);
    expect(store.peek(limits({ caller }), 'user:a', '').remaining).toBe(Number(half / BigInt(periodMs)));
  },
);

test('a limit of 7 in 3 s admits exactly 7,007 in 3,000 s to a client that always asks', () => {
  const set = smooth('7/3s');
  let admitted = 0;
  for (let ms = 0; ms <= 3_000_000 - 100; ms += 100) {
    admitted += admittedOf(2, () => decide(set));
    clock.advance(100);
  }
  expect(admitted).toBe(7_006);
  clock.advance(100);
  expect(decide(set).admitted).toBe(true);
});

test.each(['50/1s', '500/1s', '1000/1s', '65535/1s', '3/1s'])(
  'of %s, waiting 2 ms less than announced is enough',
  quota => {
    const set = smooth(quota);
    for (let i = 0; i < 200; i++) {
      let refused = copyOf(decide(set));
      while (refused.admitted) refused = copyOf(decide(set));
      clock.advance(refused.retryAfterMs - 2);
      expect(decide(set).admitted).toBe(true);
      clock.advance(i % 7);
    }
  },
);

test('Reset never moves back, although the two clocks drift apart', () => {
  let last = 0;
  for (let i = 0; i < 1_000; i++) {
    clock.advance(0.37);
    if (i % 10 === 0) clock.stepWorld(i % 20 === 0 ? 0.9 : -0.9);
    const { resetAtMs } = decide();
    expect(resetAtMs).toBeGreaterThanOrEqual(last);
    last = resetAtMs;
  }
});

test('after the wall clock steps by more than a second, Reset follows it', () => {
  admittedOf(10, decide);
  clock.stepWorld(60_000);
  expect(decide().resetAtMs).toBe(1_700_000_070_000);
  clock.stepWorld(-120_000);
  expect(decide().resetAtMs).toBe(1_699_999_950_000);
});

test('a reload from many units to few keeps the fill level, without an odd fraction of a millisecond', () => {
  const many = smooth('64999/10s');
  admittedOf(32_500, () => decide(many));
  const few = smooth('2/10s');
  expect(store.peek(few, 'user:a', '').remaining).toBe(0);
  expect(decide(few)).toMatchObject({ admitted: true, remaining: 0 });
  expect(decide(few)).toMatchObject({ admitted: false, retryAfterMs: 5_001 });
});

test('a request that costs three units waits for three steps, to the fraction', () => {
  const set = limits({ caller: limit('7/1s', { algorithm: 'smooth', largestCost: 3 }) });
  const ask = (cost: number) => copyOf(store.decide(set, 'user:a', '', '', cost));
  expect(ask(3)).toMatchObject({ admitted: true, remaining: 4 });
  expect(ask(4)).toMatchObject({ admitted: true, remaining: 0, resetAfterMs: 1_000 });
  expect(ask(3)).toMatchObject({ admitted: false, remaining: 0, retryAfterMs: Math.ceil(3_000 / 7) });
  expect(ask(1)).toMatchObject({ admitted: false, remaining: 0, retryAfterMs: Math.ceil(1_000 / 7) });
  clock.advance(Math.ceil(3_000 / 7));
  expect(ask(3)).toMatchObject({ admitted: true });
});

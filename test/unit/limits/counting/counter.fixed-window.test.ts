import { beforeEach, describe, expect, test } from 'vitest';
import { type MemoryStore, NO_SHADOW } from '../../../../src/limits/index.ts';
import { FrozenClock } from '../frozen-clock.ts';
import { admittedOf, copyOf, limit, limits, newStore, windowIn } from '../stores.ts';

let clock: FrozenClock;
let store: MemoryStore;

beforeEach(() => {
  clock = new FrozenClock();
  store = newStore(clock);
});

const five = limits({ caller: limit('5/5s') });
const decide = (set = five) => store.decide(set, 'user:a', '');

test('the first request opens a window that closes one period later', () => {
  expect(decide()).toEqual({
    admitted: true,
    role: 'caller',
    by: five.caller,
    limit: 5,
    remaining: 4,
    resetAtMs: 1_700_000_005_000,
    resetAfterMs: 5_000,
    retryAfterMs: 0,
    atOnce: false,
    place: null,
    sharedKey: false,
    otherParts: false,
    drawn: [],
    windows: [],
    decidedAtMs: 1_700_000_000_000,
    shadow: NO_SHADOW,
  });
});

test('Remaining counts down to 0 on the last request admitted, and Reset stays the same to the millisecond', () => {
  const responses = [0, 1, 2, 3, 4].map(() => {
    clock.advance(0.9);
    return copyOf(decide());
  });
  expect(responses.map(response => response.remaining)).toEqual([4, 3, 2, 1, 0]);
  expect(new Set(responses.map(response => response.resetAtMs)).size).toBe(1);
});

test('past the quota a request is refused until the window closes', () => {
  admittedOf(5, decide);
  clock.advance(1_200);
  expect(decide()).toMatchObject({
    admitted: false,
    role: 'caller',
    remaining: 0,
    resetAtMs: 1_700_000_005_000,
    resetAfterMs: 3_800,
    retryAfterMs: 3_800,
  });
});

test('a refused request draws nothing: the next window is whole', () => {
  expect(admittedOf(50, decide)).toBe(5);
  clock.advance(5_000);
  expect(admittedOf(50, decide)).toBe(5);
});

test('of 120 requests at once, exactly the quota is admitted', () => {
  const fifty = limits({ global: limit('50/1s', { role: 'global' }) });
  expect(admittedOf(120, () => decide(fifty))).toBe(50);
});

test('after a long pause, the next request opens a new window', () => {
  decide();
  clock.advance(5_700);
  expect(decide()).toMatchObject({ remaining: 4, resetAtMs: 1_700_000_010_700, resetAfterMs: 5_000 });
});

test.each([
  ['20 ms before its Reset, a window of seconds lets the next one open', '5/5s', 4_980, true],
  ['21 ms before its Reset it does not', '5/5s', 4_979, false],
  ['2 % of the period is the most: 20 ms of a second', '5/1s', 980, true],
  ['2 % of the period is the most: not 21 ms of a second', '5/1s', 979, false],
])('%s', (_sentence, quota, afterMs, admitted) => {
  const set = limits({ caller: limit(quota) });
  admittedOf(5, () => decide(set));
  clock.advance(afterMs);
  expect(decide(set).admitted).toBe(admitted);
});

test.each([
  ['a slack of 100 ms is clamped to 20 ms of a second', '5/1s', 100, 979],
  ['a slack of 100 ms is what a window of 5 s allows at most', '5/5s', 100, 4_899],
  ['without slack a window closes at its Reset and not before', '5/5s', 0, 4_999],
])('%s', (_sentence, quota, windowSlackMs, lastRefusedMs) => {
  const set = limits({ caller: limit(quota, { windowSlackMs }) });
  admittedOf(5, () => decide(set));
  clock.advance(lastRefusedMs);
  expect(decide(set).admitted).toBe(false);
  clock.advance(1);
  expect(decide(set).admitted).toBe(true);
});

describe('in the slack', () => {
  const three = limits({ caller: limit('3/5s') });
  const decideThree = () => decide(three);
  const RESET = 1_700_000_005_000;

  test('a window that has room is drawn on first', () => {
    decideThree();
    clock.advance(4_985);
    expect(decideThree()).toMatchObject({ remaining: 1, resetAtMs: RESET, resetAfterMs: 15 });
    expect(decideThree()).toMatchObject({ remaining: 0, resetAtMs: RESET, resetAfterMs: 15 });
    clock.advance(15);
    expect(decideThree()).toMatchObject({ remaining: 2, resetAtMs: RESET + 5_000, resetAfterMs: 5_000 });
  });

  test('a used-up window is still announced while the next one is drawn on', () => {
    admittedOf(3, decideThree);
    clock.advance(4_985);
    const early = { admitted: true, remaining: 0, resetAtMs: RESET, resetAfterMs: 15 };
    expect(decideThree()).toMatchObject(early);
    expect(store.peek(three, 'user:a', '')).toMatchObject(early);
    clock.advance(14);
    expect(decideThree()).toMatchObject({ ...early, resetAfterMs: 1 });
    clock.advance(1);
    expect(store.peek(three, 'user:a', '')).toMatchObject({ remaining: 1, resetAtMs: RESET + 5_000 });
    expect(decideThree()).toMatchObject({ remaining: 0, resetAtMs: RESET + 5_000, resetAfterMs: 5_000 });
    expect(decideThree().admitted).toBe(false);
  });

  test('the next window is announced once it is used up too, since waiting for the ending one is not enough', () => {
    admittedOf(3, decideThree);
    clock.advance(4_985);
    expect(admittedOf(2, decideThree)).toBe(2);
    const next = { remaining: 0, resetAtMs: RESET + 5_000, resetAfterMs: 5_015 };
    expect(decideThree()).toMatchObject({ ...next, admitted: true, retryAfterMs: 0 });
    expect(decideThree()).toMatchObject({ ...next, admitted: false, retryAfterMs: 5_015 });
  });

  test.each([1, 2, 3, 20])(
    'a client with a limit of %i per second is never refused though it rounds its waits down',
    units => {
      const set = limits({ caller: limit(`${units}/1s`) });
      for (let i = 0; i < 200; i++) {
        const { admitted, remaining, resetAfterMs } = decide(set);
        expect(admitted).toBe(true);
        clock.advance(remaining > 0 ? 0.3 : Math.max(0, resetAfterMs - 1.7));
      }
    },
  );
});

test('a client that always comes early gains nothing over a hundred windows', () => {
  const second = limits({ caller: limit('5/1s') });
  let admitted = admittedOf(20, () => decide(second));
  const startMs = clock.monotonicMs();
  for (let i = 0; i < 100; i++) {
    const { resetAfterMs } = decide(second);
    clock.advance(Math.max(0, resetAfterMs - 20));
    admitted += admittedOf(20, () => decide(second));
  }
  expect(admitted).toBe(505);
  expect(clock.monotonicMs() - startMs).toBeCloseTo(100_000 - 20, 5);
});

test('a step of the wall clock neither admits nor refuses anyone', () => {
  admittedOf(5, decide);
  clock.stepWorld(3_600_000);
  expect(decide()).toMatchObject({ admitted: false, resetAfterMs: 5_000 });
  clock.stepWorld(-7_200_000);
  expect(decide()).toMatchObject({ admitted: false, resetAfterMs: 5_000 });
  clock.advance(5_000);
  expect(decide().admitted).toBe(true);
});

test('after a step of more than a second, Reset is corrected once', () => {
  const before = copyOf(decide());
  clock.stepWorld(-1_001);
  const after = copyOf(decide());
  expect(after.resetAtMs).toBe(before.resetAtMs - 1_001);
  clock.advance(0.5);
  expect(decide().resetAtMs).toBe(after.resetAtMs);
  clock.advance(0.5);
  expect(decide().resetAtMs).toBe(after.resetAtMs);
});

test('a refusal corrects it as well, and later responses announce the same', () => {
  admittedOf(5, decide);
  clock.stepWorld(90_000);
  const told = decide().resetAtMs;
  clock.advance(0.5);
  expect(told).toBe(1_700_000_095_000);
  expect(decide().resetAtMs).toBe(told);
});

test('a step of a second or less leaves the announced Reset as it is', () => {
  const before = copyOf(decide());
  clock.stepWorld(1_000);
  expect(decide().resetAtMs).toBe(before.resetAtMs);
});

test('the next window, opened early after a step, is announced by the corrected clock', () => {
  admittedOf(5, decide);
  clock.advance(4_990);
  clock.stepWorld(60_000);
  expect(decide().resetAtMs).toBe(1_700_000_065_000);
  clock.advance(10);
  expect(decide().resetAtMs).toBe(1_700_000_070_000);
});

describe('a request that costs several units', () => {
  const costly = limits({
    global: limit('50/1s', { role: 'global', bucket: '' }),
    caller: limit('5/5s', { largestCost: 3 }),
  });
  const ask = (cost: number) => copyOf(store.decide(costly, 'user:a', '', '', cost));

  test('takes all of them or none, and a refusal says Remaining 0', () => {
    expect(ask(3)).toMatchObject({ admitted: true, remaining: 2 });
    expect(ask(3)).toMatchObject({ admitted: false, remaining: 0, limit: 5, retryAfterMs: 5_000 });
    expect(ask(2)).toMatchObject({ admitted: true, remaining: 0 });
  });

  test('takes one of the global limit', () => {
    ask(3);
    const { global } = costly;
    expect(store.peek(limits({ global }), 'user:a', '')).toMatchObject({ admitted: true });
    for (let n = 0; n < 49; n++) store.decide(limits({ global }), 'user:a', '');
    expect(store.decide(limits({ global }), 'user:a', '')).toMatchObject({ admitted: false, role: 'global' });
  });

  test('draws on the next window within the slack, where the ending one has too little', () => {
    ask(3);
    clock.advance(4_985);
    expect(ask(3)).toMatchObject({ admitted: true });
    // The rest of the ending window is gone with it.
    clock.advance(15);
    expect(ask(2)).toMatchObject({ admitted: true, remaining: 0, resetAfterMs: 5_000 });
  });

  test.each(['window', 'smooth'] as const)('takes the whole quota of a %s where it costs more', algorithm => {
    const small = limits({ caller: limit('2/5s', { algorithm, largestCost: 3 }) });
    const decided = () => store.decide(small, 'user:a', '', '', 3);
    expect(decided()).toMatchObject({ admitted: true, remaining: 0, resetAfterMs: 5_000 });
    expect(decided()).toMatchObject({ admitted: false, retryAfterMs: 5_000 });
  });

  test('gives back what it took', () => {
    const shared = limit('5/5s', { role: 'resource', main: 'id', largestCost: 3 });
    const set = limits({ resource: shared });
    const resourceWindow = windowIn(store.decide(set, 'user:a', '7', '', 3), 'resource');
    store.refund(shared, '7', resourceWindow, 3);
    expect(store.peek(set, 'user:a', '7')).toMatchObject({ remaining: 5 });
  });
});

test.each(['window', 'smooth'] as const)(
  'a %s that was used up admits again what was given back',
  algorithm => {
    const shared = limit('7/10s', { role: 'resource', main: 'id', algorithm });
    const set = limits({ resource: shared });
    const ask = () => copyOf(store.decide(set, 'user:a', '7'));
    const windows = Array.from({ length: 7 }, () => windowIn(ask(), 'resource'));
    expect(ask().admitted).toBe(false);
    for (const window of windows) store.refund(shared, '7', window);
    expect(admittedOf(20, ask)).toBe(7);
    expect(ask().retryAfterMs).toBe(algorithm === 'smooth' ? 1_429 : 10_000);
  },
);

test('of 1,000,000,000 in 31 days every unit counts, and the wait is the whole one', () => {
  const set = limits({ caller: limit('1000000000/31d', { largestCost: 999_999_999 }) });
  expect(store.decide(set, 'user:a', '', '', 999_999_999)).toMatchObject({ admitted: true, remaining: 1 });
  expect(store.decide(set, 'user:a', '', '', 1)).toMatchObject({ admitted: true, remaining: 0 });
  clock.advance(1_000);
  expect(store.decide(set, 'user:a', '', '', 1)).toMatchObject({
    admitted: false,
    limit: 1_000_000_000,
    retryAfterMs: 31 * 86_400_000 - 1_000,
  });
});

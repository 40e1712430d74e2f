import { beforeEach, describe, expect, test } from 'vitest';
import { returnableUnitsOf } from '../../../../src/config/index.ts';
import {
  type Decision,
  type Limit,
  type LimitOptions,
  type MemoryStore,
  parseQuota,
} from '../../../../src/limits/index.ts';
import { FrozenClock } from '../frozen-clock.ts';
import { copyOf, limit, limits, newStore } from '../stores.ts';

let clock: FrozenClock;
let store: MemoryStore;

beforeEach(() => {
  clock = new FrozenClock();
  store = newStore(clock);
});

/** A limit on costs that responses tell. */
function priced(quota: string, options: Partial<LimitOptions> = {}): Limit {
  const { more = [], ...first } = options.quota ?? {};
  const written = { ...parseQuota(quota), ...first, unit: 'cost' as const, more };
  return limit(quota, { hasCostQuota: true, isPriced: true, ...options, quota: written });
}

function decide(caller: Limit, cost: number, main = ''): Decision {
  return copyOf(store.decide(limits({ caller }), 'user:a', main, '', cost));
}

/** Makes the request cost that much in the end. */
function settle(caller: Limit, decision: Decision, cost: number, price: number, main = ''): void {
  const asked = { set: limits({ caller }), bucket: null, callerClass: 'user', caller: 'user:a' } as const;
  const request = { ...asked, main, group: '', cost, price: null, consumes: 'all' } as const;
  for (const each of returnableUnitsOf(request, decision))
    store.refund(each.limit, each.part, each.window, each.cost - price, each.caller);
}

const left = (caller: Limit, main = '') => store.peek(limits({ caller }), 'user:a', main, '', 1).remaining;

test('what a request costs more than was known is drawn, what it costs less goes back', () => {
  const caller = priced('100/1m');
  const [first, second] = [decide(caller, 10), decide(caller, 10)];
  settle(caller, first, 10, 35);
  expect(left(caller)).toBe(55);
  settle(caller, second, 10, 0);
  expect(left(caller)).toBe(65);
});

test('a gateway whose share is less than the reserve gives back no more than it drew', () => {
  const caller = priced('10/1m');
  settle(caller, decide(caller, 100), 100, 4);
  expect(left(caller)).toBe(6);
});

describe('a price above what is left', () => {
  test('is drawn all the same: nothing is left until the Reset, and nothing is owed after it', () => {
    const caller = priced('100/1m');
    settle(caller, decide(caller, 10), 10, 500);
    expect(decide(caller, 1)).toMatchObject({ admitted: false, remaining: 0, retryAfterMs: 60_000 });
    clock.advance(60_000);
    expect(decide(caller, 10)).toMatchObject({ admitted: true, remaining: 90 });
  });

  test('stays owed while another request gets back what it did not cost', () => {
    const caller = priced('100/1m');
    const [first, second] = [decide(caller, 10), decide(caller, 50)];
    settle(caller, first, 10, 200);
    settle(caller, second, 50, 0);
    expect(decide(caller, 1).admitted).toBe(false);
  });

  test('never overflows the counter', () => {
    const caller = priced('1000000000/1m');
    for (let n = 0; n < 3; n++) settle(caller, decide(caller, 1), 1, 1_000_000_000);
    expect(decide(caller, 1)).toMatchObject({ admitted: false });
    const other = priced('1000000000/1m', { bucket: 'c' });
    const drawn = decide(other, 1);
    settle(other, drawn, 1, 1_000_000_000);
    settle(other, drawn, 1_000_000_000, 0);
    expect(left(other)).toBe(1_000_000_000);
  });
});

test('a count beyond what can be kept stays until the Reset: nobody knows what going back would leave', () => {
  const caller = priced('1000000000/1m');
  const drawn = Array.from({ length: 10 }, () => decide(caller, 100_000_000));
  for (const [at, each] of drawn.entries()) settle(caller, each, 100_000_000, at === 0 ? 1_000_000_000 : 0);
  expect(decide(caller, 1)).toMatchObject({ admitted: false, remaining: 0 });
  clock.advance(60_000);
  expect(left(caller)).toBe(1_000_000_000);
});

test('a price that is known once the window is over is drawn from no other', () => {
  const caller = priced('100/1m');
  const first = decide(caller, 10);
  clock.advance(60_000);
  decide(caller, 10);
  settle(caller, first, 10, 80);
  expect(left(caller)).toBe(90);
});

test('a price is drawn although all that was drawn before went back', () => {
  const caller = priced('100/1m');
  const first = decide(caller, 10);
  settle(caller, first, 10, 0);
  settle(caller, first, 0, 30);
  expect(left(caller)).toBe(70);
});

test('further main values of a caller pay as well', () => {
  store = newStore(clock, { keysPerCaller: 1 });
  const caller = priced('100/1m', { main: 'id' });
  decide(caller, 10, 'one');
  const second = decide(caller, 10, 'two');
  settle(caller, second, 10, 60, 'two');
  expect(left(caller, 'three')).toBe(40);
  settle(caller, second, 60, 0, 'two');
  expect(left(caller, 'three')).toBe(100);
});

test('an admission tells every window of which a price may make another the one to describe', () => {
  const caller = limit('1/1s', {
    hasCostQuota: true,
    isPriced: true,
    quota: { ...parseQuota('5/1m'), more: [{ ...parseQuota('100/1h'), unit: 'cost' }] },
  });
  expect(decide(caller, 10)).toMatchObject({
    limit: 5,
    windows: [
      { remaining: 4, resetInMs: 60_000 },
      { remaining: 90, resetInMs: 3_600_000 },
    ],
  });
  expect(decide(limit('5/1m'), 10).windows).toEqual([]);
});

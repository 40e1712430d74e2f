import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { SharedMemory } from '../../../../src/core/index.ts';
import {
  defineConcurrency,
  type MemoryStore,
  SharedInFlight,
  SharedPermits,
} from '../../../../src/limits/index.ts';
import { FrozenClock } from '../frozen-clock.ts';
import { copyOf, limit, limits, newStore } from '../stores.ts';

const two = defineConcurrency('b', 'id', 2);
const quota = limit('5/5s', { main: 'id' });

let clock: FrozenClock;
let store: MemoryStore;

beforeEach(() => {
  clock = new FrozenClock();
  store = newStore(clock);
});

const ask = (set = limits({ caller: quota, concurrent: two }), caller = 'user:a', main = '7') =>
  copyOf(store.decide(set, caller, main));

describe('requests in flight of one caller', () => {
  test('are so many at once, for each main value, and one that ends makes room', () => {
    const first = ask();
    expect([first.admitted, ask().admitted, ask().admitted]).toEqual([true, true, false]);
    expect(ask(undefined, 'user:b').admitted).toBe(true);
    expect(ask(undefined, 'user:a', '8').admitted).toBe(true);
    first.place?.leave();
    expect(ask().admitted).toBe(true);
  });

  test('end once, however often they say so', () => {
    const first = ask();
    ask();
    for (let n = 0; n < 3; n++) first.place?.leave();
    expect([ask().admitted, ask().admitted]).toEqual([true, false]);
  });

  test('beyond the maximum draw on nothing, are told what is left, and wait a second', () => {
    ask();
    ask();
    const refused = ask();
    expect(refused).toMatchObject({ admitted: false, atOnce: true, role: 'caller', limit: 5, remaining: 3 });
    expect(refused).toMatchObject({
      retryAfterMs: 1_000,
      resetAfterMs: 5_000,
      place: null,
      sharedKey: false,
    });
    expect(store.peek(limits({ caller: quota }), 'user:a', '7').remaining).toBe(3);
  });

  test('are told nothing of a bucket without a quota', () => {
    const alone = limits({ concurrent: two });
    expect([ask(alone).admitted, ask(alone).admitted]).toEqual([true, true]);
    expect(ask(alone)).toMatchObject({ admitted: false, atOnce: true, role: null, retryAfterMs: 1_000 });
  });

  test('say Remaining 0 where requests of the bucket cost more', () => {
    const costly = limits({ caller: limit('5/5s', { main: 'id', largestCost: 2 }), concurrent: two });
    ask(costly);
    ask(costly);
    expect(ask(costly)).toMatchObject({ admitted: false, atOnce: true, remaining: 0 });
  });

  test('take no place where a quota refuses, whose wait is told', () => {
    const once = limits({ caller: limit('1/5s', { main: 'id' }), concurrent: two });
    ask(once);
    expect(ask(once)).toMatchObject({ admitted: false, atOnce: false, role: 'caller', retryAfterMs: 5_000 });
    expect([...store.inFlight.counts]).toEqual([{ bucket: 'b', caller: 'user:a', main: '7', count: 1 }]);
  });

  test('are looked at without a place', () => {
    const set = limits({ caller: quota, concurrent: two });
    expect(store.peek(set, 'user:a', '7')).toMatchObject({ admitted: true, place: null });
    ask();
    ask();
    expect(store.peek(set, 'user:a', '7')).toMatchObject({ admitted: false, atOnce: true });
  });

  test('are shown for one caller, and for all that have some', async () => {
    const first = ask();
    for (const [caller, main] of [
      ['user:a', '7'],
      ['user:a', '8'],
      ['user:b', '7'],
    ] as const)
      ask(undefined, caller, main);
    const shown = async (caller: string, main: string) =>
      (await store.allowances.read([], caller, main, [two])).inFlight;
    expect([await shown('user:a', '7'), await shown('user:b', '7'), await shown('user:c', '7')]).toEqual([
      [2],
      [1],
      [0],
    ]);
    first.place?.leave();
    expect(Array.from(store.inFlight.counts, ({ caller, main, count }) => [caller, main, count])).toEqual([
      ['user:a', '7', 1],
      ['user:a', '8', 1],
      ['user:b', '7', 1],
    ]);
  });

  test('refuse nobody in shadow, and count only those that would be in flight', () => {
    const set = limits({ shadow: limits({ concurrent: two }) });
    const first = ask(set);
    expect([first, ask(set)].map(({ shadow }) => shadow.refused)).toEqual([[], []]);
    expect(ask(set)).toMatchObject({ admitted: true, place: null, shadow: { refused: ['concurrent'] } });
    first.place?.leave();
    expect(ask(set).shadow.refused).toEqual([]);
  });
});

test('threads are at the maximum together, and each lists its own, until one of them dies', async () => {
  const main = SharedMemory.create(2, randomBytes);
  const ofMain = new SharedPermits(main, 100);
  const inFlightOf = (worker: number) => {
    const memory = new SharedMemory(structuredClone(main.handover), worker);
    return new SharedInFlight(new SharedPermits(memory, 100).named);
  };
  const stores = [1, 2].map(worker => newStore(clock, { inFlight: inFlightOf(worker) }));
  const set = limits({ concurrent: two });
  const take = (thread: number) => stores[thread]?.decide(set, 'user:a', '7').place ?? null;
  const places = [take(0), take(1)];
  expect([take(0), take(1)]).toEqual([null, null]);
  expect(stores.map(({ inFlight }) => Array.from(inFlight.counts, ({ count }) => count))).toEqual([[1], [1]]);
  expect(await stores[1]?.allowances.read([], 'user:a', '7', [two])).toMatchObject({ inFlight: [2] });
  for (let again = 0; again < 2; again++) places[1]?.leave();
  expect([take(1) === null, take(1)]).toEqual([false, null]);
  await ofMain.giveBackAll(1);
  expect([take(1) === null, take(1)]).toEqual([false, null]);
});

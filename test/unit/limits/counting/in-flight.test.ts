import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { SharedMemory } from '../../../../src/core/index.ts';
import {
  bucketsInFlight,
  callersInFlight,
  defineConcurrency,
  InFlight,
  type MemoryStore,
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

  test('are told the wait of the quota where both refuse', () => {
    const twice = limits({ caller: limit('2/5s', { main: 'id' }), concurrent: two });
    ask(twice);
    ask(twice);
    expect(ask(twice)).toMatchObject({ admitted: false, atOnce: false, retryAfterMs: 5_000 });
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

  test('in shadow have no counters, so that such a decision cleans up no more than any', () => {
    const left = [limits({}), limits({ shadow: limits({ concurrent: two }) })].map(set => {
      store = newStore(clock);
      for (let i = 0; i < 20; i++) ask(limits({ caller: quota }), `user:${i}`);
      clock.advance(60_000);
      ask(set);
      return store.counts.keys;
    });
    expect(left).toEqual([16, 16]);
  });
});

test('threads are at the maximum together, and each lists its own, until one of them dies', async () => {
  const main = SharedMemory.create(2, randomBytes);
  const ofMain = new SharedPermits(main, 100);
  const inFlightOf = (worker: number) => {
    const memory = new SharedMemory(structuredClone(main.handover), worker);
    return new InFlight(new SharedPermits(memory, 100).named);
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

describe.each<[string, () => InFlight]>([
  ['a process', () => new InFlight()],
  ['threads', () => new InFlight(new SharedPermits(SharedMemory.create(1, randomBytes), 100).named)],
])('the requests in flight of %s', (_of, newInFlight) => {
  let inFlight: InFlight;
  beforeEach(() => {
    inFlight = newInFlight();
  });

  test('are apart for each limit, caller and value, and are counted even above the limit', () => {
    const other = defineConcurrency('other', 'id', 2);
    const places = [two, two, two, other].map(of => inFlight.enter(of, 'user:a', '7'));
    for (const [caller, main] of [
      ['user:a', ''],
      ['user:b', '7'],
    ] as const)
      inFlight.enter(two, caller, main);
    const countsOf = (of: typeof two) =>
      ['7', '', '8'].flatMap(main => ['user:a', 'user:b'].map(caller => inFlight.count(of, caller, main)));
    expect([countsOf(two), countsOf(other)]).toEqual([
      [3, 1, 1, 0, 0, 0],
      [1, 0, 0, 0, 0, 0],
    ]);
    expect([inFlight.isFull(two, 'user:a', '7'), inFlight.isFull(other, 'user:a', '7')]).toEqual([
      true,
      false,
    ]);
    for (let again = 0; again < 2; again++) places[0]?.leave();
    expect([inFlight.count(two, 'user:a', '7'), inFlight.isFull(two, 'user:a', '7')]).toEqual([2, true]);
    for (const place of places) place.leave();
    expect([...inFlight.counts]).toEqual([
      { bucket: 'b', caller: 'user:a', main: '', count: 1 },
      { bucket: 'b', caller: 'user:b', main: '7', count: 1 },
    ]);
  });

  test('are added up for each caller, and for each bucket that bounds them', () => {
    const of = (bucket: string) => defineConcurrency(bucket, 'id', 2);
    for (const [bucket, caller, main] of [
      ['b', 'user:a', '7'],
      ['b', 'user:a', '7'],
      ['b', 'user:a', '8'],
      ['b', 'user:b', '7'],
      ['other', 'user:a', '7'],
      ['former', 'user:a', '7'],
    ] as const)
      inFlight.enter(of(bucket), caller, main);
    expect(callersInFlight(inFlight)).toEqual([
      { bucket: 'b', caller: 'user:a', inFlight: 3 },
      { bucket: 'b', caller: 'user:b', inFlight: 1 },
      { bucket: 'other', caller: 'user:a', inFlight: 1 },
      { bucket: 'former', caller: 'user:a', inFlight: 1 },
    ]);
    const buckets = [
      { name: 'b', concurrent: 2 },
      { name: 'other', concurrent: null },
      { name: 'idle', concurrent: 5 },
    ];
    expect(bucketsInFlight(buckets, inFlight)).toEqual([
      { bucket: 'b', perCaller: 2, inFlight: 4, callers: 2 },
      { bucket: 'idle', perCaller: 5, inFlight: 0, callers: 0 },
    ]);
  });
});

test('a limit on requests in flight announces its wait, and is told from quotas and from other buckets and parameters', () => {
  expect(two).toMatchObject({ role: 'caller', bucket: 'b', units: 2, periodMs: 1_000, algorithm: 'window' });
  const all = [
    two,
    defineConcurrency('b', null, 2),
    defineConcurrency('other', 'id', 2),
    limit('2/1s', { main: 'id' }),
  ];
  expect(new Set(all.map(({ identity }) => identity)).size).toBe(4);
  expect(defineConcurrency('b', 'id', 9).identity).toBe(two.identity);
});

test('a thread lists what others told it beside its own', () => {
  const { named } = new SharedPermits(SharedMemory.create(1, randomBytes), 100);
  const told = { bucket: 'b', caller: 'user:z', main: '1', count: 4 };
  const inFlight = new InFlight(named, () => [told]);
  inFlight.enter(two, 'user:a', '7');
  expect([...inFlight.counts]).toEqual([{ bucket: 'b', caller: 'user:a', main: '7', count: 1 }, told]);
  expect(inFlight.count(two, 'user:z', '1')).toBe(0);
});

test('a thread goes on counting those that the table of all threads has no room for', () => {
  const inFlight = new InFlight(new SharedPermits(SharedMemory.create(1, randomBytes), 1).named);
  const places = [1, 2].map(() => inFlight.enter(two, 'user:a', '7'));
  expect([inFlight.count(two, 'user:a', '7'), inFlight.isFull(two, 'user:a', '7')]).toEqual([2, true]);
  places[0]?.leave();
  expect([inFlight.count(two, 'user:a', '7'), inFlight.isFull(two, 'user:a', '7')]).toEqual([1, false]);
});

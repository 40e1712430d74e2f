import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { ownMemory } from '../../../../src/core/index.ts';
import type { Decision, Limit, LimitSet, MemoryStore } from '../../../../src/limits/index.ts';
import { threadsOf } from '../../../support/shared-memory.ts';
import { FrozenClock } from '../frozen-clock.ts';
import { admittedOf, copyOf, limit, limits, newStore } from '../stores.ts';

const HASH_ROOT = randomBytes(32);
const memoryOf = () => ownMemory(randomBytes, HASH_ROOT);
/** The shortest window that is kept here. */
const MIN_MS = 60_000;

const KINDS: readonly LimitSet[] = [
  limits({ global: limit('9/60s', { role: 'global', bucket: '' }), caller: limit('4/60s', { main: 'id' }) }),
  limits({ caller: limit('5/120s', { bucket: 'smooth', algorithm: 'smooth' }) }),
  limits({ resource: limit('3/60s', { role: 'resource', bucket: 'shared', main: 'id' }) }),
  limits({
    caller: limit('7/90s', { bucket: 'both', main: 'id' }),
    group: limit('9/1h', { role: 'group', bucket: 'both', claim: 'org', algorithm: 'smooth' }),
  }),
];
const allOf = (sets: readonly LimitSet[]) =>
  sets.flatMap(({ global, caller, group, resource }) =>
    [global, caller, group, resource].filter(each => each !== null),
  );

interface Kept {
  readonly identities: readonly string[];
  readonly rows: Buffer;
}

async function keep({ kept }: MemoryStore, leastMs = MIN_MS): Promise<Kept> {
  const limits = kept.limits(leastMs);
  const pieces: Buffer[] = [];
  for await (const piece of kept.rows(limits)) pieces.push(piece);
  return { identities: limits.map(({ identity }) => identity), rows: Buffer.concat(pieces) };
}

/** Another process after a stop of so long: its monotonic clock begins elsewhere. */
function clockAfter(clock: FrozenClock, stoppedMs = 0): FrozenClock {
  const next = new FrozenClock();
  next.stepWorld(clock.epochMs() + stoppedMs - next.epochMs());
  return next;
}

async function restart(
  clock: FrozenClock,
  { identities, rows }: Kept,
  inForce: readonly Limit[],
  options: Parameters<typeof newStore>[1] = {},
) {
  const store = newStore(clock, { memory: memoryOf(), ...options });
  store.share(inForce);
  return { store, taken: await store.kept.restore(identities, rows, MIN_MS) };
}

const seenOf = ({ admitted, limit, remaining, resetAtMs, resetAfterMs, retryAfterMs, role }: Decision) => ({
  ...{ admitted, limit, remaining, resetAtMs, resetAfterMs, retryAfterMs, role },
});

/** A request of a few callers, parts and groups, as the next of these numbers say. */
function ask(store: MemoryStore, number: number): Decision {
  const set = KINDS[number % KINDS.length] ?? limits({});
  return store.decide(set, `caller ${number % 5}`, `part ${number % 3}`, `group ${number % 2}`);
}

describe('counters of another process', () => {
  test('decide as if there had been no restart, whatever the limits are', async () => {
    const clock = new FrozenClock();
    const before = newStore(clock, { memory: memoryOf() });
    before.share(allOf(KINDS));
    for (let i = 0; i < 150; i++) {
      ask(before, (i * 7919) % 211);
      clock.advance(97);
    }
    const nextClock = clockAfter(clock);
    const { store, taken } = await restart(nextClock, await keep(before), allOf(KINDS));
    expect(taken).toBe(before.counts.keys);
    expect(store.counts).toMatchObject({ keys: before.counts.keys, callers: before.counts.callers });
    let refused = 0;
    for (let i = 0; i < 1_500; i++) {
      const number = (i * 104_729) % 223;
      const expected = copyOf(ask(before, number));
      expect(seenOf(ask(store, number))).toEqual(seenOf(expected));
      if (!expected.admitted) refused++;
      for (const each of [clock, nextClock]) each.advance(131);
    }
    expect(refused).toBeGreaterThan(100);
  });

  test('are those of windows that are long enough and still open', async () => {
    const clock = new FrozenClock();
    const before = newStore(clock, { memory: memoryOf() });
    const [long, short] = [limit('1/1h'), limit('1/59s', { bucket: 'short' })];
    const ending = limit('1/60s', { bucket: 'ending' });
    before.share([long, short, ending]);
    for (const caller of [long, short, ending]) before.decide(limits({ caller }), 'a', '');
    const { store, taken } = await restart(clockAfter(clock, 60_000), await keep(before), [
      ...[long, short, ending],
    ]);
    expect(taken).toBe(1);
    expect(store.counts).toMatchObject({ keys: 1, callers: 1 });
    expect(store.peek(limits({ caller: long }), 'a', '')).toMatchObject({
      admitted: false,
      retryAfterMs: 3_600_000 - 60_000,
    });
  });

  test('of short windows stay behind while those are open, whether they were never written or are no longer read', async () => {
    const clock = new FrozenClock();
    const before = newStore(clock, { memory: memoryOf() });
    const [long, short] = [limit('1/60s'), limit('1/59s', { bucket: 'short' })];
    before.share([long, short]);
    for (const caller of [long, short]) before.decide(limits({ caller }), 'a', '');
    const kept = await keep(before);
    expect(kept.identities).toEqual([long.identity]);
    expect(kept.rows.length).toBe(48);
    const both = await keep(before, 59_000);
    const { store, taken } = await restart(clockAfter(clock), both, [long, short]);
    expect([both.rows.length, taken]).toEqual([2 * 48, 1]);
    expect(store.peek(limits({ caller: short }), 'a', '').admitted).toBe(true);
  });

  test('wait to the millisecond for the end of their window', async () => {
    const clock = new FrozenClock();
    const [fresh, inSlack] = [limit('1/60s'), limit('1/60s', { bucket: 'in slack' })];
    const before = newStore(clock, { memory: memoryOf() });
    before.share([fresh, inSlack]);
    before.decide(limits({ caller: inSlack }), 'a', '');
    clock.advance(60_000 - inSlack.slackMs);
    // This one opens the window after the one that is ending.
    for (const caller of [fresh, inSlack]) before.decide(limits({ caller }), 'a', '');
    const told = [fresh, inSlack].map(caller => copyOf(before.peek(limits({ caller }), 'a', '')));
    expect(told.map(({ retryAfterMs }) => retryAfterMs)).toEqual([60_000, 60_000 + inSlack.slackMs]);
    const { store } = await restart(clockAfter(clock), await keep(before), [fresh, inSlack]);
    for (const [i, caller] of [fresh, inSlack].entries())
      expect(seenOf(store.peek(limits({ caller }), 'a', ''))).toEqual(told.map(seenOf)[i]);
  });

  test('announce the Reset that they announced, though the clocks have rounded differently', async () => {
    const clock = new FrozenClock();
    const caller = limit('1/60s');
    const before = newStore(clock, { memory: memoryOf() });
    before.share([caller]);
    before.decide(limits({ caller }), 'first', '');
    // The wall clock is in its next millisecond, the monotonic one is not.
    clock.advance(0.4);
    const { resetAtMs } = copyOf(before.decide(limits({ caller }), 'a', ''));
    const { store } = await restart(clockAfter(clock), await keep(before), [caller]);
    expect(store.peek(limits({ caller }), 'a', '').resetAtMs).toBe(resetAtMs);
  });

  test('that are over are not written: they do not come back where the wall clock was set back', async () => {
    const clock = new FrozenClock();
    const caller = limit('1/60s');
    const options = { maxKeys: 4 };
    const before = newStore(clock, { memory: memoryOf(), ...options });
    before.share([caller]);
    for (let i = 0; i < 8; i++) before.decide(limits({ caller }), `caller ${i}`, '');
    expect(before.counts).toMatchObject({ keys: 4, sharedOverflows: 4 });
    clock.advance(60_000);
    expect((await keep(before)).rows.length).toBe(0);
  });

  test('give way to others as before, those with units left alone, and nobody has those that nobody opened', async () => {
    const clock = new FrozenClock();
    const own = limits({ caller: limit('2/60s') });
    const shared = limits({ group: limit('9/60s', { role: 'group', claim: 'org' }) });
    const options = { maxKeys: 4 };
    const before = newStore(clock, { memory: memoryOf(), ...options });
    before.share(allOf([own, shared]));
    before.decide(shared, 'a', '', 'acme');
    for (const caller of ['spent', 'spent', 'has one left']) before.decide(own, caller, '');
    const { store } = await restart(clockAfter(clock), await keep(before), allOf([own, shared]), options);
    expect(store.counts).toMatchObject({ keys: 3, callers: 2 });
    for (const caller of ['new', 'newer']) expect(store.decide(own, caller, '').sharedKey).toBe(false);
    expect(store.counts).toMatchObject({ keys: 4, evictions: 1 });
    expect(store.peek(own, 'spent', '').admitted).toBe(false);
    expect(store.peek(own, 'has one left', '').remaining).toBe(2);
  });

  test('follow a limit as over a reload: with other numbers they stay, with another window they go', async () => {
    const clock = new FrozenClock();
    const before = newStore(clock, { memory: memoryOf() });
    const [first, other] = [limit('5/60s'), limit('5/60s', { bucket: 'other' })];
    before.share([first, other]);
    for (const caller of [first, other])
      for (let i = 0; i < 3; i++) before.decide(limits({ caller }), 'a', '');
    const [more, longer] = [limit('7/60s'), limit('5/61s', { bucket: 'other' })];
    const { store } = await restart(clockAfter(clock), await keep(before), [more, longer]);
    expect(admittedOf(9, () => store.decide(limits({ caller: more }), 'a', ''))).toBe(4);
    expect(admittedOf(9, () => store.decide(limits({ caller: longer }), 'a', ''))).toBe(5);
  });

  test('keep what the callers beyond the room have used up together', async () => {
    const clock = new FrozenClock();
    const caller = limit('1/60s');
    const options = { maxKeys: 4 };
    const before = newStore(clock, { memory: memoryOf(), ...options });
    before.share([caller]);
    const askAll = (store: MemoryStore) => {
      for (let i = 0; i < 8; i++) store.decide(limits({ caller }), `caller ${i}`, '');
    };
    askAll(before);
    expect(before.counts.sharedOverflows).toBeGreaterThan(0);
    const { store } = await restart(clockAfter(clock), await keep(before), [caller], options);
    expect(store.decide(limits({ caller }), 'a newcomer', '')).toMatchObject({
      admitted: false,
      sharedKey: true,
    });
  });

  test('last no longer than their window where the wall clock was set back', async () => {
    const clock = new FrozenClock();
    const [fixed, smooth] = [limit('1/60s'), limit('1/60s', { bucket: 'smooth', algorithm: 'smooth' })];
    const before = newStore(clock, { memory: memoryOf() });
    before.share([fixed, smooth]);
    for (const caller of [fixed, smooth]) before.decide(limits({ caller }), 'a', '');
    const { store } = await restart(clockAfter(clock, -86_400_000), await keep(before), [fixed, smooth]);
    for (const caller of [fixed, smooth])
      expect(store.peek(limits({ caller }), 'a', '').retryAfterMs).toBeLessThanOrEqual(
        60_000 + caller.slackMs,
      );
  });

  test('pass from threads that share them to others, by the main thread', async () => {
    const clock = new FrozenClock();
    const caller = limit('3/60s');
    const storesOf = () => threadsOf(2, HASH_ROOT).map(memory => newStore(clock, { memory }));
    const [main, worker] = storesOf();
    const [nextMain, nextWorker] = storesOf();
    if (!main || !worker || !nextMain || !nextWorker) throw new Error('there are two threads');
    main.share([caller]);
    await main.kept.countChanges();
    worker.decide(limits({ caller }), 'a', '');
    const before = main.kept.changes;
    worker.decide(limits({ caller }), 'a', '');
    expect(main.kept.changes).not.toBe(before);
    const { identities, rows } = await keep(main);
    nextMain.share([caller]);
    expect(await nextMain.kept.restore(identities, rows, MIN_MS)).toBe(1);
    expect(admittedOf(5, () => nextWorker.decide(limits({ caller }), 'a', ''))).toBe(1);
  });

  test('pass to threads that share them, however many there are', async () => {
    const clock = new FrozenClock();
    const caller = limit('3/60s');
    const before = newStore(clock, { memory: memoryOf() });
    before.share([caller]);
    for (let i = 0; i < 900; i++) before.decide(limits({ caller }), `caller ${i}`, '');
    const { identities, rows } = await keep(before);
    const [memory] = threadsOf(2, HASH_ROOT);
    const store = newStore(clock, { ...(memory && { memory }) });
    store.share([caller]);
    expect(await store.kept.restore(identities, rows, MIN_MS)).toBe(before.counts.keys);
    expect(before.counts.keys).toBeGreaterThan(700);
  });
});

test('no turn of the event loop handles more than 500 of 100,000 counters', async () => {
  const clock = new FrozenClock();
  const caller = limit('2/1h', { main: 'id' });
  const before = newStore(clock, { memory: memoryOf(), maxKeys: 100_000, keysPerCaller: 1_000 });
  before.share([caller]);
  for (let i = 0; i < 100_000; i++) before.decide(limits({ caller }), `caller ${i >> 9}`, `part ${i}`);
  const [held] = [before.counts.keys];
  expect(held).toBeGreaterThan(70_000);
  let most = 0;
  const pieces: Buffer[] = [];
  for await (const piece of before.kept.rows(before.kept.limits(MIN_MS))) {
    most = Math.max(most, piece.length / 48);
    pieces.push(piece);
  }
  expect(most).toBeLessThanOrEqual(500);
  expect(pieces.reduce((sum, { length }) => sum + length, 0)).toBe(held * 48);
});

test('what stands in for others goes on, too: for a network, for addresses, and for callers with tokens', async () => {
  const ownersOf = (caller: string) =>
    caller.startsWith('user') ? [] : [{ key: caller.split('.')[0] ?? '', shares: 4 }];
  const caller = limit('1/1h');
  const set = limits({ caller });
  const options = { memory: memoryOf(), maxKeys: 160, ownersOf };
  const clock = new FrozenClock();
  const before = newStore(clock, options);
  before.share([caller]);
  // Its share of forty and of a hundred and twenty, and the one that stands in.
  for (let i = 0; i < 40; i++) before.decide(set, `1.${i}`, '');
  for (let i = 0; i < 300; i++) before.decide(set, `user ${i}`, '');
  for (let network = 2; network < 9; network++) before.decide(set, `${network}.1`, '');
  const sender = ['1.99', '1.5', 'user late', 'user 5', '4.1', '4.2', '8.7'];
  const ask = (store: MemoryStore) => sender.map(each => store.decide(set, each, '').admitted);
  expect(ask(before)).toEqual(sender.map(() => false));
  const { store, taken } = await restart(clockAfter(clock), await keep(before), [caller], {
    ...options,
    memory: memoryOf(),
  });
  expect(taken).toBe(before.counts.keys + 2);
  expect(store.counts.keys).toBe(before.counts.keys);
  expect(ask(store)).toEqual(sender.map(() => false));
});

test('a day is kept to its midnight, also where the clock was set back meanwhile', async () => {
  const clock = new FrozenClock(Date.parse('2026-11-29T22:00:00Z'));
  const set = limits({ caller: limit('2/day') });
  const store = newStore(clock, { memory: memoryOf() });
  store.share(allOf([set]));
  admittedOf(2, () => store.decide(set, 'user:a', ''));
  const kept = await keep(store);
  const later = await restart(clockAfter(clock, 3_600_000), kept, allOf([set]));
  expect(later.store.decide(set, 'user:a', '')).toMatchObject({
    admitted: false,
    resetAtMs: Date.parse('2026-11-30T00:00:00Z'),
  });
  const next = await restart(clockAfter(clock, 2 * 3_600_000), kept, allOf([set]));
  expect(next).toMatchObject({ taken: 0 });
  expect(next.store.decide(set, 'user:a', '')).toMatchObject({ admitted: true, remaining: 1 });
  const monthBack = await restart(clockAfter(clock, -31 * 86_400_000), kept, allOf([set]));
  expect(monthBack.store.decide(set, 'user:a', '')).toMatchObject({
    admitted: false,
    resetAtMs: Date.parse('2026-10-30T00:00:00Z'),
  });
});

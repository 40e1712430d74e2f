import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Consumption } from '../../../src/config/index.ts';
import { ownPermits, type Permits, ProcessPermits, systemClock } from '../../../src/core/index.ts';
import { HeldRequests, type Hold } from '../../../src/gateway/held-requests.ts';
import type { Decision, LimitSet, MemoryStore } from '../../../src/limits/index.ts';
import { limit, limits, newStore } from '../limits/stores.ts';

const clock = { ...systemClock, epochMs: () => Date.now(), monotonicMs: () => performance.now() };
const PATIENCE_MS = 50;
const GLOBAL = limits({ global: limit('2/1s', { role: 'global', bucket: '' }) });

function consumptionOf(set: LimitSet, caller = 'alice'): Consumption {
  return {
    set,
    caller,
    bucket: null,
    callerClass: 'user',
    main: '',
    group: '',
    cost: 1,
    price: null,
    consumes: 'all',
  };
}

/** Requests to one store, as the gate handles them: each writes its name and what became of it into `log`. */
class Door {
  readonly log: string[];
  readonly ended: string[] = [];
  readonly held: HeldRequests;
  readonly store: MemoryStore;
  readonly #permits: Map<string, Permits>;
  /** As a shared store does: the decision arrives later. */
  later = false;
  #asked = 0;
  /** What happens once while the store decides. */
  meanwhile = () => {};

  /** @param other the door of another thread, with whose requests it counts its own */
  constructor(other?: Door) {
    this.log = other === undefined ? [] : other.log;
    this.store = other === undefined ? newStore(clock as never) : other.store;
    this.#permits = other === undefined ? new Map() : other.#permits;
    const named = (name: string) => this.#permits.get(name) ?? new ProcessPermits();
    this.held = new HeldRequests(
      clock,
      outcome => this.ended.push(outcome),
      name => {
        this.#permits.set(name, named(name));
        return named(name);
      },
    );
  }

  /** How many requests are neither decided nor gone. */
  get waiting(): number {
    return this.#asked - this.log.length - this.ended.filter(how => how === 'abandoned').length;
  }

  ask(name: string, consumption = consumptionOf(GLOBAL), patienceMs = PATIENCE_MS): Hold<void> | null {
    this.#asked++;
    const decide = () => {
      const decision = this.store.decide(consumption.set, consumption.caller, consumption.main);
      this.meanwhile();
      return this.later ? Promise.resolve({ ...decision }) : decision;
    };
    const conclude = ({ admitted }: Decision) => void this.log.push(`${name} ${admitted ? 'in' : 'out'}`);
    const holding = { consumption, patienceMs, decide };
    const behind = this.held.behindOthers(holding, conclude);
    if (behind !== null) return behind;
    const decision = this.store.decide(consumption.set, consumption.caller, consumption.main);
    const hold = this.held.afterRefusal(holding, decision, conclude);
    if (hold === null) conclude(decision);
    return hold;
  }
}

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe.each([
  ['a store that decides at once', false],
  ['a store that decides later', true],
])('with %s', (_, later) => {
  test('a request with a short wait is held and admitted, one with a long wait is refused at once', async () => {
    const door = new Door();
    door.later = later;
    for (const name of ['a', 'b', 'c']) door.ask(name);
    expect(door.log).toEqual(['a in', 'b in', 'c out']);
    await pass(960);
    door.ask('d');
    expect(door.log).toHaveLength(3);
    expect(door.waiting).toBe(1);
    await pass(45);
    expect(door.log.slice(3)).toEqual(['d in']);
    expect(door.ended).toEqual(['admitted']);
    expect(door.waiting).toBe(0);
  });

  test('those that are held are served in order, also before one that comes when there is room again', async () => {
    const door = new Door();
    door.later = later;
    const consumption = consumptionOf(limits({ caller: limit('3/1s') }));
    for (const name of ['a', 'b', 'c']) door.ask(name, consumption);
    await pass(960);
    for (const name of ['d', 'e']) door.ask(name, consumption);
    // The window opens a little earlier than announced.
    await pass(30);
    door.ask('f', consumption);
    await pass(20);
    expect(door.log.slice(3)).toEqual(['d in', 'e in', 'f in']);
  });

  test('a client that goes away leaves its line, draws nothing and frees its place', async () => {
    const door = new Door();
    door.later = later;
    for (const name of ['a', 'b']) door.ask(name);
    await pass(970);
    const [gone] = [door.ask('c'), door.ask('d')];
    gone?.leave();
    expect(await gone?.result).toBeNull();
    door.ask('e');
    await pass(40);
    expect(door.log.slice(2)).toEqual(['d in', 'e in']);
    expect(door.ended).toEqual(['abandoned', 'admitted', 'admitted']);
  });
});

test('what its patience does not cover is refused: others took the room', async () => {
  const door = new Door();
  const shared = limits({ resource: limit('1/1s', { role: 'resource' }) });
  door.ask('a', consumptionOf(shared));
  await pass(970);
  door.ask('b', consumptionOf(shared, 'bob'));
  // Another gateway, say, has drawn on it.
  await pass(25);
  door.store.decide(shared, 'carol', '');
  await pass(20);
  expect(door.log).toEqual(['a in', 'b out']);
  expect(door.ended).toEqual(['refused']);
});

test('one whose other limit refuses then waits for that one, and blocks nobody', async () => {
  const door = new Door();
  const global = limit('2/1s', { role: 'global', bucket: '' });
  const both = consumptionOf(limits({ global, caller: limit('1/1s') }));
  const plain = consumptionOf(limits({ global }));
  door.ask('a', plain);
  await pass(25);
  door.ask('b', both);
  await pass(950);
  // Its global limit opens in 25 ms, its bucket in 50.
  door.ask('c', both);
  door.ask('d', plain);
  expect(door.log).toHaveLength(2);
  await pass(30);
  expect(door.log.slice(2)).toEqual(['d in']);
  await pass(25);
  expect(door.log.slice(2)).toEqual(['d in', 'c in']);
});

test('a client that goes away while the store decides joins no other line, and takes nobody out of its own', async () => {
  const door = new Door();
  door.later = true;
  const global = limit('2/1s', { role: 'global', bucket: '' });
  const both = consumptionOf(limits({ global, caller: limit('1/1s') }));
  const plain = consumptionOf(limits({ global }));
  door.ask('a', plain);
  await pass(25);
  door.ask('b', both);
  await pass(950);
  // Its global limit opens in 25 ms, its bucket in 50.
  const gone = door.ask('c', both);
  door.ask('d', plain);
  door.meanwhile = () => gone?.leave();
  await pass(30);
  expect(door.log.slice(2)).toEqual(['d in']);
  await pass(50);
  expect(door.ended).toEqual(['abandoned', 'admitted']);
  expect(door.waiting).toBe(0);
});

test('no more are held than the quota could admit', async () => {
  const door = new Door();
  for (const name of ['a', 'b']) door.ask(name);
  await pass(970);
  for (const name of ['c', 'd', 'e']) door.ask(name);
  expect(door.log.slice(2)).toEqual(['e out']);
  expect(door.ended).toEqual(['no_room']);
});

test('threads hold no more together than the quota could admit, and each serves its own when there is room', async () => {
  const one = new Door();
  const two = new Door(one);
  for (const name of ['a', 'b']) one.ask(name);
  await pass(970);
  one.ask('c');
  const leaving = two.ask('d');
  two.ask('e');
  one.ask('f');
  leaving?.leave();
  two.ask('g');
  expect(one.log.slice(2)).toEqual(['e out', 'f out']);
  await pass(40);
  expect(one.log.slice(4).sort()).toEqual(['c in', 'g in']);
  expect([...one.ended, ...two.ended].sort()).toEqual([
    ...['abandoned', 'admitted', 'admitted', 'no_room', 'no_room'],
  ]);
});

test('one caller has at most 100 held, all together 1,000', async () => {
  const door = new Door();
  const wide = consumptionOf(limits({ caller: limit('200/1s') }));
  for (let i = 0; i < 200; i++) door.ask('a', wide);
  await pass(970);
  for (let i = 0; i < 150; i++) door.ask('b', wide);
  expect(door.waiting).toBe(100);
  await pass(1_000);
  // Those that were served have freed their places.
  for (let i = 0; i < 250; i++) door.ask('b', wide);
  expect(door.waiting).toBe(100);
  await pass(1_000);
  for (let i = 0; i < 2_000; i++) {
    door.ask('c', consumptionOf(GLOBAL, `c${i >> 1}`));
  }
  await pass(970);
  for (let i = 0; i < 2_000; i++) door.ask('d', consumptionOf(GLOBAL, `c${i >> 1}`));
  expect(door.waiting).toBe(1_000);
  await pass(100);
  expect(door.waiting).toBe(0);
});

test('a conclusion that fails fails its request alone', async () => {
  const held = new HeldRequests(clock, () => {}, ownPermits);
  const store = newStore(clock as never);
  const holding = {
    consumption: consumptionOf(GLOBAL),
    patienceMs: PATIENCE_MS,
    decide: () => store.decide(GLOBAL, 'alice', ''),
  };
  for (let i = 0; i < 2; i++) holding.decide();
  await pass(970);
  const refused = holding.decide();
  const broken = held.afterRefusal(holding, refused, () => {
    throw new Error('a fault');
  });
  const sound = held.behindOthers(holding, ({ admitted }) => admitted);
  const failed = expect(broken?.result).rejects.toThrow('a fault');
  await pass(40);
  await failed;
  expect(await sound?.result).toBe(true);
});

import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { ownMemory } from '../../../../src/core/index.ts';
import { CallerTable } from '../../../../src/limits/counting/caller-table.ts';

const CAPACITY = 64;
/** A sixteenth of the capacity. */
const MOST_OF_NETWORK = 4;
const MAX_PARTS = 9;
let callers: CallerTable;

const networkOf = (caller: string) => (caller.startsWith('user') ? null : (caller.split('.')[0] ?? ''));

beforeEach(() => {
  callers = new CallerTable(ownMemory(randomBytes), 'callers', CAPACITY, networkOf);
});

/** Gives a caller so many counters for main values. */
function give(caller: string, counters: number): number {
  const at = callers.findOrEnter(caller);
  for (let i = 0; i < counters; i++) callers.addCounter(at, true);
  return at;
}

const sharerFor = (caller: string) => callers.sharerFor(caller, MAX_PARTS);

describe('a caller', () => {
  test('is entered once, and gone with its last counter', () => {
    const at = give('user a', 2);
    callers.addCounter(at, false);
    expect([callers.findOrEnter('user a'), callers.size, callers.parts(at)]).toEqual([at, 1, 2]);
    for (const ofPart of [true, false]) callers.removeCounter(at, ofPart);
    expect([callers.find('user a'), callers.parts(at)]).toEqual([at, 1]);
    callers.removeCounter(at, true);
    expect([callers.find('user a'), callers.size]).toEqual([-1, 0]);
    expect(callers.parts(give('user b', 0))).toBe(0);
  });

  test('shares a counter for further values once it holds as many as it may', () => {
    give('user a', MAX_PARTS - 1);
    expect(sharerFor('user a')).toBe(null);
    give('user a', 1);
    expect([sharerFor('user a'), sharerFor('user b')]).toEqual(['user a', null]);
  });

  test('that is known by its hash is the same, with the network that is handed over', () => {
    for (const user of ['user a', 'user b']) give(user, 1);
    const at = give('1.1', 1);
    const [low, high] = callers.hashOf(at);
    const network = callers.networkAt(at);
    expect(network).toBeGreaterThan(0);
    expect(callers.findOrEnterHash(low, high, 5)).toBe(at);
    expect(callers.networkAt(at)).toBe(network);
    callers.removeCounter(at, true);
    const again = callers.findOrEnterHash(low, high, network);
    for (let i = 0; i < MOST_OF_NETWORK; i++) callers.addCounter(again, true);
    expect([callers.find('1.1'), callers.networkAt(again)]).toEqual([again, network]);
    expect([sharerFor('1.1'), sharerFor('1.2'), sharerFor('2.1')]).toEqual(['\u00001', '\u00001', null]);
  });

  test('finds no room in a full table, which changes nothing', () => {
    for (let i = 0; i < CAPACITY; i++) give(`user ${i}`, 1);
    expect(callers.findOrEnterHash(1, 2, 3)).toBe(-1);
    for (let i = 0; i < CAPACITY; i++) expect(callers.networkAt(i)).toBe(0);
  });
});

describe('a network', () => {
  test('holds a sixteenth of all counters for main values, whichever of its callers opened them', () => {
    for (const [caller, counters] of [
      ['1.1', 1],
      ['1.2', 2],
    ] as const)
      give(caller, counters);
    callers.addCounter(callers.findOrEnter('1.2'), false);
    expect(['1.1', '1.2', '1.3'].map(sharerFor)).toEqual([null, null, null]);
    give('1.3', 1);
    const shared = '\u00001';
    expect(['1.1', '1.2', '1.3', '1.4', '2.1'].map(sharerFor)).toEqual([
      ...[shared, shared, shared, shared, null],
    ]);
    callers.removeCounter(callers.find('1.2'), false);
    expect(sharerFor('1.4')).toBe(shared);
    callers.removeCounter(callers.find('1.2'), true);
    expect(['1.1', '1.4'].map(sharerFor)).toEqual([null, null]);
  });

  test('is none of its own counters’, nor of callers without one, who hold as many as they like', () => {
    const at = give('\u00001', MOST_OF_NETWORK + 1);
    expect([callers.networkAt(at), sharerFor('1.1'), sharerFor('\u00001')]).toEqual([0, null, null]);
    const user = give('user a', MOST_OF_NETWORK + 1);
    expect([callers.networkAt(user), sharerFor('user a'), sharerFor('user b')]).toEqual([0, null, null]);
  });

  test('has one of the 65,535 places, whatever its name', () => {
    for (let i = 0; i < 200_000; i++) {
      const at = give(`${i}.1`, 1);
      const network = callers.networkAt(at);
      if (network < 1 || network > 65_535) expect.fail(`the place of ${i} is ${network}`);
      callers.removeCounter(at, true);
    }
  });

  test('holds one at least, also in a small table', () => {
    callers = new CallerTable(ownMemory(randomBytes), 'callers', 8, networkOf);
    expect(sharerFor('1.1')).toBe(null);
    give('1.1', 1);
    expect(sharerFor('1.2')).toBe('\u00001');
  });
});

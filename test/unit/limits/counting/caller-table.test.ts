import { beforeEach, describe, expect, test } from 'vitest';
import { ownMemory } from '../../../../src/core/index.ts';
import { CallerTable } from '../../../../src/limits/counting/caller-table.ts';

const CAPACITY = 64;
const MAX_PARTS = 9;
let callers: CallerTable;

/** Addresses such as 7.3.1 are of the network 7.3, which is of the owner 7. */
const ownersOf = (caller: string) =>
  caller.startsWith('user')
    ? []
    : [
        { key: caller.split('.').slice(0, 2).join('.'), shares: 4 },
        { key: `owner ${caller.split('.')[0]}`, shares: 8 },
      ];

beforeEach(() => {
  callers = new CallerTable(
    ownMemory(size => Buffer.alloc(size, 7)),
    'callers',
    CAPACITY,
    ownersOf,
  );
});

/** Gives a caller so many counters for main values. */
function give(caller: string, counters: number): number {
  const at = callers.findOrEnter(caller, callers.networkOf(caller));
  for (let i = 0; i < counters; i++) callers.addCounter(at, true);
  return at;
}

describe('a caller', () => {
  test('is entered once, and gone with its last counter', () => {
    const at = give('user a', 2);
    callers.addCounter(at, false);
    expect([callers.findOrEnter('user a', 0), callers.size, callers.parts(at)]).toEqual([at, 1, 2]);
    for (const ofPart of [true, false]) callers.removeCounter(at, ofPart);
    expect([callers.find('user a'), callers.parts(at)]).toEqual([at, 1]);
    callers.removeCounter(at, true);
    expect([callers.find('user a'), callers.size]).toEqual([-1, 0]);
    expect(callers.parts(give('user b', 0))).toBe(0);
  });

  test('has all the main values that it may once it holds as many', () => {
    const has = (caller: string) => callers.hasAllParts(caller, MAX_PARTS);
    give('user a', MAX_PARTS - 1);
    callers.addCounter(callers.find('user a'), false);
    expect(has('user a')).toBe(false);
    give('user a', 1);
    expect([has('user a'), has('user b')]).toEqual([true, false]);
  });

  test('that is known by its hash is the same, with the network that is handed over', () => {
    for (const user of ['user a', 'user b']) give(user, 1);
    const at = give('1.1.1', 1);
    const [low, high] = callers.hashOf(at);
    const network = callers.networkAt(at);
    expect(network).not.toBe(0);
    expect(callers.findOrEnterHash(low, high, 5)).toBe(at);
    expect(callers.networkAt(at)).toBe(network);
    callers.removeCounter(at, true);
    const again = callers.findOrEnterHash(low, high, network);
    callers.addCounter(again, false);
    expect([callers.find('1.1.1'), callers.networkAt(again), callers.networkOf('1.1.1')]).toEqual([
      ...[again, network, network],
    ]);
  });

  test('finds no room in a full table, which changes nothing', () => {
    for (let i = 0; i < CAPACITY; i++) give(`user ${i}`, 1);
    expect(callers.findOrEnterHash(1, 2, 3)).toBe(-1);
    for (let i = 0; i < CAPACITY; i++) expect(callers.networkAt(i)).toBe(0);
  });
});

describe('a network', () => {
  test('is that of all its callers, whether they hold counters or not, and says which owner it has', () => {
    give('1.1.1', 1);
    const [one, same, other, stranger] = ['1.1.1', '1.1.2', '1.2.1', '2.1.1'].map(each =>
      callers.networkOf(each),
    );
    expect(same).toBe(one);
    expect(new Set([one, other, stranger]).size).toBe(3);
    const ownerOf = (network = 0) => network >>> 16;
    expect([ownerOf(other) === ownerOf(one), ownerOf(stranger) === ownerOf(one)]).toEqual([true, false]);
  });

  test('is none of users, nor of what stands in for its callers', () => {
    const standIn = callers.standInOf('1.1.1') ?? '';
    expect([callers.standInOf('1.1.2'), callers.standInOf('1.2.1') === standIn]).toEqual([standIn, false]);
    expect([callers.networkOf(standIn), callers.networkOf('user a'), callers.standInOf('user a')]).toEqual([
      ...[0, 0, null],
    ]);
    expect(callers.networkAt(give('user a', 1))).toBe(0);
  });
});

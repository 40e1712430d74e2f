import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { ownMemory } from '../../../../src/core/index.ts';
import { type BoundLimit, OTHER_PARTS } from '../../../../src/limits/counting/bound-limit.ts';
import { Moment } from '../../../../src/limits/counting/counter.ts';
import { CounterTable } from '../../../../src/limits/counting/counter-table.ts';
import { Keyspaces } from '../../../../src/limits/counting/keyspaces.ts';
import { limit } from '../stores.ts';

const MAX_PARTS = 2;
const RESET_MS = 1_000;
let table: CounterTable;
let two: BoundLimit;

function start(capacity: number): void {
  const memory = ownMemory(randomBytes);
  table = new CounterTable(memory, 'limits', capacity);
  table.keysPerCaller = MAX_PARTS;
  two = new Keyspaces(memory, 'limits', table).bind(limit('2/1s', { main: 'id', returnsUnits: true }));
}

beforeEach(() => start(2));

function momentAt(nowMs: number): Moment {
  return Object.assign(new Moment(), { nowMs, epochMs: nowMs, steadyOffsetMs: 0 });
}

/** Whether a request at this time is admitted. */
function admits(caller: string, part = '', nowMs = 0): boolean {
  table.begin(nowMs);
  two.look(caller, part, '', 1);
  if (two.waitMs === 0) two.open(caller, part, '');
  if (two.waitMs > 0) {
    two.undo();
    return false;
  }
  two.commit(momentAt(nowMs));
  return true;
}

test('a limit admits its units, then says how long to wait, until its window is over', () => {
  expect([admits('a'), admits('a'), admits('a')]).toEqual([true, true, false]);
  expect(two.waitMs).toBe(RESET_MS);
  expect(admits('a', '', RESET_MS)).toBe(true);
});

test('looking changes nothing, and a refused request leaves no counter behind', () => {
  two.look('a', '', '', 1);
  expect([table.size, two.counter.count, two.waitMs]).toEqual([0, 0, 0]);
  two.open('a', '', '');
  expect(table.size).toBe(1);
  two.undo();
  expect(table.size).toBe(0);
});

test('undo leaves a counter that was there before', () => {
  admits('a');
  two.look('a', '', '', 1);
  two.open('a', '', '');
  two.undo();
  expect(table.size).toBe(1);
});

describe('a unit', () => {
  test('goes back to its window', () => {
    for (let i = 0; i < 2; i++) admits('a');
    table.begin(500);
    two.look('a', '', '', 1);
    two.refund(RESET_MS);
    expect([admits('a', '', 500), admits('a', '', 500)]).toEqual([true, false]);
  });

  test('goes back to no other window, nor to a counter that is gone', () => {
    for (let i = 0; i < 2; i++) admits('a');
    table.begin(500);
    two.look('a', '', '', 1);
    two.refund(RESET_MS - 1);
    expect(admits('a', '', 500)).toBe(false);
    two.look('unknown', '', '', 1);
    two.refund(RESET_MS);
    expect(table.size).toBe(1);
  });
});

describe('a caller with as many main values as it may hold', () => {
  beforeEach(() => {
    start(10);
    admits('a', 'one');
    admits('a', 'two');
  });

  test('shares one counter between all others', () => {
    expect(two.isOtherParts).toBe(false);
    expect([admits('a', 'three'), admits('a', 'four'), admits('a', 'five')]).toEqual([true, true, false]);
    expect(two.isOtherParts).toBe(true);
    expect(table.find(two.keyspace, 'a', OTHER_PARTS)).toBeGreaterThanOrEqual(0);
  });

  test('keeps those that it holds, and stands in no other caller’s way', () => {
    expect([admits('a', 'one'), admits('b', 'three')]).toEqual([true, true]);
    expect(two.isOtherParts).toBe(false);
  });
});

describe('without room', () => {
  beforeEach(() => {
    for (const caller of ['a', 'a', 'b', 'b']) admits(caller);
  });

  test('all further callers share one counter', () => {
    expect([admits('c'), two.isOverflow]).toEqual([true, true]);
    expect([admits('d'), admits('e')]).toEqual([true, false]);
    expect(table.size).toBe(2);
  });

  test('those that have a counter keep it', () => {
    admits('c');
    expect([admits('a'), two.isOverflow, two.counter.count]).toEqual([false, false, 2]);
  });

  test('nobody gets a unit of theirs back', () => {
    admits('c');
    expect([two.isOverflow, two.windowToReturn]).toEqual([true, 0]);
    two.look('a', '', '', 1);
    expect([two.isOverflow, two.windowToReturn]).toEqual([false, RESET_MS]);
  });

  test('a unit goes back to the shared counter', () => {
    for (const caller of ['c', 'd']) admits(caller);
    two.refund(RESET_MS);
    expect([admits('e'), admits('f')]).toEqual([true, false]);
  });
});

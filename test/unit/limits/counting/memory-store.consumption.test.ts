import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { ownMemory } from '../../../../src/core/index.ts';
import { Moment } from '../../../../src/limits/counting/counter.ts';
import { CounterTable } from '../../../../src/limits/counting/counter-table.ts';
import { type BoundLimit, Keyspaces } from '../../../../src/limits/counting/keyspaces.ts';
import { Consumption, OTHER_PARTS } from '../../../../src/limits/counting/memory-store.ts';
import { limit } from '../stores.ts';

const MAX_PARTS = 2;
const RESET_MS = 1_000;
let table: CounterTable;
let draw: Consumption;
let two: BoundLimit;

beforeEach(() => {
  const memory = ownMemory(randomBytes);
  table = new CounterTable(memory, 'limits', 2);
  draw = new Consumption(table);
  two = new Keyspaces(memory, 'limits', table).bind(limit('2/1s', { main: 'id' }));
});

function momentAt(nowMs: number): Moment {
  return Object.assign(new Moment(), { nowMs, epochMs: nowMs, steadyOffsetMs: 0 });
}

/** Whether a request at this time is admitted. */
function admits(caller: string, part = '', nowMs = 0): boolean {
  table.begin(nowMs);
  draw.look(two, caller, part, MAX_PARTS, nowMs);
  if (draw.waitMs === 0) draw.openCounter(nowMs);
  if (draw.waitMs > 0) {
    draw.undo();
    return false;
  }
  draw.commit(momentAt(nowMs));
  return true;
}

test('a limit admits its units, then says how long to wait, until its window is over', () => {
  expect([admits('a'), admits('a'), admits('a')]).toEqual([true, true, false]);
  expect(draw.waitMs).toBe(RESET_MS);
  expect(admits('a', '', RESET_MS)).toBe(true);
});

test('looking changes nothing, and a refused request leaves no counter behind', () => {
  draw.look(two, 'a', '', MAX_PARTS, 0);
  expect([table.size, draw.counter.count, draw.waitMs]).toEqual([0, 0, 0]);
  draw.openCounter(0);
  expect(table.size).toBe(1);
  draw.undo();
  expect(table.size).toBe(0);
});

test('undo leaves a counter that was there before', () => {
  admits('a');
  draw.look(two, 'a', '', MAX_PARTS, 0);
  draw.openCounter(0);
  draw.undo();
  expect(table.size).toBe(1);
});

test('no limit draws on nothing', () => {
  admits('a');
  draw.look(null, 'a', '', MAX_PARTS, 0);
  draw.openCounter(0);
  draw.commit(momentAt(0));
  draw.undo();
  expect([draw.waitMs, draw.isOverflow, draw.isOtherParts, table.size]).toEqual([0, false, false, 1]);
});

describe('a unit', () => {
  test('goes back to its window', () => {
    for (let i = 0; i < 2; i++) admits('a');
    draw.refund(RESET_MS, 500);
    expect([admits('a', '', 500), admits('a', '', 500)]).toEqual([true, false]);
  });

  test('goes back to no other window, nor to a counter that is gone', () => {
    for (let i = 0; i < 2; i++) admits('a');
    draw.refund(RESET_MS - 1, 500);
    expect(admits('a', '', 500)).toBe(false);
    draw.look(two, 'unknown', '', MAX_PARTS, 0);
    draw.refund(RESET_MS, 0);
    expect(table.size).toBe(1);
  });
});

describe('a caller with as many main values as it may hold', () => {
  beforeEach(() => {
    table = new CounterTable(ownMemory(randomBytes), 'limits', 10);
    draw = new Consumption(table);
    admits('a', 'one');
    admits('a', 'two');
  });

  test('shares one counter between all others', () => {
    expect(draw.isOtherParts).toBe(false);
    expect([admits('a', 'three'), admits('a', 'four'), admits('a', 'five')]).toEqual([true, true, false]);
    expect(draw.isOtherParts).toBe(true);
    expect(table.find(two.keyspace.number, 'a', OTHER_PARTS)).toBeGreaterThanOrEqual(0);
  });

  test('keeps those that it holds, and stands in no other caller’s way', () => {
    expect([admits('a', 'one'), admits('b', 'three')]).toEqual([true, true]);
    expect(draw.isOtherParts).toBe(false);
  });
});

describe('without room', () => {
  beforeEach(() => {
    for (const caller of ['a', 'a', 'b', 'b']) admits(caller);
  });

  test('all further callers share one counter', () => {
    expect([admits('c'), draw.isOverflow]).toEqual([true, true]);
    expect([admits('d'), admits('e')]).toEqual([true, false]);
    expect(table.size).toBe(2);
  });

  test('those that have a counter keep it', () => {
    admits('c');
    expect([admits('a'), draw.isOverflow, draw.counter.count]).toEqual([false, false, 2]);
  });

  test('no limit has none, whatever the one before had', () => {
    admits('c');
    draw.look(null, 'c', 'one', MAX_PARTS, 0);
    expect([draw.isOverflow, draw.windowToReturn]).toEqual([false, 0]);
  });

  test('a unit goes back to the shared counter', () => {
    for (const caller of ['c', 'd']) admits(caller);
    draw.refund(RESET_MS, 0);
    expect([admits('e'), admits('f')]).toEqual([true, false]);
  });
});

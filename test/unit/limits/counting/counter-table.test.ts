import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { ownMemory } from '../../../../src/core/index.ts';
import { type Counter, newCounter } from '../../../../src/limits/counting/counter.ts';
import { CounterTable, keyspaceNumber } from '../../../../src/limits/counting/counter-table.ts';

const CAPACITY = 20;
const SPACE = 1;
let table: CounterTable;
let partition = 0;

/** All of them find room in one partition. */
function space(number = SPACE): number {
  return keyspaceNumber(partition, number);
}

beforeEach(() => {
  table = new CounterTable(ownMemory(randomBytes), 'limits', CAPACITY);
  partition = table.partitions.named('b');
  table.begin(0);
});

/** Creates a counter with this state in a decision of its own. */
function open(caller: string | null, state: Partial<Counter> = {}, part = '', number = SPACE): number {
  table.begin(0);
  const at = table.open(space(number), caller, part);
  if (at >= 0) table.save(at, { ...newCounter(), resetMs: 1_000, ...state });
  return at;
}

function loaded(at: number): Counter {
  const counter = newCounter();
  table.load(at, counter);
  return counter;
}

/** Of the callers c0, c1 ... those that still have a counter. */
function held(count: number): string[] {
  const callers = Array.from({ length: count }, (_, i) => `c${i}`);
  return callers.filter(caller => table.find(space(), caller, '') >= 0);
}

describe('a counter', () => {
  test('keeps its state, apart from those of other keys', () => {
    const state = { resetMs: 1_700_000_000_123.5, markMs: -0.25, count: 7, exhausted: true };
    open('a', state, 'p', 1);
    const others = [
      ['a', 'p', 2],
      ['a', 'q', 1],
      ['a', '', 1],
      ['b', 'p', 1],
      [null, 'p', 1],
    ] as const;
    for (const [caller, part, number] of others) {
      expect(table.find(space(number), caller, part)).toBe(-1);
      open(caller, {}, part, number);
    }
    expect(loaded(table.find(space(1), 'a', 'p'))).toEqual(state);
    expect([table.size, table.callers]).toEqual([6, 2]);
  });

  test('begins empty in a record that another has used', () => {
    table.close(open('a', { markMs: 9, count: 3, exhausted: true }));
    expect(table.find(space(), 'a', '')).toBe(-1);
    table.begin(0);
    expect(loaded(table.open(space(), 'b', ''))).toEqual(newCounter());
  });

  test('of a main value counts for its caller until it is gone', () => {
    const [first] = [open('a', {}, 'p'), open('a', {}, 'q'), open('a'), open('b', {}, 'p')];
    expect([table.partsOf('a'), table.partsOf('b'), table.partsOf('c')]).toEqual([2, 1, 0]);
    table.close(first);
    expect(table.partsOf('a')).toBe(1);
  });
});

describe('expired counters', () => {
  test('are freed with their callers, a few at each decision', () => {
    for (let i = 0; i < 8; i++) open(`c${i}`);
    table.begin(999);
    expect(table.size).toBe(8);
    table.begin(1_000);
    expect(table.size).toBe(4);
    table.begin(1_000);
    expect([table.size, table.callers]).toEqual([0, 0]);
  });

  test('are freed by a sweep, which leaves the others', () => {
    for (let i = 0; i < CAPACITY; i++) open(`c${i}`, { resetMs: i % 2 === 0 ? 500 : 1_500 });
    table.sweep(500, CAPACITY);
    expect(table.size).toBe(CAPACITY / 2);
    expect(held(CAPACITY)).toEqual(Array.from({ length: CAPACITY / 2 }, (_, i) => `c${2 * i + 1}`));
  });
});

describe('a full table', () => {
  /** Fills it; `stateOf` says what differs in the counter of each caller. */
  function fill(stateOf: (index: number) => Partial<Counter>): void {
    for (let i = 0; i < CAPACITY; i++) open(`c${i}`, stateOf(i));
  }

  test('replaces, of the next few counters, the one nearest its Reset, and says so', () => {
    fill(i => ({ resetMs: 1_000 - i }));
    const at = open('new');
    expect(at).toBeGreaterThanOrEqual(0);
    expect([table.size, table.partitions.countsOf(partition).evictions]).toEqual([CAPACITY, 1]);
    const [gone] = Array.from({ length: CAPACITY }, (_, i) => `c${i}`).filter(
      caller => table.find(space(), caller, '') < 0,
    );
    // Sixteen are looked at, and it goes on where the last decision stopped looking for expired ones.
    expect(Number(gone?.slice(1))).toBeGreaterThanOrEqual(15);
  });

  test('replaces an expired one before all others, which is no eviction', () => {
    fill(i => ({ resetMs: i === 9 ? 500 : 1_000, exhausted: i === 9 }));
    // Only says what time it is.
    table.sweep(500, 0);
    expect(table.open(space(), 'new', '')).toBeGreaterThanOrEqual(0);
    expect([table.find(space(), 'c9', ''), table.partitions.countsOf(partition).evictions]).toEqual([-1, 0]);
  });

  test('never forgets an exhausted one before its Reset', () => {
    fill(() => ({ exhausted: true }));
    expect(open('new')).toBe(-1);
    expect([held(CAPACITY).length, table.callers, table.partitions.countsOf(partition).evictions]).toEqual([
      CAPACITY,
      CAPACITY,
      0,
    ]);
    table.begin(1_000);
    expect(table.open(space(), 'new', '')).toBeGreaterThanOrEqual(0);
  });

  test('keeps the counters that the decision itself uses', () => {
    fill(i => ({ exhausted: i > 0 }));
    table.begin(0);
    expect(table.find(space(), 'c0', '')).toBeGreaterThanOrEqual(0);
    // The hand passes each record at least once.
    for (let i = 0; i < 2; i++) expect(table.open(space(), 'new', '')).toBe(-1);
    table.begin(0);
    expect([table.open(space(), 'new', ''), table.open(space(), 'new', '')].some(at => at >= 0)).toBe(true);
  });
});

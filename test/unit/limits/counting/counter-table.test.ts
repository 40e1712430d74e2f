import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { ownMemory } from '../../../../src/core/index.ts';
import { type Counter, newCounter } from '../../../../src/limits/counting/counter.ts';
import {
  CounterTable,
  defaultMaxKeyspaces,
  keyspaceNumber,
  mostLimits,
  newRow,
  partitionOf,
  placeOfKeyspace,
} from '../../../../src/limits/counting/counter-table.ts';
import { threadsOf } from '../../../support/shared-memory.ts';
import { limit } from '../stores.ts';

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

describe('the number of a keyspace', () => {
  test('names its partition and its place in it, also where all callers share the counters', () => {
    for (const [partition, place] of [
      [0, 0],
      [0, 32_766],
      [1, 0],
      [4_095, 4_095],
      [32_766, 32_766],
    ] as const) {
      const number = keyspaceNumber(partition, place);
      expect(number).toBeGreaterThan(0);
      for (const each of [number, -number])
        expect([partitionOf(each), placeOfKeyspace(each)]).toEqual([partition, place]);
    }
  });

  test('is one of 8,192, or of one for 8 counters, and of no more than 15 bits hold', () => {
    expect([1, 65_536, 65_537, 160_001, 1_000_000].map(defaultMaxKeyspaces)).toEqual([
      ...[8_192, 8_192, 8_193, 20_001, 32_767],
    ]);
  });

  test('is of a limit in one of two configurations, whose limits all find room', () => {
    expect([1, 65_537, 1_000_000].map(mostLimits)).toEqual([4_096, 4_096, 16_383]);
  });
});

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

describe('a counter that is put back', () => {
  const row = (hashes: Partial<ReturnType<typeof newRow>>) => ({
    ...newRow(),
    ...{ isOpened: true, callerLow: 1, callerHigh: 2, partLow: 3, partHigh: 4 },
    ...{ counter: { resetMs: 1_000, markMs: 7.5, count: 3, exhausted: true } },
    ...hashes,
  });

  test('is read as it was, whichever thread has it', () => {
    const rows = [
      row({ network: 7 }),
      row({ isShared: true }),
      row({ ...{ isShared: true, isOpened: false }, ...{ callerLow: 0, callerHigh: 0 } }),
    ];
    for (const [i, each] of rows.entries()) {
      table.restore(space(i), each, 0);
      const read = newRow();
      expect(table.keyspaceAt(i)).toBe(each.isShared ? -space(i) : space(i));
      table.readRow(i, read);
      // The network is that of the caller, who is known already.
      expect(read).toEqual(i === 1 ? { ...each, network: 7 } : each);
    }
    expect([table.size, table.used, table.callers]).toEqual([3, 3, 1]);
    expect([table.keyspaceAt(3), table.keyspaceAt(CAPACITY)]).toEqual([0, 0]);
  });

  test('takes the place of one that is there, and of no other, however alike', () => {
    const rows = [
      row({}),
      ...[1, 5].flatMap(low => [row({ partLow: low }), row({ partLow: low, partHigh: 5 })]),
      ...[row({ partHigh: 5 }), row({ callerLow: 5 }), row({ callerHigh: 5 }), row({ isShared: true })],
      row({ isShared: true, partHigh: 5 }),
    ];
    for (let round = 0; round < 2; round++)
      for (const number of [1, 2]) for (const each of rows) table.restore(space(number), each, 0);
    expect([table.size, table.callers]).toEqual([2 * rows.length, 3]);
    table.sweep(1_000, CAPACITY);
    expect([table.size, table.callers]).toEqual([0, 0]);
  });

  test('is one for a main value if either half of its hash says so', () => {
    const at = open('a', {}, 'p');
    const read = newRow();
    table.readRow(at, read);
    for (const [partLow, partHigh] of [
      [0, 9],
      [9, 0],
      [0, 0],
    ] as const)
      table.restore(space(), { ...read, partLow, partHigh }, 0);
    expect(table.partsOf('a')).toBe(3);
    for (let record = 1; record < 4; record++) table.close(record);
    expect([table.size, table.partsOf('a')]).toEqual([1, 1]);
  });

  test('finds room as a new one does, or none', () => {
    for (let i = 0; i < CAPACITY; i++) open(`c${i}`, { exhausted: true, resetMs: 1_000 });
    expect(table.restore(space(), row({}), 0)).toBe(false);
    expect([table.size, table.callers]).toEqual([CAPACITY, CAPACITY]);
    expect(table.restore(space(), row({ counter: { ...newCounter(), resetMs: 2_000 } }), 1_000)).toBe(true);
  });
});

describe('counters that are released', () => {
  test('are those of one caller in these keyspaces, not those that it opened for all', () => {
    for (const caller of ['a', 'b'])
      for (const number of [1, 2, 3]) for (const part of ['p', 'q']) open(caller, {}, part, number);
    table.begin(0);
    table.open(space(1), null, 'p', 'a');
    table.release(new Set([space(1), space(3)]), 'a');
    table.release(new Set([space(1)]), 'unknown');
    const left = ['a', 'b', null].map(caller =>
      [1, 2, 3].map(number => ['p', 'q'].map(part => table.find(space(number), caller, part) >= 0)),
    );
    const [all, none] = [
      [true, true],
      [false, false],
    ];
    expect(left).toEqual([
      [none, all, none],
      [all, all, all],
      [[true, false], none, none],
    ]);
    expect([table.size, table.partsOf('a'), table.partsOf('b')]).toEqual([9, 3, 6]);
  });

  test('are all at some places, whichever thread has them', () => {
    for (const caller of ['a', null]) for (const number of [1, 2]) open(caller, {}, 'p', number);
    table.releaseAll(new Set([1]));
    expect([1, 2].map(number => table.find(space(number), 'a', 'p') >= 0)).toEqual([false, true]);
    expect([1, 2].map(number => table.find(space(number), null, 'p') >= 0)).toEqual([false, true]);
    expect([table.size, table.partitions.size(partition)]).toEqual([2, 2]);
  });
});

test('any number of counters is freed at once in memory that threads share, whose journal is short', () => {
  const [memory] = threadsOf(2);
  if (memory === undefined) throw new Error('there is a main thread');
  const many = 3_000;
  table = new CounterTable(memory, 'limits', many);
  const fill = () => {
    for (let i = 0; i < many; i++) memory.whole(() => open(`c${i % 2}`, {}, `${i}`));
    expect(table.size).toBe(many);
  };
  partition = memory.whole(() => table.partitions.named('b'));
  for (const free of [
    () => table.releaseAll(new Set([SPACE])),
    () => table.sweep(1_000, many),
    () => ['c0', 'c1'].forEach(caller => void table.release(new Set([space()]), caller)),
  ]) {
    fill();
    memory.whole(free);
    expect([table.size, table.callers]).toEqual([0, 0]);
  }
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

  test('are freed by a sweep among so many records, and then among those after them', () => {
    for (let i = 0; i < CAPACITY; i++) open(`c${i}`);
    table.sweep(1_000, 0);
    expect(table.size).toBe(CAPACITY);
    table.sweep(1_000, 17);
    expect(table.size).toBe(CAPACITY - 17);
    table.sweep(1_000, 4);
    expect([table.size, table.callers]).toEqual([0, 0]);
  });

  test('are kept while the decision that found them is under way', () => {
    for (let i = 0; i < CAPACITY; i++) open(`c${i}`, { resetMs: i < 3 ? 500 : 1_000, exhausted: true });
    // Says what time it is, and frees none.
    table.sweep(500, 0);
    const found = [0, 1, 2].map(i => table.find(space(), `c${i}`, ''));
    for (let i = 0; i < 2; i++) expect(table.open(space(), `new ${i}`, '')).toBe(-1);
    expect([0, 1, 2].map(i => table.find(space(), `c${i}`, ''))).toEqual(found);
    table.begin(500);
    expect(table.open(space(), 'new', '')).toBeGreaterThanOrEqual(0);
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
  test('gives way in turn: no counter a second time before each of the others', () => {
    fill(() => ({}));
    const order: string[] = [];
    for (let i = 0; i < CAPACITY; i++) {
      const before = new Set(held(CAPACITY));
      open(`new ${i}`, { resetMs: 2_000 });
      for (const caller of held(CAPACITY)) before.delete(caller);
      order.push(...before);
    }
    expect([order.length, new Set(order).size]).toEqual([CAPACITY, CAPACITY]);
    expect([table.size, table.callers]).toEqual([CAPACITY, CAPACITY]);
    expect(table.partitions.countsOf(partition).evictions).toBe(CAPACITY);
  });
  test('has room for the part of a partition, whichever one was lent it, and takes nothing more from another', () => {
    const former = partition;
    for (let i = 0; i < CAPACITY; i++) open(`former ${i}`);
    const inForce = limit('1/1s', { bucket: 'in force' });
    table.partitions.share([inForce]);
    partition = table.partitions.of(inForce);
    const sizes = () => [former, partition].map(each => table.partitions.size(each));
    for (let i = 0; i < 3 * CAPACITY; i++) {
      expect(open(`c${i}`)).toBeGreaterThanOrEqual(0);
      const own = Math.min(i + 1, CAPACITY / 4);
      expect(sizes()).toEqual([CAPACITY - own, own]);
    }
    const evicted = [former, partition].map(each => table.partitions.countsOf(each).evictions);
    expect(evicted).toEqual([CAPACITY / 4, 3 * CAPACITY - CAPACITY / 4]);
  });

  test('takes an expired one that is next in turn, however far away the sweep is, which is no eviction', () => {
    for (let between = 0; between < 64; between++) {
      table = new CounterTable(ownMemory(randomBytes), 'limits', 64);
      partition = table.partitions.named('b');
      for (let i = 0; i < 64; i++) open(`c${i}`, { resetMs: i === 0 ? 500 : 1_000 });
      table.sweep(0, between);
      table.begin(500);
      expect(table.open(space(), 'new', '')).toBeGreaterThanOrEqual(0);
      expect([table.size, table.partitions.totals.evictions]).toEqual([64, 0]);
    }
  });

  test('looks for expired ones of other partitions before one of its own gives way', () => {
    for (let between = 0; between < CAPACITY; between++) {
      table = new CounterTable(ownMemory(randomBytes), 'limits', CAPACITY);
      const other = table.partitions.named('other');
      partition = table.partitions.named('b');
      for (let i = 0; i < 4; i++) open(`c${i}`);
      for (let i = 4; i < CAPACITY; i++) {
        table.begin(0);
        const at = table.open(keyspaceNumber(other, SPACE), `c${i}`, '');
        table.save(at, { ...newCounter(), resetMs: 500 });
      }
      table.sweep(0, between);
      table.begin(500);
      expect(table.open(space(), 'new', '')).toBeGreaterThanOrEqual(0);
      expect(held(4)).toEqual(['c0', 'c1', 'c2', 'c3']);
      expect(table.partitions.totals.evictions).toBe(0);
    }
  });

  test('goes on behind those that it looked at in vain', () => {
    for (let i = 0; i < CAPACITY; i++) open(`c${i}`, { exhausted: i < 16 });
    expect(open('no room yet')).toBe(-1);
    expect(open('new')).toBeGreaterThanOrEqual(0);
    expect(table.partitions.totals.evictions).toBe(1);
  });

  test('gives way within a partition, in order also where the counter next in turn is closed meanwhile', () => {
    const other = table.partitions.named('other');
    for (let i = 0; i < 5; i++) {
      const at = table.open(keyspaceNumber(other, SPACE), `o${i}`, '');
      table.save(at, { ...newCounter(), resetMs: 900 });
    }
    for (let i = 5; i < CAPACITY; i++) open(`c${i}`);
    for (let i = 0; i < 3 * CAPACITY; i++) {
      if (i % 3 === 0) table.close(table.partitions.hand(partition));
      expect(open(`new ${i}`)).toBeGreaterThanOrEqual(0);
      expect([table.size, table.callers]).toEqual([CAPACITY, CAPACITY]);
      expect([partition, other].map(each => table.partitions.size(each))).toEqual([CAPACITY - 5, 5]);
    }
    for (let i = 0; i < 5; i++)
      expect(table.find(keyspaceNumber(other, SPACE), `o${i}`, '')).toBeGreaterThanOrEqual(0);
    table.sweep(1_000, CAPACITY);
    expect([table.size, table.callers]).toEqual([0, 0]);
    expect([partition, other].map(each => table.partitions.hand(each))).toEqual([-1, -1]);
  });
});

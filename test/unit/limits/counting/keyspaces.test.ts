import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { ownMemory, type TableMemory } from '../../../../src/core/index.ts';
import { type Counter, newCounter } from '../../../../src/limits/counting/counter.ts';
import {
  CounterTable,
  defaultMaxKeyspaces,
  mostLimits,
  partitionOf,
} from '../../../../src/limits/counting/counter-table.ts';
import { type BoundSet, Keyspaces } from '../../../../src/limits/counting/keyspaces.ts';
import type { Limit, LimitSet } from '../../../../src/limits/index.ts';
import { threadsOf } from '../../../support/shared-memory.ts';
import { limit, limits } from '../stores.ts';

const CAPACITY = 100;
const MOST = defaultMaxKeyspaces(CAPACITY);
const kept = limit('5/5s', { bucket: 'kept' });

let table: CounterTable;
let keyspaces: Keyspaces;

function start(memory: TableMemory = ownMemory(randomBytes), capacity = CAPACITY): Keyspaces {
  table = new CounterTable(memory, 'limits', capacity);
  return new Keyspaces(memory, 'limits', table);
}

beforeEach(() => {
  keyspaces = start();
  keyspaces.share([kept]);
});

const numberOf = (of: Limit, among = keyspaces) => among.bind(of).keyspace;

/** So many other limits of former configurations. They are of one bucket, or of a bucket each. */
function bindOthers(count: number, bucketOf = (_i: number) => 'former'): void {
  for (let i = 0; i < count; i++) keyspaces.bind(limit(`1/${i + 1}s`, { bucket: bucketOf(i) }));
}

function overflowOf(of: Limit): Counter {
  const counter = newCounter();
  keyspaces.bind(of).loadOverflow(counter, false);
  return counter;
}

const numbersOf = ({ enforced }: Pick<BoundSet, 'enforced'>) =>
  enforced.limits.map(({ keyspace }) => keyspace);

describe('a keyspace', () => {
  test('is that of an identity, whatever the number of units and the set', () => {
    const more = limit('9/5s', { bucket: 'kept' });
    const longer = limit('5/6s', { bucket: 'kept' });
    expect(numberOf(more)).toBe(numberOf(kept));
    expect(numberOf(longer)).not.toBe(numberOf(kept));
    const bound = keyspaces.bindSet(limits({ caller: more, shadow: limits({ caller: kept }) }));
    const both = [bound.enforced, ...bound.shadow].flatMap(({ limits }) => limits);
    expect(both.map(each => each.limit)).toEqual([more, kept]);
    expect(both.map(each => each.keyspace)).toEqual([numberOf(kept), numberOf(kept)]);
  });

  test('of each role is bound by its own limit, in a partition of its own', () => {
    const set = limits({
      global: limit('1/1s', { role: 'global', bucket: '' }),
      caller: limit('1/1s'),
      group: limit('1/1s', { role: 'group', algorithm: 'smooth' }),
      resource: limit('1/1s', { role: 'resource' }),
    });
    const bound = keyspaces.bindSet(set);
    expect(bound.enforced.limits.map(each => each.limit)).toEqual([
      ...[set.global, set.caller, set.group, set.resource],
    ]);
    expect(bound.described.map(({ limit }) => limit)).toEqual([set.caller]);
    expect(bound.enforced.toLook.map(({ limit }) => limit.role)).toEqual([
      'global',
      'caller',
      'resource',
      'group',
    ]);
    expect(new Set(numbersOf(bound)).size).toBe(4);
    expect(new Set(numbersOf(bound).map(partitionOf)).size).toBe(4);
    expect(bound.shadow).toEqual([]);
  });

  test('of a set is looked up once', () => {
    const set = limits({ caller: kept });
    expect(keyspaces.bindSet(set)).toBe(keyspaces.bindSet(set));
  });

  test('has an overflow counter, in the same memory for all threads', () => {
    const [main, worker] = threadsOf(2);
    if (main === undefined || worker === undefined) throw new Error('there are two threads');
    const [one, other] = [main, worker].map(memory => start(memory));
    const state = { resetMs: 1_700_000_000_123.5, markMs: -0.25, count: 7, exhausted: true };
    const counter = newCounter();
    main.whole(() => one?.bind(kept).saveOverflow(state, false));
    worker.whole(() => other?.bind(kept).loadOverflow(counter, false));
    expect(counter).toEqual(state);
  });
});

test('the keyspaces of two names in the same memory are apart', () => {
  const [memory] = threadsOf(1);
  if (memory === undefined) throw new Error('there is a main thread');
  start(memory);
  const [one, other] = ['one', 'other'].map(name => new Keyspaces(memory, name, table));
  const counter = newCounter();
  memory.whole(() => {
    one?.bind(kept).saveOverflow({ ...newCounter(), resetMs: 9, count: 7 }, false);
    other?.bind(kept).loadOverflow(counter, false);
  });
  expect(counter.count).toBe(0);
});

describe('two configurations', () => {
  const MAX_LIMITS = mostLimits(CAPACITY);
  const limitsOf = (bucket: string, count = MAX_LIMITS) =>
    Array.from({ length: count }, (_, i) => limit(`1/${i + 1}s`, { bucket }));

  test('with the most limits that there may be have room together, so that threads that reload in turn forget nothing of each other', () => {
    const [main, worker] = threadsOf(2);
    if (main === undefined || worker === undefined) throw new Error('there are two threads');
    const threads = [
      { memory: main, keyspaces: start(main), inForce: limitsOf('new') },
      { memory: worker, keyspaces: start(worker), inForce: limitsOf('old') },
    ];
    const first = threads[0]?.keyspaces;
    main.whole(() => first?.share(limitsOf('old')));
    for (const each of threads) each.memory.whole(() => each.keyspaces.share(each.inForce));
    for (const each of threads)
      for (const space of each.inForce)
        each.memory.whole(() =>
          each.keyspaces.bind(space).saveOverflow({ ...newCounter(), resetMs: 9, count: 3 }, false),
        );
    const counter = newCounter();
    for (const each of threads)
      for (const space of each.inForce) {
        each.memory.whole(() => each.keyspaces.bind(space).loadOverflow(counter, false));
        expect(counter.count).toBe(3);
      }
  });

  test('may have no more, of which those of one identity count once', () => {
    const most = limitsOf('kept');
    const again = limit('9/1s', { bucket: 'kept' });
    expect(() => keyspaces.check([...most, again])).not.toThrow();
    expect(() => keyspaces.check([...most, limit('1/1s')])).toThrow(
      `there are more than ${MAX_LIMITS} limits`,
    );
  });
});

describe('a full table of keyspaces', () => {
  test.each([
    ['one bucket', () => 'former'],
    ['as many buckets', (i: number) => `former ${i}`],
  ])('forgets the limits of %s that are no longer in force, with their counters', (_what, bucketOf) => {
    const before = numberOf(kept);
    for (const space of [kept, limit('1/1s', { bucket: bucketOf(0) })]) {
      keyspaces.bind(space).saveOverflow({ ...newCounter(), resetMs: 9, count: 1 }, false);
      table.begin(0);
      const row = table.open(numberOf(space), 'user:a', '');
      table.save(row, { ...newCounter(), resetMs: 9, count: 1 });
    }
    bindOthers(MOST - 1, bucketOf);
    expect(table.size).toBe(2);
    bindOthers(MOST - 1, i => `${bucketOf(i)} next`);
    expect([table.size, table.callers, numberOf(kept)]).toEqual([1, 1, before]);
    expect(overflowOf(kept).count).toBe(1);
    const row = table.find(before, 'user:a', '');
    expect(row).toBeGreaterThanOrEqual(0);
    // One that takes the place of a forgotten one begins again.
    for (let i = 0; i < MOST - 1; i++)
      expect(overflowOf(limit(`1/${i + 1}s`, { bucket: `${bucketOf(i)} next` })).count).toBe(0);
  });

  test('takes no more limits than it has room for in force', () => {
    const all = Array.from({ length: MOST + 1 }, (_, i) => limit(`1/${i + 1}s`));
    keyspaces.share(all.slice(0, MOST));
    expect(new Set(all.slice(0, MOST).map(each => numberOf(each))).size).toBe(MOST);
    expect(() => keyspaces.bind(all[MOST] ?? kept)).toThrow(`there are more than ${MOST} limits`);
  });

  test('takes no set that has no room beside the limits in force, nor looks for it for ever', () => {
    keyspaces.share(Array.from({ length: MOST - 1 }, (_, i) => limit(`1/${i + 1}s`)));
    const former = limit('1/9s', { role: 'resource' });
    const set = limits({ caller: limit('1/7s', { bucket: 'former' }), resource: former });
    expect(() => keyspaces.bindSet(set)).toThrow(`there are more than ${MOST} limits`);
    expect(numbersOf(keyspaces.bindSet(limits({ resource: former })))).toEqual([numberOf(former)]);
  });

  test.each([1, 2, 3])('never counts in a place that it forgot for limit %i of the same set', last => {
    const shadow = limits({ caller: limit('2/7s', { isTrial: true }) });
    const set: LimitSet = limits({
      global: limit('1/7s', { role: 'global' }),
      caller: limit('1/7s'),
      resource: limit('1/7s', { role: 'resource' }),
      shadow,
    });
    // That many of the four find room before the others are forgotten.
    bindOthers(MOST - 1 - last);
    const bound = keyspaces.bindSet(set);
    const all = [bound.enforced, ...bound.shadow]
      .flatMap(({ limits }) => limits)
      .map(({ keyspace }) => keyspace);
    expect(new Set(all).size).toBe(4);
    expect(all).toEqual([
      ...[set.global, set.caller, set.resource, shadow.caller].flatMap(each =>
        each === null ? [] : [numberOf(each)],
      ),
    ]);
    // The set is not in force, so that others take its places next.
    bindOthers(MOST - 5, i => `next ${i % 3}`);
    expect(new Set(numbersOf(keyspaces.bindSet(set))).size).toBe(3);
  });

  test('is forgotten by all threads, which then look it up again', () => {
    const [main, worker] = threadsOf(2);
    if (main === undefined || worker === undefined) throw new Error('there are two threads');
    const set = limits({ caller: limit('1/9s') });
    keyspaces = start(main);
    const other = start(worker);
    worker.whole(() => other.bindSet(set));
    main.whole(() => {
      keyspaces.share([kept]);
      bindOthers(MOST - 2);
    });
    // The main thread forgets it, and gives its place to another limit.
    main.whole(() => bindOthers(MOST - 1, () => 'next'));
    const taken = new Set(
      main.whole(() =>
        Array.from({ length: MOST - 1 }, (_, i) => numberOf(limit(`1/${i + 1}s`, { bucket: 'next' }))),
      ),
    );
    expect(taken.size).toBe(MOST - 1);
    const [again] = worker.whole(() => numbersOf(other.bindSet(set)));
    expect(main.whole(() => numberOf(limit('1/9s')))).toBe(again);
  });

  test('loses nothing of a thread that has reloaded to one that has not, while there is room for the limits of both', () => {
    const [main, worker] = threadsOf(2);
    if (main === undefined || worker === undefined) throw new Error('there are two threads');
    const [former, fresh] = [limit('1/8s', { bucket: 'old' }), limit('1/9s', { bucket: 'new' })];
    const old = limits({ caller: former, resource: limit('1/8s', { role: 'resource', bucket: 'old' }) });
    keyspaces = start(main);
    const other = start(worker);
    worker.whole(() => other.share([kept, former]));
    main.whole(() => {
      keyspaces.share([kept, former]);
      bindOthers(MOST - 2);
      // There is no room left: all else is forgotten, what the other thread still has in force included.
      keyspaces.share([kept, fresh]);
      keyspaces.bind(fresh).saveOverflow({ ...newCounter(), resetMs: 9, count: 3 }, false);
    });
    const number = main.whole(() => numberOf(fresh));
    worker.whole(() => other.bindSet(old));
    const numbers = worker.whole(() => numbersOf(other.bindSet(old)));
    expect(new Set([...numbers, number]).size).toBe(3);
    worker.whole(() => other.share([kept, fresh]));
    expect(worker.whole(() => numberOf(fresh, other))).toBe(number);
    expect(main.whole(() => [numberOf(fresh), overflowOf(fresh).count])).toEqual([number, 3]);
  });

  test('is filled and emptied at once in memory that threads share, whose journal is short', () => {
    const [main] = threadsOf(2);
    if (main === undefined) throw new Error('there is a main thread');
    const capacity = 80_000;
    const most = defaultMaxKeyspaces(capacity);
    keyspaces = start(main, capacity);
    for (const name of ['first', 'next']) {
      const all = Array.from({ length: most }, (_, i) => limit('1/1s', { bucket: `${name} ${i}` }));
      main.whole(() => keyspaces.share(all));
      const numbers = main.whole(() => all.map(each => numberOf(each)));
      expect(new Set(numbers.map(partitionOf)).size).toBe(most);
    }
    main.whole(() => keyspaces.share([kept]));
    expect(main.whole(() => table.partitions.countsOf(partitionOf(numberOf(kept))).reserved)).toBe(
      capacity / 4,
    );
  });
});

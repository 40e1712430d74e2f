import { beforeEach, describe, expect, test } from 'vitest';
import {
  groupCounterKey,
  type Limit,
  type LimitSet,
  type MemoryStore,
} from '../../../../src/limits/index.ts';
import { threadsOf } from '../../../support/shared-memory.ts';
import { FrozenClock } from '../frozen-clock.ts';
import { limit, limits, newStore, windowIn } from '../stores.ts';

const global = limit('50/60s', { role: 'global', bucket: '' });
const plain = limit('3/60s', { bucket: 'plain' });
const ofEach = limit('2/60s', { main: 'id' });
const other = limit('2/60s', { main: 'id', bucket: 'other' });
const resource = limit('9/60s', { role: 'resource', main: 'id' });
const group = limit('9/60s', { role: 'group', claim: 'org' });

let clock: FrozenClock;
let store: MemoryStore;

beforeEach(() => {
  clock = new FrozenClock();
  store = newStore(clock, { keysPerCaller: 4 });
});

function ask(set: Partial<LimitSet>, caller: string, main = '', times = 1): void {
  for (let i = 0; i < times; i++) store.decide(limits(set), caller, main, 'acme');
}

/** The units that are left of each limit. */
async function left(of: readonly Limit[], caller: string, main = ''): Promise<number[]> {
  return (await store.allowances.read(of, caller, main)).allowances.map(({ remaining }) => remaining);
}

describe('what is left', () => {
  test('is shown of each limit with its Reset and the wait of the next request, and showing it opens no counter', async () => {
    ask({ global, caller: ofEach, resource }, 'user:a', '1', 2);
    clock.advance(10_000);
    ask({ resource }, 'user:b', '1');
    const resetAtMs = 1_700_000_060_000;
    const expected = {
      countedIn: 'memory',
      allowances: [
        { units: 50, remaining: 48, resetAtMs, waitMs: 0 },
        { units: 2, remaining: 0, resetAtMs, waitMs: 50_000 },
        { units: 9, remaining: 6, resetAtMs, waitMs: 0 },
        { units: 3, remaining: 3, resetAtMs: 1_700_000_010_000, waitMs: 0 },
      ],
      inFlight: [],
    };
    const all = [global, ofEach, resource, plain];
    expect(await store.allowances.read(all, 'user:a', '1')).toEqual(expected);
    expect(await store.allowances.read(all, 'user:a', '1')).toEqual(expected);
    expect(await left(all, 'user:b', '1')).toEqual([50, 2, 6, 3]);
    expect(store.counts.keys).toBe(3);
  });

  test('is shown of a group, whichever member asks', async () => {
    ask({ group }, 'user:a', '', 2);
    expect(await left([group], 'user:b', groupCounterKey('acme', ''))).toEqual([7]);
    expect(await left([group], 'user:a', groupCounterKey('initech', ''))).toEqual([9]);
  });

  test('is that of the shared counter for a value beyond those that a caller may hold', async () => {
    for (const main of ['1', '2', '3', '4', '5', '6']) ask({ caller: ofEach }, 'user:a', main);
    expect(await left([ofEach], 'user:a', '4')).toEqual([1]);
    expect(await left([ofEach], 'user:a', '9')).toEqual([0]);
    store.keysPerCaller = 6;
    expect(await left([ofEach], 'user:a', '9')).toEqual([2]);
  });
});

describe('a reset', () => {
  test('of one value forgets that of this caller alone, and that of all values beyond', async () => {
    for (const caller of ['user:a', 'user:b'])
      for (const main of ['1', '2', '3', '4', '5']) ask({ caller: ofEach }, caller, main);
    expect(await store.allowances.reset([ofEach], 'user:a', '1')).toBe('memory');
    expect(await Promise.all(['1', '2', '5'].map(main => left([ofEach], 'user:a', main)))).toEqual([
      ...[[2], [1], [2]],
    ]);
    expect(await Promise.all(['1', '2', '5'].map(main => left([ofEach], 'user:b', main)))).toEqual([
      ...[[1], [1], [1]],
    ]);
  });

  test('of all values forgets each that the caller holds of these limits, and nothing else', async () => {
    store.keysPerCaller = 9;
    for (const caller of ['user:a', 'user:b'])
      for (const main of ['1', '2']) ask({ global, caller: ofEach, resource }, caller, main);
    for (const main of ['1', '2']) ask({ caller: other }, 'user:a', main);
    ask({ caller: plain }, 'user:a');
    store.allowances.reset([ofEach, global, plain], 'user:a', null);
    const all = [global, ofEach, other, resource, plain];
    for (const main of ['1', '2']) {
      expect(await left(all, 'user:a', main)).toEqual([50, 2, 1, 7, 3]);
      expect(await left(all, 'user:b', main)).toEqual([48, 1, 2, 7, 3]);
    }
  });

  test('of a shared limit forgets what all its callers have consumed for one value', async () => {
    for (const main of ['1', '2']) ask({ resource, group }, 'user:a', main);
    store.allowances.reset([resource, group], '', '1');
    expect(await left([resource], '', '1')).toEqual([9]);
    expect(await left([resource], '', '2')).toEqual([8]);
    expect(await left([group], '', groupCounterKey('acme', '1'))).toEqual([8]);
    store.allowances.reset([group], '', groupCounterKey('acme', '1'));
    expect(await left([group], '', groupCounterKey('acme', '1'))).toEqual([9]);
  });

  test('of a caller without a counter changes none', async () => {
    ask({ caller: ofEach }, 'user:a', '1');
    store.share([ofEach, plain]);
    for (const main of ['1', '2', null]) store.allowances.reset([ofEach, plain], 'user:b', main);
    store.reset(ofEach, 'user:a', '2');
    store.reset(plain, 'user:b', '');
    expect(store.counts).toMatchObject({ keys: 1, callers: 1, partitions: [{ size: 1 }, { size: 0 }] });
    expect(await left([ofEach], 'user:a', '1')).toEqual([1]);
    for (let i = 0; i < 20; i++) ask({ caller: ofEach }, `user:${i}`, '1', 2);
    for (let i = 0; i < 20; i++) expect(await left([ofEach], `user:${i}`, '1')).toEqual([0]);
  });

  test('of one key forgets its units and no other’s', async () => {
    for (const main of ['1', '2']) ask({ caller: ofEach }, 'user:a', main, 2);
    store.reset(ofEach, 'user:a', '1');
    expect([await left([ofEach], 'user:a', '1'), await left([ofEach], 'user:a', '2')]).toEqual([[2], [0]]);
    clock.advance(60_000);
    store.reset(ofEach, 'user:a', '2');
    store.sweep();
    expect(store.counts).toMatchObject({ keys: 0, callers: 0 });
  });
});

test('every decision that admits, refund and reset is noted as a change once changes are counted', async () => {
  ask({ resource }, 'user:a', '1');
  expect(store.kept.changes).toBe(0);
  await store.kept.countChanges();
  const seen = [store.kept.changes];
  const resourceWindow = windowIn(store.decide(limits({ resource }), 'user:a', '1'), 'resource');
  seen.push(store.kept.changes);
  store.refund(resource, '1', resourceWindow);
  seen.push(store.kept.changes);
  store.reset(ofEach, 'user:a', '1');
  seen.push(store.kept.changes);
  store.allowances.reset([resource], '', '1');
  seen.push(store.kept.changes);
  expect(new Set(seen).size).toBe(5);
  expect(seen).not.toContain(0);
});

test('changes go on being counted after four billion of them', async () => {
  const [memory] = threadsOf(1);
  if (memory === undefined) throw new Error('there is a thread');
  store = newStore(clock, { memory });
  await store.kept.countChanges();
  ask({ caller: plain }, 'user:a', '', 2);
  expect(store.kept.changes).toBe(3);
  memory.whole(() => {
    const words = memory.words('limits moments', 10);
    words.set(words.ints.lastIndexOf(3), -1);
  });
  const seen = Array.from({ length: 3 }, (_, i) => {
    ask({ caller: plain }, `user:${i}`);
    return store.kept.changes;
  });
  expect(seen).toEqual([1, 2, 3]);
});

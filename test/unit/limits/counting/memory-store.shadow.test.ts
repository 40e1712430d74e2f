import { beforeEach, describe, expect, test } from 'vitest';
import {
  type Limit,
  type MemoryStore,
  NO_LIMITS,
  NO_SHADOW,
  parseQuota,
} from '../../../../src/limits/index.ts';
import { FrozenClock } from '../frozen-clock.ts';
import { limit, limits, newStore, windowIn } from '../stores.ts';

let clock: FrozenClock;
let store: MemoryStore;

beforeEach(() => {
  clock = new FrozenClock();
  store = newStore(clock);
});

const held = limit('5/5s');
const tried = limit('2/5s', { isTrial: true });
const resource = limit('1/5s', { role: 'resource', main: 'id' });

function inShadow(shadow: { global?: Limit; caller?: Limit; resource?: Limit }) {
  return { ...NO_LIMITS, ...shadow };
}

/** What the limits in shadow say about each of this many requests in a row. */
function refusedBy(times: number, set: Parameters<MemoryStore['decide']>[0], main = ''): string[] {
  return Array.from({ length: times }, () => {
    const { admitted, shadow } = store.decide(set, 'user:a', main);
    return admitted ? `+${shadow.refused.join()}` : 'refused';
  });
}

describe('a limit in shadow', () => {
  test('tells what it would refuse, and refuses nothing', () => {
    const set = limits({ shadow: inShadow({ caller: held }) });
    expect(refusedBy(7, set)).toEqual(['+', '+', '+', '+', '+', '+caller', '+caller']);
  });

  test('is not described: the client hears nothing of it', () => {
    const set = limits({ shadow: inShadow({ caller: held }) });
    expect(store.decide(set, 'user:a', '')).toMatchObject({ role: null, limit: 0, resetAtMs: 0 });
  });

  test('has a new window at the time at which it would have had one if it held', () => {
    const set = limits({ shadow: inShadow({ caller: held }) });
    refusedBy(9, set);
    clock.advance(4_900);
    expect(refusedBy(1, set)).toEqual(['+caller']);
    clock.advance(100);
    expect(refusedBy(6, set)).toEqual(['+', '+', '+', '+', '+', '+caller']);
  });

  test('beside numbers that hold has counters of its own', () => {
    const set = limits({ caller: held, shadow: inShadow({ caller: tried }) });
    expect(refusedBy(6, set)).toEqual(['+', '+', '+caller', '+caller', '+caller', 'refused']);
    expect(store.decide(set, 'user:a', '').shadow).toBe(NO_SHADOW);
  });

  test('is not asked, and not drawn on, by a request that what holds refuses', () => {
    const set = limits({
      caller: limit('1/5s'),
      shadow: inShadow({ global: limit('2/9s', { role: 'global' }) }),
    });
    expect(refusedBy(3, set)).toEqual(['+', 'refused', 'refused']);
    clock.advance(5_000);
    expect(refusedBy(1, set)).toEqual(['+']);
    clock.advance(3_000);
    expect(refusedBy(1, limits({ shadow: set.shadow }))).toEqual(['+global']);
  });

  test('that would refuse keeps no other from being drawn', () => {
    const caller = limit('1/5s', { main: 'id' });
    const set = limits({ global: limit('4/5s', { role: 'global' }), shadow: inShadow({ caller, resource }) });
    expect(refusedBy(1, set, '7')).toEqual(['+']);
    expect(refusedBy(1, set, '7')).toEqual(['+caller,resource']);
    expect(refusedBy(1, limits({ ...set, shadow: inShadow({ resource }) }), '8')).toEqual(['+']);
    // The resource of 8 is used up, and still the caller's is drawn on.
    expect(refusedBy(1, set, '8')).toEqual(['+resource']);
    expect(refusedBy(1, limits({ shadow: set.shadow }), '8')).toEqual(['+caller,resource']);
    expect(refusedBy(1, limits({ global: set.global }))).toEqual(['refused']);
  });

  test('with several windows draws on all of them or on none', () => {
    const [quota, long] = [parseQuota('2/5s'), parseQuota('3/1m')];
    const caller = limit('2/5s', { quota: { ...quota, more: [long] } });
    const set = limits({ shadow: inShadow({ caller }) });
    expect(refusedBy(4, set)).toEqual(['+', '+', '+caller', '+caller']);
    clock.advance(5_000);
    expect(refusedBy(2, set)).toEqual(['+', '+caller']);
  });

  test('keeps its counters when it begins to hold, and when it no longer does', () => {
    const global = limit('5/5s', { role: 'global', bucket: '' });
    for (const [each, role] of [
      [{ caller: held }, 'caller'],
      [{ global }, 'global'],
    ] as const) {
      const shadow = limits({ shadow: inShadow(each) });
      refusedBy(5, shadow, 'main');
      expect(store.decide(limits(each), 'user:a', 'main')).toMatchObject({ admitted: false, role });
      expect(refusedBy(1, shadow, 'main')).toEqual([`+${role}`]);
    }
  });

  test('of a caller or of all its requests has no unit to give back', () => {
    const shadow = inShadow({ global: limit('5/5s', { role: 'global', bucket: '' }), caller: held });
    const nothing = { refused: [], drawn: [] };
    for (let i = 0; i < 2; i++)
      expect(store.decide(limits({ shadow }), 'user:a', '7').shadow).toEqual(nothing);
  });

  test('gives a unit of a resource back', () => {
    const set = limits({ shadow: inShadow({ resource }) });
    const decision = store.decide(set, 'user:a', '7');
    const { shadow } = decision;
    const resourceWindow = windowIn(decision, 'resource');
    expect(resourceWindow).toBe(0);
    store.refund(resource, '7', windowIn(shadow, 'resource'));
    expect(refusedBy(2, set, '7')).toEqual(['+', '+resource']);
  });

  test('takes no room that others need: a store without any still decides', () => {
    const tiny = newStore(clock, { maxKeys: 1 });
    const set = { ...NO_LIMITS, caller: limit('1/5s'), shadow: inShadow({ caller: tried }) };
    expect(tiny.decide(set, 'user:a', '').admitted).toBe(true);
    expect(tiny.decide(set, 'user:a', '').admitted).toBe(false);
    expect(tiny.counts.keys).toBe(1);
  });

  test('without room of its own refuses by the counter that all share', () => {
    store = newStore(clock, { maxKeys: 1 });
    const set = { ...NO_LIMITS, caller: held, shadow: inShadow({ caller: tried }) };
    expect(refusedBy(4, set)).toEqual(['+', '+', '+caller', '+caller']);
    expect(store.counts).toMatchObject({ keys: 1, evictions: 0 });
  });

  test('is not asked by a peek', () => {
    const set = limits({ shadow: inShadow({ caller: limit('1/5s') }) });
    for (let i = 0; i < 3; i++) expect(store.peek(set, 'user:a', '').shadow).toBe(NO_SHADOW);
    expect(refusedBy(2, set)).toEqual(['+', '+caller']);
  });
});

import { beforeEach, describe, expect, test } from 'vitest';
import {
  groupCounterKey,
  type Limit,
  type LimitSet,
  type MemoryStore,
} from '../../../../src/limits/index.ts';
import { runs } from '../../../support/runs.ts';
import { FrozenClock } from '../frozen-clock.ts';
import { admittedOf, copyOf, limit, limits, newStore, windowIn } from '../stores.ts';

/** Addresses of a flood. */
const FLOOD = runs(1_000_000);

let clock: FrozenClock;
let store: MemoryStore;

beforeEach(() => {
  clock = new FrozenClock();
  store = newStore(clock);
});

const global = limit('6/1s', { role: 'global', bucket: '' });
const own = limit('3/5s', { main: 'channel_id' });
const resource = limit('4/10s', { role: 'resource', main: 'channel_id' });

function remaining(set: Partial<LimitSet>, caller: string, main = ''): number {
  return store.peek(limits(set), caller, main).remaining;
}

describe('the limit of a group', () => {
  const group = limit('3/5s', { role: 'group', claim: 'organization' });
  const split = limit('3/5s', { role: 'group', claim: 'organization', main: 'channel_id' });
  const decide = (set: Partial<LimitSet>, caller: string, main = '', name = 'acme') =>
    store.decide(limits(set), caller, main, name);

  test('counts its callers together, and other groups apart', () => {
    for (const caller of ['user:a', 'user:b', 'user:c'])
      expect(decide({ group }, caller).admitted).toBe(true);
    expect(decide({ group }, 'user:d')).toMatchObject({
      ...{ admitted: false, role: 'group', limit: 3, remaining: 0, sharedKey: true, otherParts: false },
    });
    expect(decide({ group }, 'user:a', '', 'initech').admitted).toBe(true);
  });

  test('counts each main value apart, for all its callers together, whatever the names hold', () => {
    for (const caller of ['user:a', 'user:b', 'user:c'])
      expect(decide({ group: split }, caller, 'c1').admitted).toBe(true);
    expect(decide({ group: split }, 'user:a', 'c1').admitted).toBe(false);
    expect(decide({ group: split }, 'user:a', 'c2').admitted).toBe(true);
    expect(decide({ group: split }, 'user:a', 'c1', 'acme\0').admitted).toBe(true);
    expect(decide({ group: split }, 'user:a', '1', 'acme\0c').admitted).toBe(true);
  });

  test('is never described by a success', () => {
    expect(decide({ group }, 'user:a')).toMatchObject({ admitted: true, role: null, limit: 0 });
    expect(decide({ caller: own, group: split }, 'user:a', 'c1')).toMatchObject({ role: 'caller', limit: 3 });
    const both = { resource, group: split };
    expect(decide(both, 'user:a', 'c2')).toMatchObject({ role: 'resource', limit: 4 });
  });

  test('takes nothing when another limit refuses, nor do the others when it refuses', () => {
    const set = { caller: limit('1/5s'), group };
    expect(admittedOf(9, () => decide(set, 'user:a'))).toBe(1);
    expect(admittedOf(9, () => decide({ group }, 'user:b'))).toBe(2);
    expect(decide(set, 'user:b')).toMatchObject({ admitted: false, role: 'group' });
    expect(remaining({ caller: set.caller }, 'user:b')).toBe(1);
  });

  test('gets its unit back', () => {
    const groupWindow = windowIn(decide({ group }, 'user:a'), 'group');
    admittedOf(2, () => decide({ group }, 'user:b'));
    store.refund(group, groupCounterKey('acme', ''), groupWindow);
    expect(admittedOf(9, () => decide({ group }, 'user:b'))).toBe(1);
  });

  test('counts as a key of its opener only where requests choose the main value', () => {
    store.keysPerCaller = 2;
    for (let i = 0; i < 5; i++) decide({ group }, 'user:a', '', `org${i}`);
    expect(store.counts.callerOverflows).toBe(0);
    for (const main of ['c1', 'c2', 'c3']) decide({ group: split }, 'user:a', main);
    expect(store.counts.callerOverflows).toBe(1);
    expect(windowIn(decide({ group: split }, 'user:a', 'c4'), 'group')).toBe(0);
    expect(admittedOf(9, () => decide({ group: split }, 'user:b', 'c4'))).toBe(3);
  });

  test('in shadow counts as a key of its opener only where requests choose the main value, too', () => {
    store.keysPerCaller = 2;
    const shadow = (tried: Limit, main: string, name: string) =>
      windowIn(decide({ shadow: limits({ group: tried }) }, 'user:a', main, name).shadow, 'group');
    for (let i = 0; i < 5; i++) expect(shadow(group, '', `org${i}`)).toBeGreaterThan(0);
    expect(store.counts).toMatchObject({ keys: 5, callers: 0 });
    for (const main of ['c1', 'c2']) expect(shadow(split, main, 'acme')).toBeGreaterThan(0);
    expect(shadow(split, 'c3', 'acme')).toBe(0);
    expect(store.counts).toMatchObject({ keys: 8, callers: 1 });
  });

  test('is tried in shadow', () => {
    const set = { shadow: limits({ group }) };
    const groupWindow = windowIn(decide(set, 'user:a').shadow, 'group');
    expect(groupWindow).toBeGreaterThan(0);
    admittedOf(2, () => decide(set, 'user:b'));
    expect(decide(set, 'user:c')).toMatchObject({ admitted: true, shadow: { refused: ['group'] } });
    store.refund(group, groupCounterKey('acme', ''), groupWindow);
    expect(decide(set, 'user:c').shadow.refused).toEqual([]);
  });

  test('has room of its own, and a stand-in that no other limit shares', () => {
    store = newStore(clock, { maxKeys: 16 });
    store.share([group, own]);
    for (let i = 0; i < 40; i++)
      decide({ group: limit('1/5s', { role: 'group', claim: 'organization' }) }, 'user:a', '', `o${i}`);
    expect(store.counts.partitions).toMatchObject([{ role: 'group' }, { role: 'caller', overflows: 0 }]);
    expect(store.counts.sharedOverflows).toBeGreaterThan(0);
    expect(store.decide(limits({ caller: own }), 'user:a', 'c1')).toMatchObject({ admitted: true });
  });
});

describe('one request on several limits', () => {
  const all = limits({ global, caller: own, resource });

  test('draws on all of them when all admit', () => {
    store.decide(all, 'user:a', 'c1');
    expect(remaining({ caller: global }, 'user:a')).toBe(5);
    expect(remaining({ caller: own }, 'user:a', 'c1')).toBe(2);
    expect(remaining({ resource }, '', 'c1')).toBe(3);
  });

  test('is described by the caller’s limit on admission', () => {
    expect(store.decide(all, 'user:a', 'c1')).toMatchObject({ role: 'caller', limit: 3, remaining: 2 });
  });

  test('is described by the resource’s limit if the bucket has no other', () => {
    const set = limits({ global, resource });
    expect(store.decide(set, 'user:a', 'c1')).toMatchObject({ role: 'resource', limit: 4, remaining: 3 });
  });

  test('has no bucket to describe if there is only the global limit, or none', () => {
    const nothing = { admitted: true, role: null, limit: 0, remaining: 0, resetAtMs: 0, resetAfterMs: 0 };
    expect(store.decide(limits({ global }), 'user:a', '')).toMatchObject(nothing);
    expect(store.decide(limits({}), 'user:a', '')).toMatchObject(nothing);
    expect(store.counts.keys).toBe(1);
  });

  test('draws on none when the caller’s limit refuses', () => {
    admittedOf(3, () => store.decide(all, 'user:a', 'c1'));
    expect(store.decide(all, 'user:a', 'c1')).toMatchObject({
      admitted: false,
      role: 'caller',
      sharedKey: false,
      otherParts: false,
    });
    expect(remaining({ caller: global }, 'user:a')).toBe(3);
    expect(remaining({ resource }, '', 'c1')).toBe(1);
  });

  test('draws on none when the resource’s limit refuses, and reports that key as shared', () => {
    admittedOf(3, () => store.decide(all, 'user:a', 'c1'));
    admittedOf(1, () => store.decide(all, 'user:b', 'c1'));
    expect(store.decide(all, 'user:b', 'c1')).toMatchObject({
      admitted: false,
      role: 'resource',
      limit: 4,
      retryAfterMs: 10_000,
      sharedKey: true,
    });
    expect(remaining({ caller: own }, 'user:b', 'c1')).toBe(2);
    expect(remaining({ caller: global }, 'user:b')).toBe(5);
  });

  test('draws on none when the global limit refuses', () => {
    admittedOf(3, () => store.decide(all, 'user:a', 'c1'));
    admittedOf(3, () => store.decide(all, 'user:a', 'c2'));
    expect(store.decide(all, 'user:a', 'c3')).toMatchObject({
      admitted: false,
      role: 'global',
      retryAfterMs: 1_000,
    });
    expect(remaining({ caller: own }, 'user:a', 'c3')).toBe(3);
    expect(remaining({ resource }, '', 'c3')).toBe(4);
  });

  test('creates no key when it is refused', () => {
    admittedOf(6, () => store.decide(limits({ global }), 'user:a', ''));
    expect(store.counts.keys).toBe(1);
    store.decide(all, 'user:a', 'c1');
    expect(store.counts.keys).toBe(1);
  });

  test('names the global limit first, even if a bucket’s wait is longer', () => {
    admittedOf(3, () => store.decide(all, 'user:a', 'c1'));
    admittedOf(3, () => store.decide(all, 'user:a', 'c2'));
    expect(store.decide(all, 'user:a', 'c1')).toMatchObject({ role: 'global', retryAfterMs: 1_000 });
  });

  test('names the bucket’s limit with the longest wait', () => {
    const short = limit('1/1s', { role: 'resource', main: 'channel_id' });
    store.decide(limits({ caller: own, resource: short }), 'user:a', 'c1');
    store.decide(limits({ caller: own }), 'user:a', 'c1');
    store.decide(limits({ caller: own }), 'user:a', 'c1');
    expect(store.decide(limits({ caller: own, resource: short }), 'user:a', 'c1')).toMatchObject({
      role: 'caller',
      retryAfterMs: 5_000,
    });
    const long = limit('1/18h', { role: 'resource', main: 'channel_id' });
    store.decide(limits({ resource: long }), 'user:b', 'c1');
    expect(store.decide(limits({ caller: own, resource: long }), 'user:a', 'c1')).toMatchObject({
      role: 'resource',
      retryAfterMs: 64_800_000,
    });
  });

  test('names, of limits with equal waits, the first in the order caller, group, resource', () => {
    const [caller, group, resource] = [
      limit('2/5s'),
      limit('2/5s', { role: 'group', claim: 'organization' }),
      limit('2/5s', { role: 'resource' }),
    ];
    const refusedBy = (set: Partial<LimitSet>) => store.decide(limits(set), 'user:a', '', 'acme').role;
    admittedOf(2, () => store.decide(limits({ caller, group, resource }), 'user:a', '', 'acme'));
    expect(refusedBy({ caller, group, resource })).toBe('caller');
    expect(refusedBy({ group, resource })).toBe('group');
    const longer = limit('1/6s', { role: 'group', claim: 'organization' });
    store.decide(limits({ group: longer }), 'user:b', '', 'acme');
    expect(refusedBy({ caller, group: longer, resource })).toBe('group');
  });

  test('costs one unit of the global limit, whatever it costs of the others', () => {
    const costly = limits({ global, resource: limit('4/10s', { role: 'resource', largestCost: 3 }) });
    expect(store.decide(costly, 'user:a', '', '', 3)).toMatchObject({ admitted: true, remaining: 1 });
    expect(store.decide(costly, 'user:a', '', '', 3)).toMatchObject({ admitted: false, role: 'resource' });
    expect(store.peek(costly, 'user:a', '', '', 2).admitted).toBe(false);
    expect(store.peek(costly, 'user:a', '')).toMatchObject({ admitted: true, remaining: 1 });
    expect(remaining({ caller: global }, 'user:a')).toBe(5);
  });
});

test('a Reset that was corrected after a step of the wall clock is announced again, however the clock then drifts', () => {
  const set = limits({ caller: limit('1/60s') });
  store.decide(set, 'user:a', '');
  clock.stepWorld(1_500);
  expect(store.decide(set, 'user:a', '').resetAtMs).toBe(1_700_000_061_500);
  clock.stepWorld(-700);
  expect(store.decide(set, 'user:a', '').resetAtMs).toBe(1_700_000_061_500);
});

describe('keys', () => {
  test('of two callers, main values or buckets are apart', () => {
    const caller = limits({ caller: own });
    const other = limits({ caller: limit('3/5s', { bucket: 'other', main: 'channel_id' }) });
    expect(admittedOf(5, () => store.decide(caller, 'user:a', 'c1'))).toBe(3);
    expect(admittedOf(5, () => store.decide(caller, 'user:b', 'c1'))).toBe(3);
    expect(admittedOf(5, () => store.decide(caller, 'user:a', 'c2'))).toBe(3);
    expect(admittedOf(5, () => store.decide(other, 'user:a', 'c1'))).toBe(3);
  });

  test('of a global limit do not depend on the main value', () => {
    const set = limits({ global });
    expect(admittedOf(5, () => store.decide(set, 'user:a', 'c1'))).toBe(5);
    expect(admittedOf(5, () => store.decide(set, 'user:a', 'c2'))).toBe(1);
  });

  test('of a resource do not depend on the caller', () => {
    const set = limits({ resource });
    expect(admittedOf(3, () => store.decide(set, 'user:a', 'c1'))).toBe(3);
    expect(admittedOf(3, () => store.decide(set, 'user:b', 'c1'))).toBe(1);
  });

  test('of the global limit, a bucket and its resource are apart even with the same name and period', () => {
    const set = limits({
      global: limit('2/5s', { role: 'global' }),
      caller: limit('2/5s'),
      resource: limit('2/5s', { role: 'resource' }),
    });
    expect(admittedOf(5, () => store.decide(set, 'user:a', ''))).toBe(2);
    expect(store.counts.keys).toBe(3);
  });

  test('disappear some time after their windows, and their callers with them', () => {
    const set = limits({ global, caller: own, resource });
    for (let i = 0; i < 100; i++) store.decide(set, `user:${i}`, `c${i}`);
    expect(store.counts).toMatchObject({ keys: 300, callers: 100 });
    clock.advance(10_000);
    store.sweep();
    expect(store.counts).toMatchObject({ keys: 0, callers: 0, evictions: 0 });
  });

  test('disappear without a tick too: each decision cleans more than it creates', () => {
    const set = limits({ global, caller: own, resource });
    for (let i = 0; i < 300; i++) store.decide(set, `user:${i}`, `c${i}`);
    expect(store.counts.keys).toBe(900);
    clock.advance(10_000);
    for (let i = 0; i < 300; i++) store.decide(limits({ global }), 'user:one', '');
    expect(store.counts.keys).toBe(1);
  });
});

describe('giving back a unit of a resource', () => {
  const set = limits({ resource });

  test('undoes the draw', () => {
    const resourceWindow = windowIn(store.decide(set, 'user:a', 'c1'), 'resource');
    store.refund(resource, 'c1', resourceWindow);
    expect(remaining(set, '', 'c1')).toBe(4);
    admittedOf(4, () => store.decide(set, 'user:a', 'c1'));
    store.refund(resource, 'c1', resourceWindow);
    expect(admittedOf(5, () => store.decide(set, 'user:a', 'c1'))).toBe(1);
  });

  test('does nothing when its window is over, also when the next one is open', () => {
    const resourceWindow = windowIn(store.decide(set, 'user:a', 'c1'), 'resource');
    clock.advance(9_990);
    admittedOf(2, () => store.decide(set, 'user:a', 'c1'));
    store.refund(resource, 'c1', resourceWindow);
    expect(remaining(set, '', 'c1')).toBe(2);
  });

  test('does nothing at the moment of Reset', () => {
    const resourceWindow = windowIn(store.decide(set, 'user:a', 'c1'), 'resource');
    clock.advance(10_000);
    store.refund(resource, 'c1', resourceWindow);
    expect(admittedOf(5, () => store.decide(set, 'user:a', 'c1'))).toBe(4);
  });

  test('does nothing for another resource, or one without draws', () => {
    const resourceWindow = windowIn(store.decide(set, 'user:a', 'c1'), 'resource');
    store.decide(set, 'user:a', 'c2');
    store.refund(resource, 'c3', resourceWindow);
    expect(remaining(set, '', 'c1')).toBe(3);
    expect(remaining(set, '', 'c2')).toBe(3);
    expect(store.counts.keys).toBe(2);
  });

  test('never gives back more than was drawn', () => {
    const resourceWindow = windowIn(store.decide(set, 'user:a', 'c1'), 'resource');
    for (let i = 0; i < 5; i++) store.refund(resource, 'c1', resourceWindow);
    expect(admittedOf(9, () => store.decide(set, 'user:a', 'c1'))).toBe(4);
  });

  test('is offered only when a unit was taken from a resource', () => {
    expect(windowIn(store.decide(limits({ caller: own }), 'user:a', 'c1'), 'resource')).toBe(0);
    admittedOf(4, () => store.decide(set, 'user:a', 'c1'));
    expect(windowIn(store.decide(set, 'user:a', 'c1'), 'resource')).toBe(0);
  });

  describe('of a smooth limit', () => {
    const smooth = limit('4/4s', { role: 'resource', algorithm: 'smooth' });
    const set = limits({ resource: smooth });

    test('undoes the draw, but Reset does not go back', () => {
      const first = copyOf(store.decide(set, 'user:a', 'c1'));
      const second = copyOf(store.decide(set, 'user:a', 'c1'));
      store.refund(smooth, 'c1', windowIn(first, 'resource'));
      expect(store.peek(set, '', 'c1')).toMatchObject({ remaining: 3, resetAtMs: second.resetAtMs });
    });

    test('does nothing once time has given the unit back', () => {
      const resourceWindow = windowIn(store.decide(set, 'user:a', 'c1'), 'resource');
      clock.advance(1_000);
      store.decide(set, 'user:a', 'c1');
      store.refund(smooth, 'c1', resourceWindow);
      expect(remaining(set, '', 'c1')).toBe(3);
    });

    test('does nothing once time has given the unit back, also where no request has come since', () => {
      const resourceWindow = windowIn(store.decide(set, 'user:a', 'c1'), 'resource');
      clock.advance(900);
      store.decide(set, 'user:a', 'c1');
      clock.advance(600);
      store.refund(smooth, 'c1', resourceWindow);
      expect(remaining(set, '', 'c1')).toBe(3);
    });

    test('never gives back more than was drawn', () => {
      const resourceWindow = windowIn(store.decide(set, 'user:a', 'c1'), 'resource');
      for (let i = 0; i < 5; i++) store.refund(smooth, 'c1', resourceWindow);
      expect(admittedOf(9, () => store.decide(set, 'user:a', 'c1'))).toBe(4);
    });
  });
});

describe('a look without drawing', () => {
  test('shows what is left now and when the quota will be full', () => {
    store.decide(limits({ caller: own }), 'user:a', 'c1');
    clock.advance(1_000);
    expect(store.peek(limits({ caller: own }), 'user:a', 'c1')).toMatchObject({
      admitted: true,
      role: 'caller',
      limit: 3,
      remaining: 2,
      resetAtMs: 1_700_000_005_000,
      resetAfterMs: 4_000,
    });
  });

  test('shows who would be refused', () => {
    admittedOf(3, () => store.decide(limits({ caller: own }), 'user:a', 'c1'));
    expect(store.peek(limits({ caller: own }), 'user:a', 'c1')).toMatchObject({
      admitted: false,
      remaining: 0,
      retryAfterMs: 5_000,
    });
  });

  test('shows the whole quota of a key without a counter, and creates no key', () => {
    expect(store.peek(limits({ caller: own }), 'user:a', 'c1')).toMatchObject({
      remaining: 3,
      resetAtMs: 1_700_000_000_000,
      resetAfterMs: 0,
    });
    expect(store.counts.keys).toBe(0);
  });

  test.each(['window', 'smooth'] as const)('shows the whole quota of a %s once that is over', algorithm => {
    const set = limits({ caller: limit('3/5s', { algorithm }) });
    // More than one decision frees.
    for (let i = 0; i < 9; i++) store.decide(set, `user:${i}`, '');
    clock.advance(6_000);
    expect(store.peek(set, 'user:8', '')).toMatchObject({
      remaining: 3,
      resetAtMs: 1_700_000_006_000,
      resetAfterMs: 0,
    });
  });
});

describe('a reload', () => {
  test('that raises a number admits the difference at once, in the same window', () => {
    admittedOf(3, () => store.decide(limits({ caller: own }), 'user:a', 'c1'));
    const raised = limits({ caller: limit('5/5s', { main: 'channel_id' }) });
    expect(store.decide(raised, 'user:a', 'c1')).toMatchObject({
      limit: 5,
      remaining: 1,
      resetAtMs: 1_700_000_005_000,
    });
  });

  test('that lowers a number below what is drawn leaves Remaining 0 and refuses until Reset', () => {
    admittedOf(3, () => store.decide(limits({ caller: own }), 'user:a', 'c1'));
    const lowered = limits({ caller: limit('2/5s', { main: 'channel_id' }) });
    clock.advance(1_000);
    expect(store.decide(lowered, 'user:a', 'c1')).toMatchObject({
      admitted: false,
      limit: 2,
      remaining: 0,
      retryAfterMs: 4_000,
    });
    clock.advance(4_000);
    expect(admittedOf(5, () => store.decide(lowered, 'user:a', 'c1'))).toBe(2);
  });

  test.each([
    ['period', limit('3/6s', { main: 'channel_id' })],
    ['algorithm', limit('3/5s', { main: 'channel_id', algorithm: 'smooth' })],
    ['main parameter', limit('3/5s', { main: 'guild_id' })],
    ['bucket name', limit('3/5s', { main: 'channel_id', bucket: 'b2' })],
  ])('that changes the %s starts over', (_what, changed) => {
    admittedOf(3, () => store.decide(limits({ caller: own }), 'user:a', 'c1'));
    expect(admittedOf(5, () => store.decide(limits({ caller: changed }), 'user:a', 'c1'))).toBe(3);
  });

  test('to the previous limits finds their counters again', () => {
    admittedOf(2, () => store.decide(limits({ caller: own }), 'user:a', 'c1'));
    store.decide(limits({ caller: limit('3/6s', { main: 'channel_id' }) }), 'user:a', 'c1');
    expect(admittedOf(5, () => store.decide(limits({ caller: own }), 'user:a', 'c1'))).toBe(1);
  });

  test('that gives bots their own number for the same period keeps what they have drawn', () => {
    admittedOf(2, () => store.decide(limits({ caller: limit('3/5s') }), 'bot:a', ''));
    expect(store.decide(limits({ caller: limit('9/5s') }), 'bot:a', '').remaining).toBe(6);
  });
});

describe('a caller with too many main values', () => {
  beforeEach(() => {
    store = newStore(clock, { keysPerCaller: 3 });
    for (const main of ['c1', 'c2', 'c3']) store.decide(limits({ caller: own }), 'user:a', main);
  });

  test('has one more key for all further values', () => {
    const set = limits({ caller: own });
    expect(['c4', 'c5', 'c6', 'c7'].map(main => store.decide(set, 'user:a', main).admitted)).toEqual([
      true,
      true,
      true,
      false,
    ]);
    expect(store.counts).toMatchObject({ keys: 4, callerOverflows: 4, sharedOverflows: 0 });
  });

  test('does not share that key with anyone else', () => {
    const set = limits({ caller: own });
    admittedOf(3, () => store.decide(set, 'user:a', 'c4'));
    const refused = { admitted: false, sharedKey: false, otherParts: true };
    expect(store.decide(set, 'user:a', 'c5')).toMatchObject(refused);
    const admitted = { admitted: true, sharedKey: false, otherParts: false };
    expect(store.decide(set, 'user:a', 'c2')).toMatchObject(admitted);
    expect(store.peek(set, 'user:a', 'c6')).toMatchObject(refused);
    admittedOf(3, () => store.decide(set, 'user:a', 'c1'));
    expect(store.decide(set, 'user:a', 'c1')).toMatchObject({ ...refused, otherParts: false });
    expect(admittedOf(5, () => store.decide(set, 'user:b', 'c4'))).toBe(3);
  });

  test('keeps the keys it has', () => {
    const set = limits({ caller: own });
    expect(admittedOf(9, () => store.decide(set, 'user:a', 'c4'))).toBe(3);
    expect(admittedOf(9, () => store.decide(set, 'user:a', 'c1'))).toBe(2);
  });

  test('shares one key of its own for the further resources that it opens, too', () => {
    const set = limits({ resource });
    expect(admittedOf(9, () => store.decide(set, 'user:a', 'c4'))).toBe(4);
    expect(store.decide(set, 'user:a', 'c5')).toMatchObject({
      ...{ admitted: false, role: 'resource', sharedKey: false, otherParts: true },
    });
    expect(store.counts).toMatchObject({ keys: 4, callerOverflows: 10 });
    expect(admittedOf(9, () => store.decide(set, 'user:b', 'c4'))).toBe(4);
  });

  test('still draws on a resource that others have opened', () => {
    const set = limits({ resource });
    expect(admittedOf(3, () => store.decide(set, 'user:b', 'c4'))).toBe(3);
    expect(store.decide(set, 'user:a', 'c4')).toMatchObject({ admitted: true, remaining: 0 });
    expect(store.decide(set, 'user:a', 'c4')).toMatchObject({ admitted: false, sharedKey: true });
    expect(store.decide(set, 'user:a', 'c5')).toMatchObject({ admitted: true, remaining: 3 });
  });

  test('returns no unit of that key, which does not tell the resources apart', () => {
    const set = limits({ resource });
    expect(windowIn(store.decide(set, 'user:a', 'c4'), 'resource')).toBe(0);
    expect(store.decide(limits({ shadow: limits({ resource }) }), 'user:a', 'c4').shadow).toEqual({
      ...{ refused: [], drawn: [] },
    });
  });

  test('never holds more than it may, also when one request opens two', () => {
    store.keysPerCaller = 4;
    store.decide(limits({ caller: own, resource }), 'user:a', 'c4');
    store.decide(limits({ caller: own, resource }), 'user:a', 'c5');
    // Four of its own, and one each for further values of both limits.
    expect(store.counts).toMatchObject({ keys: 6, callerOverflows: 2 });
    expect(store.peek(limits({ resource }), 'user:a', 'c6').remaining).toBe(2);
  });

  test('draws on the key of further values also where another limit of the same request took its last one', () => {
    const long = limit('2/1h', { role: 'resource', main: 'channel_id' });
    store.decide(limits({ resource: long }), 'user:a', 'c4');
    store.keysPerCaller = 5;
    const both = limits({ caller: own, resource: long });
    expect(store.decide(both, 'user:a', 'c5').admitted).toBe(true);
    store.keysPerCaller = 6;
    expect(store.decide(both, 'user:a', 'c6')).toMatchObject({
      ...{ admitted: false, role: 'resource', limit: 2, sharedKey: false, otherParts: true },
    });
    // Nothing was drawn, and what the refused request would have opened is gone.
    expect(store.counts).toMatchObject({ keys: 5, callerOverflows: 3 });
    expect(remaining({ caller: own }, 'user:a', 'c6')).toBe(3);
  });

  test('has a key of its own for each limit without main values', () => {
    for (const bucket of ['x', 'y']) {
      const plain = limits({ global, caller: limit('1/5s', { bucket }) });
      expect(store.decide(plain, 'user:a', '')).toMatchObject({ admitted: true });
      expect(store.decide(plain, 'user:a', '')).toMatchObject({ admitted: false, otherParts: false });
    }
    expect(store.counts).toMatchObject({ keys: 6, callerOverflows: 0 });
  });

  test('is counted as such by requests for further values alone', () => {
    store.decide(limits({ caller: own, resource }), 'user:a', 'c4');
    store.decide(limits({ global }), 'user:a', 'c5');
    expect(store.counts.callerOverflows).toBe(1);
  });

  test('holds resources that it opened until their windows are over', () => {
    store = newStore(clock, { keysPerCaller: 2 });
    const set = limits({ resource });
    for (const main of ['c1', 'c2', 'c3']) store.decide(set, 'user:a', main);
    expect(store.counts).toMatchObject({ keys: 3, callers: 1, callerOverflows: 1 });
    clock.advance(60_000);
    store.sweep();
    expect(store.counts).toMatchObject({ keys: 0, callers: 0 });
    expect(admittedOf(9, () => store.decide(set, 'user:a', 'c3'))).toBe(4);
    expect(store.counts.callerOverflows).toBe(1);
  });

  test('may have new keys when the old ones are gone', () => {
    clock.advance(5_000);
    store.sweep();
    expect(admittedOf(9, () => store.decide(limits({ caller: own }), 'user:a', 'c4'))).toBe(3);
    expect(admittedOf(9, () => store.decide(limits({ caller: own }), 'user:a', 'c5'))).toBe(3);
  });

  test('may have more after a reload that says so', () => {
    store.keysPerCaller = 4;
    expect(admittedOf(9, () => store.decide(limits({ caller: own }), 'user:a', 'c4'))).toBe(3);
    expect(store.counts.callerOverflows).toBe(0);
  });
});

describe('a full store', () => {
  const one = limits({ caller: limit('1/10s') });
  const two = limits({ caller: limit('2/10s') });

  beforeEach(() => {
    store = newStore(clock, { maxKeys: 4 });
  });

  test('drops the unexhausted key that is nearest to its Reset, and counts it', () => {
    for (const caller of ['a', 'b', 'c', 'd']) {
      store.decide(two, caller, '');
      clock.advance(10);
    }
    store.decide(two, 'e', '');
    expect(store.counts).toMatchObject({ keys: 4, evictions: 1, sharedOverflows: 0 });
    expect(['a', 'b', 'c', 'd', 'e'].map(caller => remaining(two, caller))).toEqual([2, 1, 1, 1, 1]);
  });

  test('holds no more keys for a hundred times as many addresses, and exhausted ones stay exhausted', () => {
    store = newStore(clock, { maxKeys: 1_000 });
    for (let i = 0; i < 10; i++) store.decide(one, `exhausted ${i}`, '');
    for (let i = 0; i < FLOOD; i++) store.decide(two, `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`, '');
    expect(store.counts.keys).toBe(1_000);
    for (let i = 0; i < 10; i++) expect(store.decide(one, `exhausted ${i}`, '').admitted).toBe(false);
  });

  test('replaces a key whose window is over without counting an eviction', () => {
    const short = limits({ caller: limit('2/1s', { bucket: 'short' }) });
    for (const caller of ['a', 'b', 'c']) store.decide(two, caller, '');
    store.decide(short, 'd', '');
    clock.advance(1_000);
    store.decide(two, 'e', '');
    expect(store.counts).toMatchObject({ keys: 4, evictions: 0 });
    expect(['a', 'b', 'c', 'e'].map(caller => remaining(two, caller))).toEqual([1, 1, 1, 1]);
  });

  test('never drops an exhausted key', () => {
    for (const caller of ['a', 'b', 'c']) store.decide(one, caller, '');
    for (let i = 0; i < 100; i++) expect(store.decide(two, `flood-${i}`, '').admitted).toBe(true);
    expect(['a', 'b', 'c'].map(caller => store.decide(one, caller, '').admitted)).toEqual([
      false,
      false,
      false,
    ]);
    expect(store.counts).toMatchObject({ keys: 4, evictions: 99 });
  });

  test.each(['window', 'smooth'] as const)(
    'drops an exhausted key of a %s limit once enough was given back for any request, and not before',
    algorithm => {
      const shared = limit('5/10s', { role: 'resource', main: 'id', algorithm, largestCost: 3 });
      const set = limits({ resource: shared });
      const windows = ['a', 'b', 'c', 'd'].map(main => {
        store.decide(set, 'user:a', main, '', 3);
        return windowIn(store.decide(set, 'user:a', main, '', 2), 'resource');
      });
      store.refund(shared, 'b', windows[1] ?? 0, 2);
      store.decide(set, 'user:a', 'e');
      expect(store.counts).toMatchObject({ evictions: 0, sharedOverflows: 1 });
      store.refund(shared, 'c', windows[2] ?? 0, 3);
      store.decide(set, 'user:a', 'e');
      expect(store.counts).toMatchObject({ evictions: 1, sharedOverflows: 1 });
      expect(['a', 'b', 'c', 'd'].map(main => remaining(set, '', main))).toEqual([0, 2, 5, 0]);
    },
  );

  test('full of exhausted keys lets one key per limit stand in for all others', () => {
    for (const caller of ['a', 'b', 'c', 'd']) store.decide(one, caller, '');
    expect(store.decide(two, 'e', '')).toMatchObject({ admitted: true, remaining: 1 });
    expect(store.decide(two, 'f', '')).toMatchObject({ admitted: true, remaining: 0 });
    expect(store.decide(two, 'g', '')).toMatchObject({
      admitted: false,
      sharedKey: true,
      retryAfterMs: 10_000,
      resetAtMs: 1_700_000_010_000,
    });
    const other = limits({ caller: limit('2/10s', { bucket: 'other' }) });
    expect(store.decide(other, 'g', '')).toMatchObject({ admitted: true, remaining: 1 });
    expect(store.counts).toMatchObject({ keys: 4, evictions: 0, sharedOverflows: 4 });
  });

  test('never drops a key of the request being decided', async () => {
    store = newStore(clock, { maxKeys: 8 });
    const [global, caller, shared] = [
      limit('9/9s', { role: 'global', bucket: '' }),
      limit('9/9s'),
      limit('9/9s', { role: 'resource' }),
    ];
    store.share([global, caller, shared]);
    for (let i = 0; i < 20; i++) {
      store.decide(limits({ global, caller, resource: shared }), `y${i}`, `main ${i}`);
      expect(await store.allowances.read([global], `y${i}`, '')).toMatchObject({
        allowances: [{ remaining: 8 }],
      });
      expect(remaining({ caller }, `y${i}`, `main ${i}`)).toBe(8);
      expect(remaining({ resource: shared }, '', `main ${i}`)).toBe(8);
    }
    expect(store.counts).toMatchObject({ keys: 8, sharedOverflows: 0 });
  });

  test('removes what it created for a group and a resource where the stand-in of callers refuses', () => {
    store = newStore(clock, { maxKeys: 24 });
    const [group, resource] = [
      limit('9/10s', { role: 'group', claim: 'org' }),
      limit('9/10s', { role: 'resource' }),
    ];
    store.share([limit('1/10s'), group, resource]);
    for (let i = 0; store.counts.sharedOverflows === 0; i++) store.decide(one, `${i}`, '');
    const { keys } = store.counts;
    expect(store.decide(limits({ ...one, group, resource }), 'new', '')).toMatchObject({
      ...{ admitted: false, role: 'caller', sharedKey: true },
    });
    expect(store.counts).toMatchObject({ keys, evictions: 0 });
  });

  test('gives no key away for a request that another limit refuses', () => {
    const global = limit('1/10s', { role: 'global', bucket: '' });
    store.decide(limits({ global }), 'a', '');
    for (const caller of ['b', 'c', 'd']) store.decide(two, caller, '');
    expect(store.decide({ ...two, global }, 'a', '').admitted).toBe(false);
    expect(store.counts).toMatchObject({ keys: 4, evictions: 0 });
  });

  test('removes what it created for a request that the stand-in refuses', () => {
    store = newStore(clock, { maxKeys: 1 });
    const set = limits({ global: limit('5/5s', { role: 'global' }), caller: limit('1/10s') });
    expect(store.decide(set, 'a', '')).toMatchObject({ admitted: true, remaining: 0 });
    clock.advance(5_000);
    expect(store.decide(set, 'b', '')).toMatchObject({ admitted: false, role: 'caller', sharedKey: true });
    expect(store.counts).toMatchObject({ keys: 0, callers: 0 });
  });
});

describe('the room of a store', () => {
  const [global, caller, other] = [
    limit('1/1h', { role: 'global', bucket: '' }),
    limit('1/1h', { main: 'm' }),
    limit('1/1h', { bucket: 'other' }),
  ];
  const shared = limit('1/1h', { role: 'resource', main: 'm' });
  const held = () =>
    Object.fromEntries(store.counts.partitions.map(({ bucket, role, size }) => [`${role} ${bucket}`, size]));

  beforeEach(() => {
    store = newStore(clock, { maxKeys: 80, keysPerCaller: 1_000 });
    store.share([global, caller, other, shared]);
  });

  test('is a quarter for the global limit, a quarter for all buckets, and half for those that need it', () => {
    for (let i = 0; i < 100; i++) store.decide(limits({ resource: shared }), 'attacker', `m${i}`);
    for (let i = 0; i < 100; i++) store.decide(limits({ global }), `g${i}`, '');
    for (let i = 0; i < 100; i++) store.decide(limits({ caller: other }), `o${i}`, '');
    // Six of twenty for each partition of a bucket; the two that are left over are lent, too.
    expect(held()).toEqual({ 'global ': 20, 'caller b': 0, 'caller other': 6, 'resource b': 48 });
  });

  test('that one limit has filled leaves every other its own, with a stand-in for itself alone', () => {
    for (let i = 0; i < 1_000; i++) store.decide(limits({ resource: shared }), 'attacker', `m${i}`);
    for (let i = 0; i < 20; i++) expect(store.decide(limits({ global }), `g${i}`, '').admitted).toBe(true);
    for (let i = 0; i < 6; i++) {
      expect(store.decide(limits({ caller: other }), `u${i}`, '').admitted).toBe(true);
      expect(store.decide(limits({ caller }), `u${i}`, 'm').admitted).toBe(true);
    }
    expect(store.decide(limits({ resource: shared }), 'stranger', 'fresh')).toMatchObject({
      ...{ admitted: false, sharedKey: true, otherParts: false },
    });
    // A partition that has filled its own part has a stand-in, too, which nobody else has drawn on.
    expect(store.decide(limits({ caller: other }), 'u6', '').admitted).toBe(true);
    expect(store.decide(limits({ caller: other }), 'u7', '')).toMatchObject({
      admitted: false,
      sharedKey: true,
    });
    const overflows = store.counts.partitions.map(({ overflows }) => overflows);
    expect(overflows.filter(count => count > 0)).toEqual([2, 953]);
    expect(store.counts).toMatchObject({ evictions: 0 });
  });

  test('goes to others when its counters are over, though nothing has swept them', () => {
    const short = limits({ caller: limit('1/1s', { bucket: 'other' }) });
    for (let i = 0; i < 100; i++) store.decide(short, `o${i}`, '');
    clock.advance(1_000);
    for (let i = 0; i < 48; i++)
      expect(store.decide(limits({ resource: shared }), 'user:a', `m${i}`).admitted).toBe(true);
    expect(store.counts).toMatchObject({ evictions: 0 });
  });

  test('is parted anew by a reload, which forgets no counter', () => {
    for (let i = 0; i < 48; i++) store.decide(limits({ resource: shared }), 'user:a', `m${i}`);
    for (let i = 0; i < 20; i++) store.decide(limits({ global }), `g${i}`, '');
    const others = Array.from({ length: 9 }, (_, i) => limit('1/1h', { bucket: `n${i}` }));
    store.share([global, ...others]);
    expect(store.counts.keys).toBe(68);
    for (let i = 0; i < 48; i++)
      expect(store.decide(limits({ resource: shared }), 'user:b', `m${i}`).admitted).toBe(false);
    for (let i = 0; i < 20; i++) expect(store.decide(limits({ global }), `g${i}`, '').admitted).toBe(false);
    // Each new bucket has its part, though the old one holds more than half.
    for (const caller of others) expect(store.decide(limits({ caller }), 'user:a', '').admitted).toBe(true);
    expect(store.counts).toMatchObject({ evictions: 0 });
  });

  test('that is reserved since a reload comes from what another was lent', () => {
    store = newStore(clock, { maxKeys: 8 });
    store.share([other]);
    const two = limits({ caller: limit('2/1h', { bucket: 'other' }) });
    for (let i = 0; i < 8; i++) store.decide(two, `u${i}`, '');
    store.share([global, other]);
    expect(store.decide(limits({ global }), 'user:a', '')).toMatchObject({ admitted: true });
    expect(store.counts).toMatchObject({ keys: 8, evictions: 1, sharedOverflows: 0 });
  });

  test('of numbers that are tried is apart, so that they never crowd out those that hold', () => {
    const tried = limit('1/1h', { main: 'm', isTrial: true });
    store.share([caller, tried]);
    for (let i = 0; i < 1_000; i++)
      store.decide(limits({ shadow: limits({ caller: tried }) }), 'user:a', `m${i}`);
    for (let i = 0; i < 10; i++)
      expect(store.decide(limits({ caller }), 'user:b', `m${i}`).admitted).toBe(true);
  });
});

describe('a network', () => {
  const ownersOf = (caller: string) =>
    caller.startsWith('user') ? [] : [{ key: caller.split('.')[0] ?? '', shares: 4 }];
  const shared = limits({ resource: limit('1/1h', { role: 'resource', main: 'm' }) });
  const opened = (caller: string, values: number) => {
    for (let i = 0; i < values; i++) store.decide(shared, caller, `${caller} ${i}`);
    return store.counts.keys;
  };

  beforeEach(() => {
    store = newStore(clock, { maxKeys: 160, ownersOf });
  });

  test('holds a sixteenth of all keys for main values; then its callers share one for further ones', () => {
    expect(opened('1.1', 8)).toBe(8);
    expect(opened('1.2', 8)).toBe(11);
    expect(opened('1.3', 8)).toBe(11);
    expect(store.decide(shared, '1.3', 'new')).toMatchObject({
      admitted: false,
      sharedKey: true,
      otherParts: false,
    });
    expect(opened('2.1', 8)).toBe(19);
    expect(opened('user', 40)).toBe(59);
  });

  test('holds a sixteenth of all addresses too, in a bucket without a main parameter and in the global limit', () => {
    for (const set of [
      limits({ caller: limit('1/1h') }),
      limits({ global: limit('1/1h', { role: 'global', bucket: '' }) }),
    ]) {
      const fresh = newStore(clock, { maxKeys: 160, ownersOf });
      const admitted = Array.from({ length: 40 }, (_, i) => fresh.decide(set, `1.${i}`, '').admitted);
      // Ten of its own, and one that stands in for all others.
      expect(admitted.filter(each => each)).toHaveLength(11);
      expect(fresh.decide(set, '1.99', '')).toMatchObject({ admitted: false, sharedKey: true });
      expect(fresh.decide(set, '2.1', '')).toMatchObject({ admitted: true });
      expect(fresh.counts).toMatchObject({ keys: 12, callers: 12, sharedOverflows: 0, callerOverflows: 31 });
    }
  });

  test('beyond that takes room from itself alone: what its callers have left gives way, and no stranger’s', () => {
    const set = limits({ caller: limit('2/1h') });
    for (let i = 0; i < 8; i++) store.decide(set, `3.${i}`, '');
    for (let i = 0; i < 500; i++) store.decide(set, `1.${i}`, '');
    expect(store.counts).toMatchObject({ keys: 18, evictions: 490 });
    for (let i = 0; i < 8; i++) {
      expect(store.decide(set, `3.${i}`, '')).toMatchObject({ admitted: true, remaining: 0 });
      expect(store.decide(set, `3.${i}`, '')).toMatchObject({ admitted: false, sharedKey: false });
    }
  });

  test('has what stands in for it reset with any of its addresses', async () => {
    const set = limits({ caller: limit('1/1h') });
    for (let i = 0; i < 40; i++) store.decide(set, `1.${i}`, '');
    expect(store.decide(set, '1.99', '').admitted).toBe(false);
    await store.allowances.reset([limit('1/1h')], '1.98', '');
    expect([store.decide(set, '1.99', '').admitted, store.decide(set, '1.98', '').admitted]).toEqual([
      true,
      false,
    ]);
  });

  test('may hold more again when its keys are over', () => {
    opened('1.1', 20);
    clock.advance(3_600_000);
    store.sweep();
    expect(store.counts.keys).toBe(0);
    expect(opened('1.2', 10)).toBe(10);
  });
});

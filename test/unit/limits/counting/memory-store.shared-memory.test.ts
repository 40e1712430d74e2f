import { beforeEach, describe, expect, test, vi } from 'vitest';
import { atOnce, inNextTurn, type TableMemory } from '../../../../src/core/index.ts';
import { type Limit, type MemoryStore, mostLimits } from '../../../../src/limits/index.ts';
import { threadsOf } from '../../../support/shared-memory.ts';
import { FrozenClock } from '../frozen-clock.ts';
import { copyOf, limit, limits, newStore, windowIn } from '../stores.ts';

const caller = limit('3/10s', { main: 'id' });
const resource = limit('4/10s', { role: 'resource', main: 'id' });
const KEYS = 600;

let clocks: readonly FrozenClock[];
let memories: readonly TableMemory[];
let stores: readonly MemoryStore[];

function at<T>(of: readonly T[], thread: number): T {
  const found = of[thread];
  if (found === undefined) throw new Error('no such thread');
  return found;
}
const [MAIN, ONE, TWO] = [0, 1, 2];
const store = (thread: number) => at(stores, thread);

beforeEach(() => {
  clocks = [MAIN, ONE, TWO].map(() => new FrozenClock());
  memories = threadsOf(3);
  stores = memories.map((memory, thread) => newStore(at(clocks, thread), { memory }));
});

function pass(ms: number): void {
  for (const clock of clocks) clock.advance(ms);
}

/** Lets the event loop turn so often. */
async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise<void>(resolve => inNextTurn(resolve));
}

describe('stores that share their memory', () => {
  test('look, refund and reset what any of them has counted', () => {
    const set = limits({ caller, resource });
    const resourceWindow = windowIn(store(ONE).decide(set, 'user:a', '1'), 'resource');
    expect(store(TWO).peek(set, 'user:a', '1')).toMatchObject({ admitted: true, remaining: 2 });
    store(TWO).refund(resource, '1', resourceWindow);
    store(TWO).reset(caller, 'user:a', '1');
    expect(store(MAIN).peek(set, 'user:a', '1').remaining).toBe(3);
    expect(store(MAIN).peek(limits({ resource }), '', '1').remaining).toBe(4);
    for (const each of stores) each.countCallerOverflow(caller);
    expect(stores.map(({ counts }) => [counts.keys, counts.callerOverflows])).toEqual([
      [1, 3],
      [1, 3],
      [1, 3],
    ]);
  });

  test('read and reset allowances as soon as no other thread is inside', async () => {
    store(ONE).decide(limits({ caller }), 'user:a', '1');
    const [read, reset] = at(memories, TWO).whole(() => [
      store(MAIN).allowances.read([caller], 'user:a', '1'),
      store(MAIN).allowances.reset([caller], 'user:a', '1'),
    ]);
    expect(await read).toMatchObject({ allowances: [{ remaining: 2 }] });
    expect(await reset).toBe('memory');
    expect(store(TWO).peek(limits({ caller }), 'user:a', '1').remaining).toBe(3);
  });

  test('have their room divided at once at the start, while no other thread is inside', () => {
    for (const thread of [MAIN, ONE]) {
      store(thread).share([caller, resource]);
      expect(store(thread).counts.partitions).toMatchObject([{ role: 'caller' }, { role: 'resource' }]);
      expect(() => at(memories, TWO).whole(() => store(thread).share([caller]))).toThrow('another thread');
    }
  });

  test('have it divided anew in steps, for which the main thread does not wait', async () => {
    const sharing = store(MAIN).shareInSteps([caller, resource]);
    const before = store(MAIN).counts.partitions;
    at(memories, ONE).whole(() => {
      for (let step = 0; step < 3; step++) expect(sharing.next().done).toBe(false);
    });
    expect(store(MAIN).counts.partitions).toEqual(before);
    await turns(3);
    atOnce(sharing);
    expect(store(MAIN).counts.partitions).toMatchObject([{ role: 'caller' }, { role: 'resource' }]);
  });

  test('have it divided to the last limit, however many there are, and decide between the steps', () => {
    const all = Array.from({ length: 200 }, (_, i) => limit('1/1h', { bucket: `b${i}` }));
    const [first, last] = [all[0] ?? caller, all.at(-1) ?? caller];
    const sharing = store(MAIN).shareInSteps(all);
    const decide = (of: Limit, i: number) => store(ONE).decide(limits({ caller: of }), `user:${i}`, '');
    for (let i = 0; sharing.next().done !== true; i++) expect(decide(first, i).admitted).toBe(true);
    expect(store(MAIN).counts.partitions).toHaveLength(all.length);
    // Whatever is not kept for others.
    for (let i = 0; i < 1_100; i++) decide(first, i);
    decide(last, 0);
    expect(store(MAIN).counts.partitions.at(-1)).toMatchObject({ bucket: 'b199', size: 1, overflows: 0 });
  });

  test('tell the one who has it divided in steps that it failed', async () => {
    vi.spyOn(at(memories, MAIN), 'soon').mockRejectedValueOnce(new Error('broken'));
    const sharing = store(MAIN).shareInSteps([caller]);
    expect(sharing.next().done).toBe(false);
    await turns(1);
    expect(() => sharing.next()).toThrow('broken');
  });

  test('refuse more limits than there may be at once, and go on with those that they had', () => {
    const tooMany = Array.from({ length: mostLimits(1_000) + 1 }, (_, i) => limit(`1/${i + 1}s`));
    store(MAIN).share([caller, resource]);
    for (const each of stores) expect(() => each.share(tooMany)).toThrow('there are more than 4096 limits');
    expect(store(MAIN).counts.partitions).toMatchObject([{ role: 'caller' }, { role: 'resource' }]);
  });
});

test('stores of other names count apart in the same memory, also where each has filled its room', () => {
  const options = { memory: at(memories, MAIN), maxKeys: 4 };
  const [one, other] = ['one', 'other'].map(name => newStore(at(clocks, MAIN), { ...options, name }));
  const once = limit('1/10s', { main: 'id' });
  for (const each of [one, other]) {
    each?.share([once]);
    expect(each?.counts).toMatchObject({
      keys: 0,
      callers: 0,
      callerOverflows: 0,
      partitions: [{ size: 0 }],
    });
    // The fifth finds no room and draws on the counter that stands in.
    const admitted = [1, 2, 3, 4, 5, 6].map(
      i => each?.decide(limits({ caller: once }), `user:${i}`, '1').admitted,
    );
    expect(admitted).toEqual([true, true, true, true, true, false]);
    each?.countCallerOverflow(once);
    expect(each?.counts).toMatchObject({ keys: 4, callers: 4, evictions: 0, sharedOverflows: 2 });
    expect(each?.counts).toMatchObject({ callerOverflows: 1, partitions: [{ size: 4 }] });
  }
});

describe('a sweep of shared counters', () => {
  const fill = () => {
    for (let i = 0; i < KEYS; i++) store(ONE).decide(limits({ caller }), `user:${i}`, '1');
  };

  test('is made by the main thread alone, which does not wait for the thread that is inside', async () => {
    fill();
    pass(10_000);
    for (const worker of [ONE, TWO]) store(worker).sweep();
    await turns(3);
    at(memories, ONE).whole(() => store(MAIN).sweep());
    expect(store(MAIN).counts.keys).toBe(KEYS);
    await turns(3);
    expect(store(MAIN).counts).toMatchObject({ keys: 0, callers: 0 });
  });

  test('is made in steps between which others decide, and begins when the one before has ended', async () => {
    fill();
    pass(10_000);
    const steps = vi.spyOn(at(memories, MAIN), 'soon');
    at(memories, ONE).whole(() => {
      for (let again = 0; again < 3; again++) store(MAIN).sweep();
    });
    expect(steps).toHaveBeenCalledTimes(Math.ceil(KEYS / 250));
    await turns(3);
    fill();
    pass(10_000);
    store(MAIN).sweep();
    expect(store(MAIN).counts.keys).toBe(0);
  });
});

describe('the moment of a store', () => {
  test('is that of its decisions', () => {
    const [alone, clock] = [newStore(at(clocks, MAIN)), at(clocks, MAIN)];
    const { decidedAtMs } = copyOf(alone.decide(limits({ caller }), 'user:a', '1'));
    expect([decidedAtMs, alone.nowMs()]).toEqual([1_700_000_000_000, decidedAtMs]);
    clock.advance(250);
    // The wall clock goes 200 ms slower: this does not go back.
    clock.stepWorld(-200);
    expect(alone.nowMs()).toBe(decidedAtMs + 250);
  });

  test('is read without the lock, and goes on from what another thread has noted', () => {
    at(clocks, ONE).stepWorld(600);
    const { decidedAtMs } = copyOf(store(ONE).decide(limits({ caller }), 'user:a', '1'));
    expect(store(TWO).nowMs()).toBe(decidedAtMs);
    expect(at(memories, MAIN).whole(() => store(TWO).nowMs())).toBe(decidedAtMs);
  });
});

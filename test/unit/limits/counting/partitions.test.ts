import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ownMemory } from '../../../../src/core/index.ts';
import { BORROWED, ORDINARY, Partitions, STAND_IN } from '../../../../src/limits/counting/partitions.ts';
import { type Limit, type LimitSet, MemoryStore } from '../../../../src/limits/index.ts';
import { played } from '../../../support/runs.ts';
import { FrozenClock } from '../frozen-clock.ts';
import { copyOf, limit, limits } from '../stores.ts';

const CAPACITY = 64;

const GLOBAL = limit('2/10s', { role: 'global', bucket: '' });
const BUCKETS = ['a', 'b', 'c'] as const;
/** The limits of a bucket; windows of one close while those of another are open. */
function bucket(name: string): LimitSet {
  const quota = { a: '1/1h', b: '2/3s', c: '3/60s' }[name] ?? '2/60s';
  return limits({
    global: GLOBAL,
    caller: limit(quota, { bucket: name, main: 'm' }),
    resource: limit(quota, { bucket: name, main: 'm', role: 'resource', algorithm: 'smooth' }),
  });
}
const SETS: readonly LimitSet[] = [limits({ global: GLOBAL }), ...BUCKETS.map(bucket)];
const VICTIM = bucket('victim');

function allOf(sets: readonly LimitSet[]): Limit[] {
  return sets.flatMap(({ global, caller, resource }) =>
    [global, caller, resource].filter(found => found !== null),
  );
}

/** A flood on any limits, by any of many callers, with any of many main values. */
const flood = fc.record({
  set: fc.nat({ max: SETS.length - 1 }),
  caller: fc.nat({ max: 500 }),
  main: fc.nat({ max: 500 }),
  times: fc.integer({ min: 1, max: 30 }),
});
const visit = fc.record({ caller: fc.nat({ max: 1 }), main: fc.nat({ max: 1 }) });
const steps = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: flood },
    { weight: 2, arbitrary: visit },
    fc.integer({ min: 1, max: 20_000 }),
  ),
  { minLength: 20, maxLength: 120 },
);

type Step =
  | { set: number; caller: number; main: number; times: number }
  | { caller: number; main: number }
  | number;

/** Runs the steps; `visits` decides about the requests of those who flood nothing. */
function run(
  history: readonly Step[],
  store: MemoryStore,
  clock: FrozenClock,
  visits: (step: { caller: number; main: number }) => void,
): void {
  for (const step of history) {
    if (typeof step === 'number') clock.advance(step);
    else if ('set' in step)
      for (let i = 0; i < step.times; i++)
        store.decide(SETS[step.set] ?? VICTIM, `flood ${step.caller + i}`, `m${step.main + i}`);
    else visits(step);
    expect(store.counts.keys).toBeLessThanOrEqual(CAPACITY);
  }
}

const newPartitions = (capacity = CAPACITY, most = 4) =>
  new Partitions(ownMemory(randomBytes), 'limits', capacity, most);

describe('a partition', () => {
  test('has its part of a quarter: of that for global limits, or of that for all others', () => {
    const partitions = newPartitions();
    const trial = limit('3/10s', { role: 'global', bucket: '', isTrial: true });
    const inForce = [GLOBAL, trial, ...['a', 'b', 'c'].map(name => limit('1/1s', { bucket: name }))];
    partitions.share(inForce.slice(0, 4));
    const reserved = () => inForce.map(each => partitions.countsOf(partitions.of(each)).reserved);
    expect(reserved().slice(0, 4)).toEqual([8, 8, 8, 8]);
    partitions.share(inForce.slice(1, 4));
    expect(reserved().slice(0, 4)).toEqual([0, 16, 8, 8]);
  });

  test('that exceeds what is reserved for it the most gives way; none does while each has its part', () => {
    const partitions = newPartitions();
    const [a, b, former] = ['a', 'b', 'former'].map(name => limit('1/1s', { bucket: name }));
    if (!a || !b || !former) throw new Error('there are three');
    partitions.share([a, b]);
    const [ofA, ofB, ofFormer] = [a, b, former].map(each => partitions.of(each));
    const grow = (partition = 0, times = 1) => {
      for (let i = 0; i < times; i++) partitions.grew(partition, ORDINARY);
    };
    grow(ofA, 8);
    grow(ofB, 7);
    expect(partitions.mostLent).toBe(-1);
    grow(ofA);
    expect(partitions.mostLent).toBe(ofA);
    grow(ofFormer, 2);
    expect(partitions.mostLent).toBe(ofFormer);
    grow(ofA, 2);
    expect(partitions.mostLent).toBe(ofA);
    partitions.share([a]);
    expect(partitions.mostLent).toBe(ofB);
  });

  test('is forgotten once it holds nothing and is not kept, and its place is the next one of another', () => {
    const partitions = newPartitions();
    const [kept, held, empty, other] = ['kept', 'held', 'empty', 'other'].map(name => partitions.named(name));
    partitions.grew(held ?? -1, ORDINARY);
    expect(partitions.named('a fifth')).toBe(-1);
    for (let again = 0; again < 2; again++) partitions.retain(new Set([kept ?? -1]));
    const places = ['new', 'newer', 'one too many'].map(name => partitions.named(name));
    expect(new Set(places)).toEqual(new Set([empty, other, -1]));
    expect(['kept', 'held'].map(name => partitions.named(name))).toEqual([kept, held]);
    expect(places.slice(0, 2).map(place => partitions.size(place))).toEqual([0, 0]);
  });

  test('counts its evictions and overflows, and all count those of the forgotten as well', () => {
    const partitions = newPartitions();
    const [first, other] = ['first', 'other'].map(name => partitions.named(name));
    if (first === undefined || other === undefined) throw new Error('there are two');
    for (const count of [first, other, other]) partitions.countEviction(count);
    for (const count of [first, first, first, other]) partitions.countOverflow(count);
    partitions.setHand(other, 7);
    const counts = [first, other].map(each => partitions.countsOf(each));
    expect(counts.map(({ evictions, overflows }) => [evictions, overflows])).toEqual([
      [1, 3],
      [2, 1],
    ]);
    expect([first, other].map(each => partitions.hand(each))).toEqual([-1, 7]);
    partitions.retain(new Set());
    expect(partitions.totals).toEqual({ evictions: 3, overflows: 4 });
    const { evictions, overflows } = partitions.countsOf(partitions.named('next'));
    expect([evictions, overflows]).toEqual([0, 0]);
  });
});

describe('the room of a table', () => {
  test('is all there is and never more, whatever is held, freed, forgotten and parted anew', () => {
    const change = fc.record({
      at: fc.nat({ max: 3 }),
      compartment: fc.constantFrom(ORDINARY, ORDINARY, STAND_IN, BORROWED),
      what: fc.constantFrom('grow', 'grow', 'shrink', 'share', 'retain'),
    });
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 140 }),
        fc.array(change, { minLength: 100, maxLength: 300 }),
        (capacity, changes) => {
          const named = [GLOBAL, ...BUCKETS.map(name => limit('1/1s', { bucket: name }))];
          const partitions = new Partitions(ownMemory(randomBytes), 'limits', capacity, named.length, true);
          partitions.share(named);
          let all = named.map(each => partitions.of(each));
          const total = () => all.reduce((sum, each) => sum + partitions.size(each), 0);
          const held = named.map(() => [0, 0, 0]);
          for (const { at, what, compartment } of changes) {
            if (what === 'retain') partitions.retain(new Set(all.slice(at)));
            all = named.map(each => partitions.of(each));
            const [partition = 0, sizes = []] = [all[at], held[at]];
            const size = sizes[compartment] ?? 0;
            if (what === 'share') partitions.share(named.slice(at));
            else if (what === 'shrink' && size > 0) {
              partitions.shrank(partition, compartment);
              sizes[compartment] = size - 1;
            } else if (what === 'grow' && total() < capacity && partitions.mayGrow(partition, compartment)) {
              partitions.grew(partition, compartment);
              sizes[compartment] = size + 1;
            }
            const reserved = all.map(each => partitions.reserved(each));
            const lendable = capacity - reserved.reduce((sum, each) => sum + each, 0);
            expect(lendable).toBeGreaterThanOrEqual(capacity / 2);
            // A sixteenth of a part is for what stands in for others, and nothing for what is borrowed.
            const rooms = reserved.map(each => [each - Math.floor(each / 16), Math.floor(each / 16), 0]);
            const lentOf = (i: number, of: number) => (held[i]?.[of] ?? 0) - (rooms[i]?.[of] ?? 0);
            let lent = 0;
            for (const i of all.keys())
              for (const kind of [ORDINARY, STAND_IN, BORROWED]) lent += Math.max(0, lentOf(i, kind));
            // A compartment that holds no more than its part may grow to it, and others while there is room to lend.
            for (const [i, each] of all.entries())
              for (const kind of [ORDINARY, STAND_IN, BORROWED]) {
                expect(partitions.mayGrow(each, kind)).toBe(lentOf(i, kind) < 0 || lent < lendable);
                expect(partitions.isLent(each, kind)).toBe(lentOf(i, kind) > 0);
              }
            expect(all.map(each => partitions.size(each))).toEqual(
              held.map(each => each.reduce((sum, one) => sum + one, 0)),
            );
          }
        },
      ),
      played(100),
    );
  });

  test('keeps the part of each bucket, whatever floods the others: decisions are those of a table without end', () => {
    fc.assert(
      fc.property(steps, history => {
        const clock = new FrozenClock();
        const store = new MemoryStore({ clock, randomBytes, maxKeys: CAPACITY });
        const endless = new MemoryStore({ clock, randomBytes, maxKeys: 100_000 });
        store.share(allOf([...SETS, VICTIM]));
        // Two callers and two values: two counters of resources and, of each value, two of callers fill what is theirs.
        const own = limits({ resource: VICTIM.resource });
        run(history, store, clock, ({ caller, main }) => {
          const expected = copyOf(endless.decide(own, `honest ${caller}`, `m${main}`));
          expect(copyOf(store.decide(own, `honest ${caller}`, `m${main}`))).toEqual(expected);
        });
      }),
      played(100),
    );
  });

  test('keeps what is exhausted exhausted, whatever floods come and whichever buckets a reload adds', () => {
    fc.assert(
      fc.property(steps, history => {
        const clock = new FrozenClock();
        const store = new MemoryStore({ clock, randomBytes, maxKeys: CAPACITY });
        store.share(allOf(SETS));
        const once = limits({ caller: limit('1/18h', { bucket: 'a' }) });
        store.decide(once, 'spent', '');
        let reloads = 0;
        run(history, store, clock, () => {
          const before = store.counts.keys;
          store.share(allOf([...SETS.slice(reloads % 3), bucket(`new ${reloads++}`)]));
          expect(store.counts.keys).toBe(before);
        });
        expect(store.decide(once, 'spent', '').admitted).toBe(false);
      }),
      played(100),
    );
  });
});

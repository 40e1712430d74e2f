import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ownMemory } from '../../../../src/core/index.ts';
import { Partitions } from '../../../../src/limits/counting/partitions.ts';
import { type Limit, type LimitSet, MemoryStore } from '../../../../src/limits/index.ts';
import { FrozenClock } from '../frozen-clock.ts';
import { copyOf, limit, limits } from '../stores.ts';

const CAPACITY = 64;
const RUNS = Number(process.env['HISTORIES'] ?? 100);

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

describe('the room of a table', () => {
  test('is all there is and never more, whatever is held, freed, forgotten and parted anew', () => {
    const change = fc.record({
      at: fc.nat({ max: 3 }),
      what: fc.constantFrom('grow', 'grow', 'shrink', 'share', 'retain'),
    });
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 40 }),
        fc.array(change, { minLength: 100, maxLength: 200 }),
        (capacity, changes) => {
          const named = [GLOBAL, ...BUCKETS.map(name => limit('1/1s', { bucket: name }))];
          const partitions = new Partitions(ownMemory(randomBytes), 'limits', capacity, named.length);
          partitions.share(named);
          let all = named.map(each => partitions.of(each));
          const total = () => all.reduce((sum, each) => sum + partitions.size(each), 0);
          for (const { at, what } of changes) {
            if (what === 'retain') partitions.retain(new Set(all.slice(at)));
            all = named.map(each => partitions.of(each));
            const partition = all[at] ?? 0;
            if (what === 'share') partitions.share(named.slice(at));
            else if (what === 'shrink' && partitions.size(partition) > 0) partitions.shrank(partition);
            else if (what === 'grow' && total() < capacity && partitions.mayGrow(partition))
              partitions.grew(partition);
            const counts = all.map(each => partitions.countsOf(each));
            const allReserved = counts.reduce((sum, { reserved }) => sum + reserved, 0);
            expect(allReserved).toBeLessThanOrEqual(capacity / 2);
            const lent = counts.reduce((sum, { size, reserved }) => sum + Math.max(0, size - reserved), 0);
            // Whoever holds no more than its part may grow to it, and others while there is room to lend.
            for (const [i, each] of all.entries()) {
              const { size = 0, reserved = 0 } = counts[i] ?? {};
              expect(partitions.mayGrow(each)).toBe(size < reserved || lent < capacity - allReserved);
            }
          }
        },
      ),
      { numRuns: RUNS },
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
      { numRuns: RUNS },
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
      { numRuns: RUNS },
    );
  });
});

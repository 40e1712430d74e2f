// The protocol of shared memory, run by the real store, against the obvious model.
//
// Its steps are: take the lock (one atomic operation), write words (each first into the journal), empty the journal (one atomic
// operation), free the lock (one atomic operation). While one thread holds the lock, another can do nothing but look at it: that is
// asserted wherever a dead thread holds it. So the bodies of changes follow one another, and what can interleave are whole changes,
// deaths at each step of one, and the moment at which the main thread hears of a death. These are enumerated.
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SharedMemory } from '../../../../src/core/index.ts';
import { type LimitSet, type MemoryStore, NO_LIMITS } from '../../../../src/limits/index.ts';
import { runs, seedOfRun } from '../../../support/runs.ts';
import { FrozenClock } from '../frozen-clock.ts';
import { type AskedStore, History } from '../history.ts';
import { copyOfAll, LockTaken, MortalThreads } from '../mortal-threads.ts';
import { admittedOf, copyOf, limit, newStore } from '../stores.ts';

const first = limit('2/1h', { role: 'global', bucket: '' });
const second = limit('1/1h', { role: 'resource', main: 'm' });
const ONE: LimitSet = { ...NO_LIMITS, global: first };
const BOTH: LimitSet = { ...NO_LIMITS, global: first, resource: second };

/** The obvious model: how many units of each limit are consumed. */
type Counts = Readonly<Record<'global' | 'resource', number>>;

function admits(counts: Counts, set: LimitSet): boolean {
  return counts.global < first.units && (set.resource === null || counts.resource < second.units);
}

function after(counts: Counts, set: LimitSet): Counts {
  if (!admits(counts, set)) return counts;
  return { global: counts.global + 1, resource: counts.resource + (set.resource === null ? 0 : 1) };
}

const THREADS = 3;
/** Histories use some dozens of records, interleavings a few: those of one key, and what one change writes into a journal. */
const COPIED_BYTES = { histories: 40_000, interleavings: 4_000 };
const HISTORIES = runs(100);
const STEPS = 200;
const number = fc.noBias(fc.nat({ max: 2 ** 40 }));
const history = fc.record({
  configuration: number,
  steps: fc.array(number, { minLength: STEPS, maxLength: STEPS, size: 'max' }),
});

interface Point {
  /** What each thread has yet to decide. */
  readonly left: readonly (readonly LimitSet[])[];
  readonly counts: Counts;
  /** Threads whose death the main thread has not heard of. */
  readonly dead: readonly number[];
  readonly deathsLeft: number;
}

/** Runs all interleavings of what threads have to decide, from one point on, and counts their ends. */
class Interleavings {
  readonly #threads: MortalThreads;
  ends = 0;
  deaths = 0;

  constructor(threads: number) {
    this.#threads = new MortalThreads(
      threads,
      { clock: new FrozenClock(), maxKeys: 8 },
      COPIED_BYTES.interleavings,
    );
    this.#threads.mainStore.share([first, second]);
  }

  /** Decides before anything else. Returns what is then consumed. */
  decideFirst(set: LimitSet): Counts {
    this.#threads.mainStore.decide(set, 'user:a', 'x');
    return after({ global: 0, resource: 0 }, set);
  }

  run(point: Point): void {
    const back = copyOfAll(this.#threads.main, COPIED_BYTES.interleavings);
    const replaced = point.dead.length > 0;
    for (const [thread, sets] of point.left.entries()) {
      const [set] = sets;
      if (set === undefined || point.dead.includes(thread) || this.#isTaken(thread, point)) continue;
      this.#decide(point, thread, set);
      back();
      if (point.deathsLeft > 0) this.#die(point, thread, set, back);
    }
    for (const thread of point.dead) {
      this.#threads.replace(thread);
      this.run({ ...point, dead: point.dead.filter(other => other !== thread) });
      back();
    }
    if (!replaced && point.left.every(sets => sets.length === 0)) this.#end(point);
  }

  /** Whether a dead thread holds the lock. Then another can do nothing. */
  #isTaken(thread: number, { dead }: Point): boolean {
    try {
      this.#threads.stores[thread]?.peek(NO_LIMITS, 'user:a', '');
      return false;
    } catch (error) {
      if (dead.length === 0 || !(error instanceof LockTaken)) throw error;
      return true;
    }
  }

  #decide(point: Point, thread: number, set: LimitSet): void {
    const store = this.#threads.stores[thread];
    expect(store?.decide(set, 'user:a', 'x').admitted).toBe(admits(point.counts, set));
    this.run({ ...without(point, thread), counts: after(point.counts, set) });
  }

  #die(point: Point, thread: number, set: LimitSet, back: () => void): void {
    for (let step = 0; ; step++) {
      const death = this.#threads.die(thread, step, store => store.decide(set, 'user:a', 'x'));
      if (death === null) break;
      this.deaths++;
      this.run({
        ...without(point, thread),
        counts: death.stays ? after(point.counts, set) : point.counts,
        dead: [...point.dead, thread],
        deathsLeft: point.deathsLeft - 1,
      });
      back();
      this.#threads.replace(thread);
      back();
    }
    back();
  }

  #end({ counts }: Point): void {
    this.ends++;
    const { mainStore } = this.#threads;
    const left = (set: LimitSet) => admittedOf(3, () => mainStore.decide(set, 'user:a', 'x'));
    expect(left({ ...NO_LIMITS, resource: second })).toBe(second.units - counts.resource);
    expect(left(ONE)).toBe(first.units - counts.global);
  }
}

function without(point: Point, thread: number): Point {
  return { ...point, left: point.left.map((sets, i) => (i === thread ? sets.slice(1) : sets)) };
}

test('time never goes back after a decision, though the clock of another thread is 3 ms behind', () => {
  const main = SharedMemory.create(1, randomBytes);
  const [aheadClock, clock] = [new FrozenClock(), new FrozenClock()];
  aheadClock.advance(3);
  const aheadStore = newStore(aheadClock, { memory: main });
  const store = newStore(clock, { memory: new SharedMemory(main.handover, 1) });
  const set = { ...NO_LIMITS, caller: limit('5/5s', { algorithm: 'smooth' }) };
  const { decidedAtMs, resetAtMs, ...first } = copyOf(aheadStore.decide(set, 'user:a', ''));
  expect(first).toMatchObject({ remaining: 4, resetAfterMs: 1_000 });
  // What happens next, such as the refund of a unit, is logged as of then, too.
  expect(store.nowMs()).toBe(decidedAtMs);
  expect(store.decide(set, 'user:a', '')).toMatchObject({
    remaining: 3,
    resetAfterMs: 2_000,
    decidedAtMs,
    resetAtMs: resetAtMs + 1_000,
  });
});

describe('all interleavings, with a death at each step', () => {
  test.each<[string, LimitSet[][], number]>([
    ['two threads, two limits', [[BOTH, ONE], [BOTH]], 1],
    ['three threads, one limit', [[ONE], [ONE], [ONE]], 1],
    ['three threads, two limits', [[BOTH], [BOTH], [ONE]], 1],
  ])('%s: each decision counts as a whole or not at all', (_name, left, deathsLeft) => {
    const all = new Interleavings(left.length);
    all.run({ left, counts: { global: 0, resource: 0 }, dead: [], deathsLeft });
    expect(all.deaths).toBeGreaterThan(200);
  });

  test('two threads, counters that exist, two deaths: each decision counts as a whole or not at all', () => {
    const all = new Interleavings(2);
    all.run({ left: [[ONE], [ONE]], counts: all.decideFirst(ONE), dead: [], deathsLeft: 2 });
    expect(all.deaths).toBeGreaterThan(200);
  });
});

/** Asks threads by turns. Now and then, one of them dies in the middle of the same question, before another answers it. */
function byTurns(clock: FrozenClock): AskedStore {
  const threads = new MortalThreads(THREADS, { clock, maxKeys: 64 }, COPIED_BYTES.histories);
  let turn = 0;
  const next = (): MemoryStore => threads.stores[++turn % THREADS] ?? threads.mainStore;
  return {
    decide(...asked) {
      const store = next();
      const dying = (turn + 1) % THREADS;
      // Too early a step for its change to stay: the naive limiter does not count it either. Places are not in this memory.
      const dies =
        turn % 7 === 0 && [asked[0], asked[0].shadow].every(set => (set?.concurrent ?? null) === null);
      if (dies && threads.die(dying, turn % 5, other => other.decide(...asked)) !== null)
        threads.replace(dying);
      return store.decide(...asked);
    },
    peek: (...asked) => next().peek(...asked),
    refund: (...asked) => next().refund(...asked),
  };
}

test(`in ${HISTORIES} histories, threads that share counters, and some die, decide as a naive limiter does`, () => {
  fc.assert(
    fc.property(history, ({ configuration, steps }) =>
      new History(configuration, (_own, clock) => byTurns(clock)).run(steps),
    ),
    { seed: seedOfRun(), numRuns: HISTORIES, endOnFailure: true },
  );
});

import { expect, test } from 'vitest';
import { type Limit, type LimitSet, type MemoryStore, NO_LIMITS } from '../../../../src/limits/index.ts';
import { runs, seedOfRun } from '../../../support/runs.ts';
import { FrozenClock } from '../frozen-clock.ts';
import { MortalThreads } from '../mortal-threads.ts';
import { expectAllRoom, limit, windowIn } from '../stores.ts';

const OPERATIONS = runs(25_000);
const THREADS = 3;
const CALLERS = 12;
const MAINS = 6;
const BUCKETS = ['a', 'b', 'c'];
const MAX_KEYSPACES = 256;
/** More than the table has room for: those of former configurations are forgotten. */
const RELOADS = 3 * MAX_KEYSPACES;
const KEYS_OF_RELOADS = 1_000;

function bucket(name: string): LimitSet {
  const options = { bucket: name, main: 'm', windowSlackMs: 0 };
  return {
    ...NO_LIMITS,
    global: limit('40/30s', { role: 'global', bucket: '', windowSlackMs: 0 }),
    caller: limit('3/10s', options),
    resource: limit('9/20s', { ...options, role: 'resource' }),
  };
}

const SETS = BUCKETS.map(bucket);

function limitsOf(sets: readonly LimitSet[]): Limit[] {
  return sets
    .flatMap(({ global, caller, resource }) => [global, caller, resource])
    .filter(each => each !== null);
}

/** Numbers that repeat with their seed. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return below => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** The obvious model: the window and the units of each key. */
class Windows {
  readonly #byKey = new Map<string, { resetMs: number; units: number }>();
  #nowMs = 0;

  at(nowMs: number): this {
    this.#nowMs = Math.floor(nowMs);
    return this;
  }

  /** Units that are left. */
  left(limit: Limit, key: string): number {
    return limit.units - (this.#open(key)?.units ?? 0);
  }

  consume(limit: Limit, key: string): void {
    const open = this.#open(key);
    if (open === undefined) this.#byKey.set(key, { resetMs: this.#nowMs + limit.periodMs, units: 1 });
    else open.units++;
  }

  refund(key: string, window: number): void {
    const open = this.#open(key);
    if (open?.resetMs === window && open.units > 0) open.units--;
  }

  reset(key: string): void {
    this.#byKey.delete(key);
  }

  #open(key: string): { resetMs: number; units: number } | undefined {
    const window = this.#byKey.get(key);
    return window !== undefined && this.#nowMs < window.resetMs ? window : undefined;
  }
}

function keysOf({ global, caller, resource }: LimitSet, who: string, main: string): [Limit, string][] {
  const keys: [Limit | null, string][] = [
    [global, `global ${who}`],
    [caller, `${caller?.bucket} ${who} ${main}`],
    [resource, `${resource?.bucket} ${main}`],
  ];
  return keys.flatMap(([limit, key]) => (limit === null ? [] : [[limit, key]]));
}

/** Runs operations by turns of threads, of which some die. `model`: null where keys are evicted, so that counts are forgotten. */
function operate(maxKeys: number, seed: number, model: Windows | null): void {
  const clock = new FrozenClock();
  const threads = new MortalThreads(THREADS, { clock, maxKeys });
  const next = numbers(seed);
  const refundable: { limit: Limit; main: string; key: string; window: number }[] = [];
  threads.mainStore.share(limitsOf(SETS));

  const decide = (set: LimitSet, who: string, main: string) => {
    const turn = next(THREADS);
    const store = threads.stores[turn] ?? threads.mainStore;
    const keys = keysOf(set, who, main);
    const isAdmitted = model !== null && keys.every(([limit, key]) => model.left(limit, key) > 0);
    const consume = () => {
      if (isAdmitted) for (const [limit, key] of keys) model?.consume(limit, key);
    };
    if (next(100) === 0) {
      const death = threads.die(turn, next(60), dying => dying.decide(set, who, main));
      if (death === null || death.stays) consume();
      if (death !== null) threads.replace(turn);
      return;
    }
    const decision = store.decide(set, who, main);
    const { admitted } = decision;
    const resourceWindow = windowIn(decision, 'resource');
    if (model !== null) expect(admitted).toBe(isAdmitted);
    consume();
    if (admitted && set.resource !== null && resourceWindow > 0)
      refundable.push({
        limit: set.resource,
        main,
        key: `${set.resource.bucket} ${main}`,
        window: resourceWindow,
      });
  };

  for (let operation = 0; operation < OPERATIONS; operation++) {
    if (next(20) === 0) clock.advance(next(2_000));
    model?.at(clock.monotonicMs());
    const kind = next(100);
    const set = SETS[next(SETS.length)] ?? NO_LIMITS;
    const who = `user:${next(CALLERS)}`;
    const main = `m${next(MAINS)}`;
    const store = threads.stores[next(THREADS)] ?? threads.mainStore;
    if (kind < 85) decide(set, who, main);
    else if (kind < 93) {
      const [unit] = refundable.splice(next(Math.max(1, refundable.length)), 1);
      if (unit === undefined) continue;
      store.refund(unit.limit, unit.main, unit.window);
      model?.refund(unit.key, unit.window);
    } else if (kind < 97 && set.caller !== null) {
      store.reset(set.caller, who, main);
      model?.reset(`${set.caller.bucket} ${who} ${main}`);
    } else {
      // A reload with a name that no configuration had, known to all threads, and used.
      const added = bucket(`new ${operation}`);
      for (const each of [threads.mainStore, ...threads.stores]) each.share(limitsOf([...SETS, added]));
      decide(added, who, main);
    }
    expect(threads.mainStore.counts.keys).toBeLessThanOrEqual(maxKeys);
  }
  if (model !== null) expectSame(threads.mainStore, model);
  clock.advance(100_000);
  expectAllRoom(threads.mainStore, maxKeys);
}

function expectSame(store: MemoryStore, model: Windows): void {
  for (const { caller } of SETS)
    for (let who = 0; who < CALLERS; who++)
      for (let main = 0; main < MAINS; main++) {
        const own = { ...NO_LIMITS, caller };
        for (const [limit, key] of keysOf(own, `user:${who}`, `m${main}`))
          expect(store.peek(own, `user:${who}`, `m${main}`).remaining).toBe(model.left(limit, key));
      }
}

test(`${OPERATIONS} operations of threads, of which some die, leave what a plain model says`, () => {
  operate(1_000, seedOfRun(), new Windows());
});

test(`${OPERATIONS} operations in a full table, where counters are evicted, leave it in order`, () => {
  operate(48, seedOfRun(), null);
});

test('reloads without end, each with new limits, find room: limits of former configurations are forgotten', () => {
  const clock = new FrozenClock();
  const threads = new MortalThreads(2, {
    clock,
    maxKeys: KEYS_OF_RELOADS,
    maxKeyspaces: MAX_KEYSPACES,
  });
  const [kept] = SETS;
  if (kept === undefined) throw new Error('no limits');
  const former = { ...bucket('former'), global: null };
  for (let reload = 0; reload < RELOADS; reload++) {
    const added = bucket(`new ${reload}`);
    const store = threads.stores[reload % 2] ?? threads.mainStore;
    for (const each of threads.stores) each.share(limitsOf([kept, added]));
    // Nobody counts in the place of a limit that is forgotten, nor does one that takes its place inherit a count.
    const own = { ...added, global: null };
    expect(store.decide(own, 'user:a', 'm').remaining).toBe(2);
    threads.stores[0]?.decide(former, 'user:a', 'm');
    expect(store.peek(own, 'user:a', 'm').remaining).toBe(2);
    if (reload < 3) expect(store.decide(kept, 'user:kept', 'm').admitted).toBe(true);
  }
  // Neither thread has forgotten what is in force.
  for (const store of threads.stores) expect(store.decide(kept, 'user:kept', 'm').role).toBe('caller');
  for (const store of threads.stores) expect(store.decide(kept, 'user:kept', 'm').admitted).toBe(false);
  clock.advance(100_000);
  expectAllRoom(threads.mainStore, KEYS_OF_RELOADS);
});

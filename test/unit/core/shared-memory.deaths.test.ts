import { createHash, randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { MAIN_THREAD, SharedMemory, type TableMemory } from '../../../src/core/index.ts';
import { TicketKeys } from '../../../src/edge/server/ticket-keys.ts';
import { OwnerChecks, VerificationBudget } from '../../../src/identity/auth/index.ts';
import {
  AddressOffences,
  IgnoredRefusals,
  MemoryStore,
  NO_LIMITS,
  NO_OTHERS,
  parseQuota,
  Restrictions,
  SharedPermits,
} from '../../../src/limits/index.ts';
import { SharedRates } from '../../../src/process/workers/shared-rates.ts';
import { RetryBudget } from '../../../src/upstream/balancing/retry-budget.ts';
import { BUDGET_OPTIONS } from '../../support/identity-options.ts';
import { Random } from '../../support/random.ts';
import { runs, seedOfRun } from '../../support/runs.ts';
import { FrozenClock } from '../limits/frozen-clock.ts';
import { copyOfAll, LockTaken, MortalMemory } from '../limits/mortal-threads.ts';
import { limit, limits, windowIn } from '../limits/stores.ts';

/** Opens tables in the memory of a thread. Returns a change of them, which the same numbers repeat. */
type Open = (memory: TableMemory, clock: FrozenClock) => (random: Random) => void;

/** More than the tables hold. */
const KEYS = ['a', 'b', 'c', 'd', 'e', 'f'];
const MAX_KEYS = 4;
const RULE = { quota: parseQuota('2/1s'), restrictForMs: 1_000, addresses: true };
const OWN = limit('3/2s', { main: 'm' });
const SMOOTH = limit('3/2s', { bucket: 'smooth', main: 'm', algorithm: 'smooth' });
const GLOBAL = limit('9/1s', { role: 'global', bucket: '' });
const RESOURCE = limit('4/1s', { role: 'resource', main: 'm' });
const SETS = [
  limits({ caller: OWN, shadow: { ...NO_LIMITS, resource: RESOURCE } }),
  limits({ global: GLOBAL, caller: SMOOTH, resource: RESOURCE }),
];

const offencesOf = (memory: TableMemory, clock: FrozenClock) => {
  const quiet = () => {};
  const listener = { restricted: quiet, prolonged: quiet, released: quiet, evicted: quiet };
  return [
    new Restrictions({ clock, listener, others: NO_OTHERS }),
    { clock, randomBytes, memory, maxKeys: MAX_KEYS },
  ] as const;
};

const TABLES: Readonly<Record<string, Open>> = {
  counters(memory, clock) {
    const store = new MemoryStore({ clock, randomBytes, memory, maxKeys: MAX_KEYS, keysPerCaller: 2 });
    if (memory.worker === MAIN_THREAD) store.share([OWN, SMOOTH, GLOBAL, RESOURCE]);
    return random => {
      const [set, key, main] = [random.pick(SETS), random.pick(KEYS), random.pick(KEYS)];
      const decision = store.decide(set, key, main, '', 1 + random.below(2));
      const { admitted } = decision;
      const resourceWindow = windowIn(decision, 'resource');
      if (admitted && set.resource !== null && random.chance(0.5))
        store.refund(set.resource, main, resourceWindow);
    };
  },
  'invalid requests'(memory, clock) {
    const [restrictions, options] = offencesOf(memory, clock);
    const offences = new AddressOffences(restrictions, 'invalid_requests', options);
    offences.use(RULE);
    return random => offences.note(random.pick(KEYS));
  },
  'webhooks that are not found'(memory, clock) {
    const [restrictions, options] = offencesOf(memory, clock);
    const offences = new AddressOffences(restrictions, 'webhook_not_found', options);
    offences.use(RULE);
    return random => offences.note(random.pick(KEYS), random.pick(KEYS));
  },
  'ignored refusals'(memory, clock) {
    const offences = new IgnoredRefusals(...offencesOf(memory, clock));
    offences.use(RULE);
    return random =>
      offences.note({
        ...{ address: random.pick(KEYS), principal: null, limit: SMOOTH, main: random.pick(KEYS) },
        ...{ cost: 1, waitMs: 5_000 },
      });
  },
  'failed tokens'(memory, clock) {
    const options = {
      ...BUDGET_OPTIONS,
      limit: 2,
      periodMs: 2_000,
      maxAddresses: MAX_KEYS,
      checksPerSecond: 2,
    };
    const budget = new VerificationBudget(options, clock, memory, 'tokens');
    return random => {
      const address = random.pick(KEYS);
      if (budget.waitMs(address) === 0) budget.failed(address, 1 + random.below(2));
    };
  },
  'owner checks'(memory, clock) {
    const checks = new OwnerChecks(clock, memory);
    return () => checks.take();
  },
  'retry budgets'(memory, clock) {
    const rates = new SharedRates(memory).named;
    return random => {
      const budget = new RetryBudget(random.pick(KEYS), { rates, memory });
      budget.sent(clock.monotonicMs());
      budget.take(clock.monotonicMs());
    };
  },
  permits(memory) {
    const { named } = new SharedPermits(memory, 2 * MAX_KEYS);
    return random => {
      const [permits, key] = [named(random.pick(['requests', 'connections'])), random.pick(KEYS)];
      if (random.chance(0.5) && permits.takenBy(key) > 0) permits.giveBack(key);
      else permits.take(key, 4, 2);
    };
  },
  'ticket keys'(memory, clock) {
    const random = new Random(clock.monotonicMs());
    const keys = new TicketKeys(memory, bytes => random.bytes(bytes), 0);
    // A day of the keys is half a second of this clock.
    return () => keys.renew(clock.monotonicMs() * 2 * 86_400);
  },
};

const neverWait = () => {
  throw new LockTaken();
};

/** How much of each table is compared: all heads of the smallest one of limits, and what a few records need, which lies at its beginning. */
const COMPARED_BYTES = 40_000;

function digestOf({ handover }: SharedMemory): string {
  const hash = createHash('sha1');
  for (const table of handover.tables.values())
    hash.update(new Uint8Array(table, 0, Math.min(table.byteLength, COMPARED_BYTES)));
  return hash.digest('base64');
}

/** Notes what lies in memory between the changes of its thread. */
class WatchedMemory extends SharedMemory {
  readonly seen: string[] = [];
  #depth = 0;

  look(): void {
    this.seen.push(digestOf(this));
  }

  override whole<T>(run: () => T): T {
    if (this.#depth++ === 0) this.look();
    try {
      return super.whole(run);
    } finally {
      if (--this.#depth === 0) this.look();
    }
  }

  override keep(): void {
    super.keep();
    this.look();
  }
}

const CHANGES = runs(40);

test.each(Object.entries(TABLES))(
  'a thread that dies at any step of a change of %s leaves the lock free and the table whole',
  (_name, open) => {
    const random = new Random(seedOfRun());
    const clock = new FrozenClock();
    const main = SharedMemory.create(1, randomBytes, neverWait);
    open(main, clock);
    let [undone, done] = [0, 0];
    for (let change = 0; change < CHANGES; change++) {
      clock.advance(random.below(600));
      const seed = random.below(2 ** 31);
      const changeBy = (memory: TableMemory) => {
        const run = open(memory, clock);
        return () => run(new Random(seed));
      };
      const back = copyOfAll(main, COMPARED_BYTES);
      const watched = new WatchedMemory(main.handover, 1, neverWait);
      changeBy(watched)();
      watched.look();
      const [before, after] = [watched.seen[0], watched.seen.at(-1)];
      for (let step = 0; ; step++) {
        back();
        const mortal = new MortalMemory(new SharedMemory(main.handover, 1, neverWait), COMPARED_BYTES);
        if (!mortal.dieAfter(step, changeBy(mortal))) break;
        main.recover(1);
        const left = digestOf(main);
        expect(watched.seen).toContain(left);
        if (left === after) done++;
        if (left !== before) continue;
        // The thread in its place finds the lock free, and all as it was.
        undone++;
        changeBy(new SharedMemory(main.handover, 1, neverWait))();
        expect(digestOf(main)).toBe(after);
      }
    }
    expect([undone > CHANGES, done > CHANGES / 2]).toEqual([true, true]);
  },
);

import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ownMemory, SharedMemory } from '../../../../src/core/index.ts';
import { type Decision, type Limit, type LimitSet, MemoryStore } from '../../../../src/limits/index.ts';
import { ownersOf } from '../../../../src/wire/http/index.ts';
import { played } from '../../../support/runs.ts';
import { FrozenClock } from '../frozen-clock.ts';
import { copyOf, limit, limits } from '../stores.ts';

/** Bytes of a row that a store hands out, and where its limit, its flags and the network are. */
const ROW = { bytes: 48, limit: 0, flags: 2, network: 12 };
const OPENED = 4;

const networksOf = (caller: string) => (caller.startsWith('user') ? [] : ownersOf(caller));
/** Address `host` of a /48 of a /44. */
const ipv6 = (owner: number, network: number, host: number) =>
  `2a00:${(owner + 1).toString(16)}:${(0x120 + network).toString(16)}:${host.toString(16)}::/64`;
const ipv4 = (network: number, host: number) => `198.51.${network}.${host % 256}`;

type Address = readonly ['ipv4' | 'ipv6', owner: number, network: number];
const keyOf = ([kind, owner, network]: Address, host: number) =>
  kind === 'ipv4' ? ipv4(owner * 16 + network, host) : ipv6(owner, network, host);

const GLOBAL = limit('1/1h', { role: 'global', bucket: '' });

/** The limits of a bucket: without a main parameter or with one, with a limit of the resource or without. */
function bucket(name: string, hasMain: boolean, hasResource: boolean, withGlobal: boolean): LimitSet {
  const options = { bucket: name, main: hasMain ? 'm' : null };
  return limits({
    global: withGlobal ? GLOBAL : null,
    caller: limit('1/1h', options),
    resource: hasResource && hasMain ? limit('1/1h', { ...options, role: 'resource' }) : null,
  });
}

const limitsIn = (sets: readonly LimitSet[]): Limit[] => [
  ...new Set(
    sets.flatMap(({ global, caller, resource }) => [global, caller, resource].filter(one => one !== null)),
  ),
];

const configuration = fc.record({
  buckets: fc.array(fc.tuple(fc.boolean(), fc.boolean(), fc.boolean()), { minLength: 1, maxLength: 4 }),
  /** Room for so many counters in the smallest part. */
  part: fc.integer({ min: 32, max: 200 }),
  isShared: fc.boolean(),
});

interface World {
  readonly sets: readonly LimitSet[];
  readonly maxKeys: number;
  readonly clock: FrozenClock;
  /** One store, or those of two threads. */
  readonly stores: readonly MemoryStore[];
}

function worldOf({
  buckets,
  part,
  isShared,
}: typeof configuration extends fc.Arbitrary<infer T> ? T : never): World {
  const sets = buckets.map((each, at) => bucket(`b${at}`, ...each));
  const parts = limitsIn(sets).filter(({ role }) => role !== 'global').length;
  const maxKeys = part * 4 * parts;
  const clock = new FrozenClock();
  const main = SharedMemory.create(1, randomBytes);
  const memories = isShared
    ? [main, () => new SharedMemory(structuredClone(main.handover), 1)]
    : [ownMemory(randomBytes)];
  const stores: MemoryStore[] = [];
  for (const memory of memories) {
    const options = { clock, randomBytes, maxKeys, ownersOf: networksOf };
    const store = new MemoryStore({ ...options, memory: typeof memory === 'function' ? memory() : memory });
    store.share(limitsIn(sets));
    stores.push(store);
  }
  return { sets, maxKeys, clock, stores };
}

/** Sends requests to every bucket, each with a main value of its own, through both threads in turn. */
function flood({ sets, stores }: World, callerOf: (i: number) => string, requests: number): void {
  for (let i = 0; i < requests; i++)
    for (const set of sets) stores[i % stores.length]?.decide(set, callerOf(i), `m${i} of ${callerOf(i)}`);
}

function decide({ stores: [store] }: World, set: LimitSet, caller: string, main: string): Decision {
  if (store === undefined) throw new Error('there is no store');
  return copyOf(store.decide(set, caller, main));
}

/** How many counters of each partition each network holds, and each owner, as the store hands them out. */
async function held({ stores: [store] }: World): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  if (store === undefined) return counts;
  const inForce = store.kept.limits(0);
  for await (const rows of store.kept.rows(inForce))
    for (let at = 0; at < rows.length; at += ROW.bytes) {
      const network = rows.readInt32LE(at + ROW.network);
      if ((rows.readUInt16LE(at + ROW.flags) & OPENED) === 0 || network === 0) continue;
      const { bucket: name, role } = inForce[rows.readUInt16LE(at + ROW.limit)] ?? GLOBAL;
      for (const who of [`network ${network}`, `owner ${network >>> 16}`])
        for (const what of [`${role} ${name}`, 'all'])
          counts.set(`${who}: ${what}`, (counts.get(`${who}: ${what}`) ?? 0) + 1);
    }
  return counts;
}

const address: fc.Arbitrary<Address> = fc.tuple(
  fc.constantFrom('ipv4' as const, 'ipv6' as const),
  fc.nat({ max: 5 }),
  fc.nat({ max: 15 }),
);

describe('in a table of any size, with any buckets, in one thread or several', () => {
  test('a network holds a sixteenth of each part, an owner a quarter, and the same parts of what is lent', async () => {
    await fc.assert(
      fc.asyncProperty(
        configuration,
        fc.array(fc.tuple(address, fc.integer({ min: 1, max: 400 })), { minLength: 1, maxLength: 20 }),
        fc.nat({ max: 5 }),
        async (configured, floods, owner) => {
          const world = worldOf(configured);
          for (let network = 0; network < 16; network++)
            flood(world, i => ipv6(owner, network, i), configured.part);
          for (const [from, requests] of floods) flood(world, i => keyOf(from, i), requests);
          const lent = world.maxKeys - Math.floor(world.maxKeys / 4);
          const most = (room: number, part: number) => Math.max(1, Math.floor(room / part));
          const hasGlobal = world.sets.some(({ global }) => global !== null);
          const lendable = hasGlobal ? world.maxKeys / 2 : lent;
          const parts = limitsIn(world.sets).filter(({ role }) => role !== 'global').length;
          for (const [what, count] of await held(world)) {
            const part = what.startsWith('network') ? 16 : 4;
            const borrowed = most(lendable, part);
            const ofParts = most(configured.part, part);
            const ofGlobal = hasGlobal ? most(world.maxKeys / 4, part) : 0;
            const share = what.endsWith('global ') ? ofGlobal : ofParts;
            const allowed = what.endsWith('all') ? ofGlobal + parts * ofParts + borrowed : share + borrowed;
            expect([what, count <= allowed ? 'within' : count]).toEqual([what, 'within']);
          }
        },
      ),
      played(50),
    );
  });

  test('floods of three owners take nothing from strangers: each has counters of its own', () => {
    // Networks are counted by two hashes, so that now and then one seems to hold what two others do: once in 400 floods of some.
    let mistaken = 0;
    fc.assert(
      fc.property(
        configuration,
        fc.uniqueArray(fc.nat({ max: 47 }), { minLength: 30, maxLength: 48 }),
        (configured, networks) => {
          const world = worldOf(configured);
          for (const each of networks)
            flood(world, i => ipv6(each % 3, Math.floor(each / 3), i), configured.part);
          for (const stranger of ['203.0.113.7', ipv6(9, 1, 1), 'user:a:b'])
            for (const set of world.sets) {
              const { admitted, sharedKey } = decide(world, set, stranger, `m of ${stranger}`);
              // Both of one sender's buckets draw on its one unit of the global limit.
              if (set.global === null || set === world.sets.find(({ global }) => global !== null))
                mistaken += admitted && !sharedKey ? 0 : 1;
            }
        },
      ),
      played(50),
    );
    expect(mistaken).toBeLessThanOrEqual(4);
  });

  test('where callers with tokens fill it, each network of addresses has a counter that stands in for it alone', () => {
    fc.assert(
      fc.property(configuration, configured => {
        const world = worldOf(configured);
        flood(world, i => `user:flood:${i}`, world.maxKeys);
        const [set, [hasMain = false] = []] = [world.sets[0], configured.buckets[0]];
        if (set === undefined) return;
        const ask = (caller: string, value: string) => decide(world, set, caller, hasMain ? value : '');
        expect(ask('user:late', 'x')).toMatchObject({ admitted: false, sharedKey: true });
        for (let network = 0; network < Math.floor(configured.part / 16); network++) {
          expect(ask(ipv4(network, 1), `a ${network}`)).toMatchObject({ admitted: true });
          expect(ask(ipv4(network, 2), `b ${network}`)).toMatchObject({ admitted: false, sharedKey: true });
        }
      }),
      played(50),
    );
  });
});

import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ownMemory } from '../../src/core/index.ts';
import { calendarOf } from '../../src/limits/counting/calendar.ts';
import { limitsIn } from '../../src/limits/counting/limit-definition.ts';
import {
  type Decision,
  type DrawnUnits,
  defineLimit,
  groupCounterKey,
  type Limit,
  type LimitRole,
  type LimitSet,
  MemoryStore,
  NO_LIMITS,
  parseQuota,
  unitsTaken,
} from '../../src/limits/index.ts';
import { DECIDE, HOLD, REFUND } from '../../src/limits/redis/store/counter-scripts.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { runs, seedOfRun } from '../support/runs.ts';
import { storeOn } from './parts.ts';
import { TimedRunner } from './timed-runner.ts';

const HISTORIES = runs(100, 5);
const STEPS = 40;

let server: RedisServer;
let prefixes = 0;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(async () => {
  await server.client.ping();
  await server.close();
});

async function newRunner(isCluster = false): Promise<TimedRunner> {
  const runner = new TimedRunner(server.client, `c${prefixes++}:`, isCluster);
  await Promise.all([DECIDE, HOLD, REFUND].map(script => runner.load(script)));
  return runner;
}

/** A limit, or one with several windows: `5/1s 9/day 20/1s:cost`. */
function define(
  role: LimitRole,
  quotas: string,
  timeZone: string,
  isTrial = false,
  hasCostQuota = false,
): Limit {
  const [bucket, main] = role === 'global' ? ['', null] : ['b', 'id'];
  const [first = { units: 1, periodMs: 1_000 }, ...more] = quotas.split(' ').map(each => {
    const [quota = '', unit] = each.split(':');
    return { ...parseQuota(quota), unit: unit === 'cost' ? ('cost' as const) : undefined };
  });
  const quota = more.length === 0 ? first : { ...first, more };
  const claim = role === 'group' ? { claim: 'org' } : {};
  // The caller's units can be returned as well.
  return defineLimit({
    ...{ role, bucket, main, algorithm: 'window', quota, timeZone, isTrial, largestCost: 3 },
    ...claim,
    returnsUnits: role === 'caller',
    ...{ hasCostQuota, isPriced: true },
  });
}

const SETS: readonly LimitSet[] = ['Europe/Berlin', 'America/Havana', 'Pacific/Kiritimati', 'UTC'].flatMap(
  zone => {
    const of = (role: LimitRole, quotas: string, isTrial = false) => define(role, quotas, zone, isTrial);
    const costly = (role: LimitRole, quotas: string, isTrial = false) =>
      define(role, quotas, zone, isTrial, true);
    return [
      { ...NO_LIMITS, global: of('global', '9/day'), caller: of('caller', '4/day') },
      { ...NO_LIMITS, caller: of('caller', '6/month'), resource: of('resource', '5/day') },
      {
        ...NO_LIMITS,
        caller: of('caller', '3/week'),
        shadow: { ...NO_LIMITS, resource: of('resource', '2/day') },
      },
      {
        ...NO_LIMITS,
        global: of('global', '3/1s 12/day 30/week'),
        caller: of('caller', '2/1s 4/1h 9/day 20/month'),
      },
      { ...NO_LIMITS, resource: of('resource', '4/day 3/1m') },
      { ...NO_LIMITS, caller: costly('caller', '4/1m 20/day:cost 9/1m:cost') },
      { ...NO_LIMITS, resource: costly('resource', '4/1m 12/day:cost') },
      {
        ...{
          ...NO_LIMITS,
          caller: costly('caller', '9/1h 15/week:cost'),
          resource: costly('resource', '8/1m'),
        },
        ...{ group: costly('group', '25/day:cost') },
        shadow: { ...NO_LIMITS, caller: costly('caller', '6/day:cost', true) },
      },
      {
        ...NO_LIMITS,
        caller: of('caller', '9/day'),
        group: of('group', '7/day 4/1s'),
        resource: of('resource', '6/2s 8/week'),
      },
      {
        ...{ ...NO_LIMITS, global: of('global', '9/day'), caller: of('caller', '4/24h 4/day') },
        shadow: {
          ...{
            ...NO_LIMITS,
            global: of('global', '1/1s 8/day', true),
            caller: of('caller', '2/1s 3/1m 4/1h 5/day', true),
          },
          ...{ group: of('group', '3/1s 6/day', true), resource: of('resource', '5/day 2/1m', true) },
        },
      },
    ];
  },
);

/** Moments near which boundaries lie: of days, of a week and a month, of changes of the clocks. */
const BEGINNINGS = [
  '2026-03-28T22:00:00Z',
  '2026-10-24T21:00:00Z',
  '2026-10-31T22:59:00Z',
  '2026-11-01T03:00:00Z',
].map(moment => Date.parse(moment));

const number = fc.noBias(fc.nat({ max: 2 ** 30 }));
const history = fc.record({
  beginning: fc.nat({ max: BEGINNINGS.length - 1 }),
  steps: fc.array(number, { minLength: STEPS, maxLength: STEPS, size: 'max' }),
});

/** How far a step goes: a moment, an hour, or to within the slack of a boundary. */
function pass(step: number, nowMs: number): number {
  const kind = step % 4;
  const amount = Math.floor(step / 4) % 60;
  if (kind < 2) return nowMs + amount;
  if (kind === 2) return nowMs + amount * 600_000;
  const unit = (['day', 'day', 'week', 'month'] as const)[amount % 4] ?? 'day';
  return Math.max(nowMs, calendarOf(unit, 'Europe/Berlin').endAfter(nowMs) - 30 + amount);
}

function told({ place: _, shadow, ...rest }: Decision) {
  return { ...rest, shadow: { ...shadow } };
}

/** Limits by what they are: in a cluster each window is asked about alone. Shadow limits answer in the order of their roles. */
function sorted(decision: object): unknown {
  return JSON.parse(
    JSON.stringify(decision, (key, value: unknown) =>
      key === 'by' || key === 'limit' ? ((value as Limit | null)?.identity ?? value) : value,
    ),
  );
}

/** In a cluster another limit may be named: its steps are taken one after the other, and the first that refuses ends them. */
function comparable(decision: ReturnType<typeof told>, isCluster: boolean) {
  return isCluster && !decision.admitted ? { admitted: false } : decision;
}

test.each([
  ['one server', false, HISTORIES],
  ['a cluster', true, Math.ceil(HISTORIES / 4)],
])(
  'over midnights and changes of clocks replicas with other clocks decide on %s what memory decides',
  async (_, isCluster, histories) => {
    await fc.assert(
      fc.asyncProperty(history, async ({ beginning, steps }) => {
        const runner = await newRunner(isCluster);
        runner.nowMs = BEGINNINGS[beginning] ?? 0;
        const clock = { epochMs: () => runner.nowMs, monotonicMs: () => runner.nowMs };
        const memory = new MemoryStore({ clock, randomBytes, maxKeys: 1_000 });
        // The clock of one gateway is 20 hours behind that of Redis, that of another 20 hours ahead.
        const replicas = [0, -20, 20].map(hours =>
          storeOn(
            runner,
            {},
            { epochMs: () => runner.nowMs + hours * 3_600_000, monotonicMs: () => 1e9 * prefixes++ },
          ),
        );
        const units: (DrawnUnits & { readonly cost: number })[] = [];
        for (const [n, step] of steps.entries()) {
          runner.nowMs = pass(step, runner.nowMs);
          const bits = Math.floor(step / 256);
          const set = SETS[bits % SETS.length] ?? NO_LIMITS;
          const cost = 1 + (Math.floor(bits / 16) % 3);
          const store = replicas[n % 3];
          if (store === undefined) throw new Error('no replica');
          if (bits % 5 === 0 && units.length > 0) {
            const [unit] = units.splice(-1);
            if (unit === undefined) continue;
            const part = unit.limit.role === 'group' ? groupCounterKey('acme', 'x') : 'x';
            // What a request turned out to cost in the end.
            const cost = unit.limit.isPriced && bits % 2 === 0 ? -(1 + (bits % 9)) : unit.cost;
            for (const each of [memory, store]) each.refund(unit.limit, part, unit.window, cost, 'user:a');
            continue;
          }
          const expected = comparable(told(memory.decide(set, 'user:a', 'x', 'acme', cost)), isCluster);
          const decision = comparable(told(await store.decide(set, 'user:a', 'x', 'acme', cost)), isCluster);
          expect(sorted(decision), `step ${n}`).toEqual(sorted(expected));
          for (const drawn of 'drawn' in expected ? [...expected.drawn, ...expected.shadow.drawn] : [])
            units.push({ ...drawn, cost: unitsTaken(drawn.limit, cost) });
        }
      }),
      { seed: seedOfRun(), numRuns: histories, endOnFailure: false },
    );
  },
);

/** The limits of a reload: other numbers in another time zone. */
function reloaded(zone: string, more: number): readonly LimitSet[] {
  const of = (role: LimitRole, quotas: string, isTrial = false) =>
    define(
      role,
      quotas.replaceAll(/\d+(?=\/)/g, units => String(Number(units) + more)),
      zone,
      isTrial,
    );
  return [
    { ...NO_LIMITS, global: of('global', '9/day 30/week'), caller: of('caller', '4/day 9/week 20/month') },
    {
      ...NO_LIMITS,
      caller: of('caller', '4/day 9/week 20/month'),
      resource: of('resource', '7/day 12/month'),
    },
    {
      ...{ ...NO_LIMITS, caller: of('caller', '5/month'), group: of('group', '8/day') },
      shadow: { ...NO_LIMITS, caller: of('caller', '3/day', true), resource: of('resource', '4/week', true) },
    },
    { ...NO_LIMITS, resource: of('resource', '999999990/month 3/day') },
  ];
}

const allOf = (sets: readonly LimitSet[]) =>
  sets.flatMap(set => [...limitsIn(set), ...(set.shadow === null ? [] : limitsIn(set.shadow))]);

const partOf = ({ role }: Limit) => (role === 'group' ? groupCounterKey('acme', 'x') : 'x');

const KEEP_FROM_MS = 1_000;

/** What memory keeps over a death, as far as it was written. */
async function keptIn({ kept }: MemoryStore): Promise<{ identities: string[]; rows: Buffer }> {
  const limits = kept.limits(KEEP_FROM_MS);
  const rows: Buffer[] = [];
  for await (const some of kept.rows(limits)) rows.push(some);
  return { identities: limits.map(({ identity }) => identity), rows: Buffer.concat(rows) };
}

test('through deaths, reloads, resets and clocks that are set, Redis and memory count the same days', async () => {
  let deaths = 0;
  await fc.assert(
    fc.asyncProperty(history, async ({ beginning, steps }) => {
      const runner = await newRunner();
      runner.nowMs = BEGINNINGS[beginning] ?? 0;
      let sinceMs = runner.nowMs;
      const clock = { epochMs: () => runner.nowMs, monotonicMs: () => runner.nowMs - sinceMs };
      const hashRoot = randomBytes(32);
      let sets = reloaded('UTC', 0);
      const begin = () => {
        const store = new MemoryStore({
          clock,
          randomBytes,
          maxKeys: 1_000,
          memory: ownMemory(randomBytes, hashRoot),
        });
        store.share(allOf(sets));
        return store;
      };
      let memory = begin();
      const newReplica = () =>
        storeOn(runner, {}, { epochMs: () => runner.nowMs, monotonicMs: () => 1e9 * prefixes++ });
      let redis = newReplica();
      // A window of the far future ends with the current one from the next look on, so both look at once.
      const readAll = async () => {
        for (const [caller, limit] of allOf(sets).flatMap(each => [
          ['user:a', each] as const,
          ['user:b', each] as const,
        ])) {
          const main = limit.role === 'global' ? '' : partOf(limit);
          const [expected, read] = await Promise.all(
            [memory, redis].map(store => store.allowances.read([limit], caller, main)),
          );
          expect(read?.allowances).toEqual(expected?.allowances);
        }
      };
      const units: { limit: Limit; window: number; cost: number; part: string }[] = [];
      for (const [n, step] of steps.entries()) {
        runner.nowMs = pass(step, runner.nowMs);
        const bits = Math.floor(step / 256);
        const [kind, more] = [bits % 16, Math.floor(bits / 16)];
        const caller = more % 4 === 0 ? 'user:b' : 'user:a';
        if (kind === 0) {
          deaths++;
          const { identities, rows } = await keptIn(memory);
          sinceMs = runner.nowMs - (more % 100_000);
          memory = begin();
          await memory.kept.restore(identities, rows, KEEP_FROM_MS);
          redis = newReplica();
        } else if (kind === 1) {
          sets = reloaded(
            ['UTC', 'Europe/Berlin', 'Asia/Tokyo', 'America/Havana'][more % 4] ?? 'UTC',
            more % 3,
          );
          memory.share(allOf(sets));
          await readAll();
        } else if (kind === 2) {
          // Seconds, hours, days or months, forwards or back: the monotonic clock knows nothing of it.
          const ms = [5_000, 3_600_000, 86_400_000, 40 * 86_400_000][more % 4] ?? 0;
          const byMs = ms * (more % 8 < 4 ? 1 : -1);
          // What is over is gone by then.
          memory.sweep();
          await runner.expire();
          runner.nowMs += byMs;
          sinceMs += byMs;
          await readAll();
        } else if (kind === 3) {
          const own = allOf(sets).filter(({ role }) => role === 'caller' || role === 'global');
          await Promise.all([memory, redis].map(store => store.allowances.reset(own, caller, null)));
        } else if (kind < 7 && units.length > 0) {
          const [unit] = units.splice(more % units.length, 1);
          if (unit === undefined) continue;
          for (const each of [memory, redis])
            each.refund(unit.limit, unit.part, unit.window, unit.cost, caller);
        } else {
          const set = sets[more % sets.length] ?? NO_LIMITS;
          const cost = 1 + (more % 3);
          const asked = kind === 7 ? 'peek' : 'decide';
          const expected = told(memory[asked](set, caller, 'x', 'acme', cost));
          const decision = told(await redis[asked](set, caller, 'x', 'acme', cost));
          expect(sorted(decision), `step ${n}`).toEqual(sorted(expected));
          for (const drawn of asked === 'decide' ? [...expected.drawn, ...expected.shadow.drawn] : [])
            units.push({ ...drawn, cost, part: partOf(drawn.limit) });
        }
      }
    }),
    { seed: seedOfRun(), numRuns: HISTORIES, endOnFailure: false },
  );
  expect(deaths).toBeGreaterThan(HISTORIES);
});

test('a window that seems to end later than its calendar knows ends with the current one: Redis has another clock now', async () => {
  const runner = await newRunner();
  const clock = { epochMs: () => runner.nowMs, monotonicMs: () => runner.nowMs };
  const set = { ...NO_LIMITS, caller: define('caller', '1/day', 'UTC') };
  const store = storeOn(runner, {}, clock);
  runner.nowMs = Date.parse('2027-06-01T12:00:00Z');
  await store.decide(set, 'user:a', 'x');
  runner.nowMs = Date.parse('2026-11-29T12:00:00Z');
  const refused = await storeOn(runner, {}, clock).decide(set, 'user:a', 'x');
  expect(refused).toMatchObject({ admitted: false, resetAtMs: Date.parse('2026-11-30T00:00:00Z') });
});

test('a change of the time zone leaves what was announced of the day, also while replicas have the old one', async () => {
  const runner = await newRunner();
  const clock = { epochMs: () => runner.nowMs, monotonicMs: () => runner.nowMs };
  const of = (zone: string) => ({ ...NO_LIMITS, caller: define('caller', '9/day', zone) });
  const [utc, berlin, tokyo] = ['UTC', 'Europe/Berlin', 'Asia/Tokyo'].map(of);
  runner.nowMs = Date.parse('2026-11-29T12:00:00Z');
  const resetAtMs = Date.parse('2026-11-30T00:00:00Z');
  for (const [at, set = NO_LIMITS] of [utc, berlin, tokyo, utc, berlin].entries()) {
    const decision = await storeOn(runner, {}, clock).decide(set, 'user:a', 'x');
    expect(decision).toMatchObject({ admitted: true, remaining: 8 - at, resetAtMs });
  }
  runner.nowMs = resetAtMs;
  const next = await storeOn(runner, {}, clock).decide(berlin ?? NO_LIMITS, 'user:a', 'x');
  expect(next).toMatchObject({ remaining: 8, resetAtMs: Date.parse('2026-11-30T23:00:00Z') });
});

test.each([false, true])(
  'of a list in shadow all windows are drawn on, or none (cluster: %s)',
  async isCluster => {
    const runner = await newRunner(isCluster);
    runner.nowMs = Date.parse('2026-11-29T12:00:00Z');
    const store = storeOn(runner, {}, { epochMs: () => runner.nowMs, monotonicMs: () => 1e9 * prefixes++ });
    const trial = (role: LimitRole) => define(role, '2/1s 3/day', 'UTC', true);
    const shadow = {
      ...NO_LIMITS,
      caller: trial('caller'),
      group: trial('group'),
      resource: trial('resource'),
    };
    const set = { ...NO_LIMITS, caller: define('caller', '99/day', 'UTC'), shadow };
    const refused = async () => {
      const decision = await store.decide(set, 'user:a', 'x', 'acme');
      return decision.shadow.refused.length;
    };
    for (const expected of [0, 0, 3, 3]) expect(await refused()).toBe(expected);
    runner.nowMs += 1_000;
    for (const expected of [0, 3]) expect(await refused()).toBe(expected);
  },
);

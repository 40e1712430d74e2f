import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { calendarOf } from '../../src/limits/counting/calendar.ts';
import {
  type Decision,
  defineLimit,
  type Limit,
  type LimitRole,
  type LimitSet,
  MemoryStore,
  NO_LIMITS,
  parseQuota,
} from '../../src/limits/index.ts';
import { DECIDE, HOLD, REFUND } from '../../src/limits/redis/store/counter-scripts.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { runs, seedOfRun } from '../support/runs.ts';
import { storeOn } from './parts.ts';
import { TimedRunner } from './timed-runner.ts';

const HISTORIES = runs(100);
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

function define(role: LimitRole, quota: string, timeZone: string): Limit {
  const [bucket, main] = role === 'global' ? ['', null] : ['b', 'id'];
  return defineLimit({
    role,
    bucket,
    main,
    algorithm: 'window',
    quota: parseQuota(quota),
    timeZone,
    largestCost: 3,
  });
}

const SETS: readonly LimitSet[] = ['Europe/Berlin', 'America/Havana', 'Pacific/Kiritimati', 'UTC'].flatMap(
  zone => [
    { ...NO_LIMITS, global: define('global', '9/day', zone), caller: define('caller', '4/day', zone) },
    { ...NO_LIMITS, caller: define('caller', '6/month', zone), resource: define('resource', '5/day', zone) },
    {
      ...NO_LIMITS,
      caller: define('caller', '3/week', zone),
      shadow: { ...NO_LIMITS, resource: define('resource', '2/day', zone) },
    },
  ],
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

test(`in ${HISTORIES} histories over midnights and changes of clocks replicas with other clocks decide what memory decides`, async () => {
  await fc.assert(
    fc.asyncProperty(history, async ({ beginning, steps }) => {
      const runner = await newRunner();
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
      const units: { limit: Limit; window: number; cost: number }[] = [];
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
          memory.refund(unit.limit, 'x', unit.window, unit.cost);
          store.refund(unit.limit, 'x', unit.window, unit.cost);
          continue;
        }
        const expected = told(memory.decide(set, 'user:a', 'x', '', cost));
        expect(told(await store.decide(set, 'user:a', 'x', '', cost)), `step ${n}`).toEqual(expected);
        if (set.resource !== null && expected.resourceWindow !== 0)
          units.push({ limit: set.resource, window: expected.resourceWindow, cost });
      }
    }),
    { seed: seedOfRun(), numRuns: HISTORIES, endOnFailure: false },
  );
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

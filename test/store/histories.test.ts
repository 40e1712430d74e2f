import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Decision, isSharedRole } from '../../src/limits/index.ts';
import type { RedisStore } from '../../src/redis/index.ts';
import { DECIDE, NOTE_OPENED, REFUND } from '../../src/redis/store/counter-scripts.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { deafListener, storeOn } from './parts.ts';
import { type Call, recordHistory } from './recorded-history.ts';
import { TimedRunner } from './timed-runner.ts';

const HISTORIES = Number(process.env['REDIS_HISTORIES'] ?? 500);
const FEWER = Math.ceil(HISTORIES / 10);
const STEPS = 60;
const number = fc.noBias(fc.nat({ max: 2 ** 40 }));
const history = fc.record({
  configuration: number,
  steps: fc.array(number, { minLength: STEPS, maxLength: STEPS, size: 'max' }),
});

let server: RedisServer;
let prefixes = 0;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(async () => {
  // Nothing waits for a refund, the last call of many a history. Replies keep their order, so after this one none is missing.
  await server.client.ping();
  await server.close();
});

type AskedCall = Call & { readonly kind: 'decide' | 'peek' };

/** What both have to say, word for word. The moment of Reset is of the clock of each: here both are one. */
function sameAs({ decision, atMs }: AskedCall): object {
  const { resetAtMs: _, ...rest } = decision;
  const resetAtMs = decision.role === null ? 0 : atMs + decision.resetAfterMs;
  return { ...rest, resetAtMs, decidedAtMs: decision.decidedAtMs === 0 ? 0 : atMs };
}

function ask({ kind, set, caller, main, group, cost }: AskedCall, store: RedisStore) {
  return store[kind](set, caller, main, group, cost);
}

async function replay(calls: readonly Call[], store: RedisStore, runner: TimedRunner): Promise<void> {
  const responses: (Decision | Promise<Decision> | null)[] = [];
  for (const call of calls) {
    runner.nowMs = call.atMs;
    if (call.kind === 'refund') store.refund(call.limit, call.part, call.window, call.cost);
    responses.push(call.kind === 'refund' ? null : ask(call, store));
  }
  for (const [at, response] of (await Promise.all(responses)).entries()) {
    const call = calls[at];
    if (call === undefined || call.kind === 'refund') continue;
    const expected = sameAs(call);
    if (JSON.stringify(sorted(response)) === JSON.stringify(sorted(expected))) continue;
    expect(response, `call ${at}: ${JSON.stringify(call)}`).toEqual(expected);
  }
}

function sorted(value: object | null): unknown {
  return Object.entries(value ?? {}).sort();
}

/** What only one call at a time can show: two trips a decision, and refusals that are known already. */
async function replayInTurn(
  calls: readonly Call[],
  store: RedisStore,
  clock: { nowMs: number },
  mayNameAnother: (told: Decision, expected: Decision) => boolean,
): Promise<void> {
  for (const [at, call] of calls.entries()) {
    clock.nowMs = call.atMs;
    if (call.kind === 'refund') {
      store.refund(call.limit, call.part, call.window, call.cost);
      continue;
    }
    const told = await ask(call, store);
    const other = told.role !== call.decision.role && !told.admitted && !call.decision.admitted;
    if (other && mayNameAnother(told, call.decision)) {
      expect(told.remaining, `call ${at}`).toBe(0);
      expect(told.retryAfterMs, `call ${at}`).toBeGreaterThan(0);
    } else {
      // A refusal that is known already was decided earlier.
      const { decidedAtMs } = told;
      expect(told, `call ${at}: ${JSON.stringify(call)}`).toEqual({ ...sameAs(call), decidedAtMs });
    }
  }
}

function check(what: string, runs: number, run: (calls: Call[]) => Promise<void>): Promise<void> {
  const seed = Number(process.env['SEED'] ?? Math.trunc(Math.random() * 2 ** 31));
  process.stdout.write(`${what}: SEED=${seed}\n`);
  return fc.assert(
    fc.asyncProperty(history, ({ configuration, steps }) => run(recordHistory(configuration, steps))),
    { seed, numRuns: runs, endOnFailure: false },
  );
}

async function newRunner(isCluster: boolean): Promise<TimedRunner> {
  const runner = new TimedRunner(server.client, `h${prefixes++}:`, isCluster);
  await Promise.all([DECIDE, NOTE_OPENED, REFUND].map(script => runner.load(script)));
  return runner;
}

/** Far in the future of every history, and still: no refusal is known when the next request comes. */
const stillClock = { epochMs: () => 0, monotonicMs: () => 0 };

test(`in ${HISTORIES} histories of ${STEPS} steps Redis decides what memory decides`, async () => {
  await check('histories in Redis', HISTORIES, async calls => {
    const runner = await newRunner(false);
    await replay(calls, storeOn(runner, {}, stillClock), runner);
  });
}, 300_000);

test(`in ${FEWER} histories with groups and resources on other nodes only the name of an exhausted limit may be another`, async () => {
  await check('histories in two trips', FEWER, async calls => {
    const runner = await newRunner(true);
    const clock = { ...stillClock, monotonicMs: () => 1e9 * prefixes++ };
    await replayInTurn(calls, storeOn(runner, {}, clock), runner, (told, expected) => {
      // The caller's limits are asked first, then the group's, so a longer wait of what comes later is not known.
      const order: readonly unknown[] = ['caller', 'group', 'resource'];
      return order.indexOf(told.role) < order.indexOf(expected.role);
    });
  });
}, 300_000);

test(`in ${FEWER} histories a refusal that is known already is told as Redis would tell it`, async () => {
  let known = 0;
  await check('histories with known refusals', FEWER, async calls => {
    const runner = await newRunner(false);
    const clock = { epochMs: () => 0, monotonicMs: () => runner.nowMs };
    const listener = {
      ...deafListener,
      decidedBy: (who: string) => (known += who === 'known_refusal' ? 1 : 0),
    };
    // Another limit may be exhausted as well by now; nobody asked.
    await replayInTurn(
      calls,
      storeOn(runner, { listener }, clock),
      runner,
      told => told.role !== null && !isSharedRole(told.role),
    );
  });
  expect(known).toBeGreaterThan(FEWER);
}, 300_000);

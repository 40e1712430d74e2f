import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Clock } from '../../src/core/index.ts';
import { type Decision, isSharedRole, limitsIn, NO_LIMITS } from '../../src/limits/index.ts';
import type { RedisStore } from '../../src/limits/redis/index.ts';
import { DECIDE, HOLD, REFUND } from '../../src/limits/redis/store/counter-scripts.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { runs, seedOfRun } from '../support/runs.ts';
import { EarlierGateway } from './earlier-gateway.ts';
import { ModelRunner } from './model-runner.ts';
import { deafListener, storeOn } from './parts.ts';
import { type Call, recordHistory } from './recorded-history.ts';
import { TimedRunner } from './timed-runner.ts';

const HISTORIES = runs(500, 20);
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
  const { resetAtMs: _, ...rest } = told(decision);
  const resetAtMs = decision.role === null ? 0 : atMs + decision.resetAfterMs;
  const windows = decision.windows.map(each => ({ ...each, resetAtMs: atMs + each.resetInMs }));
  return { ...rest, resetAtMs, windows, decidedAtMs: decision.decidedAtMs === 0 ? 0 : atMs };
}

/** A place says nothing but that there is one. */
function told({ place, ...rest }: Decision) {
  return { ...rest, hasPlace: place !== null };
}

/** The gateways of one Redis. They make calls in turn, and know of each other only what Redis knows. */
interface Gateways {
  readonly stores: readonly RedisStore[];
  readonly runner: TimedRunner | ModelRunner;
}

function newGateways(runner: Gateways['runner'], clock: Clock): Gateways {
  return { stores: [storeOn(runner, {}, clock), storeOn(runner, {}, clock)], runner };
}

type Asked = Decision | Promise<Decision> | null;

/** Makes a call: a decision, or the reply that is still to come; `null` if there is none. */
function make(call: Call, n: number, { stores, runner }: Gateways, before: readonly Asked[]): Asked {
  runner.nowMs = call.atMs;
  for (const store of stores) store.renewLeases();
  const store = stores[n % stores.length];
  if (store === undefined) throw new Error('no gateway');
  if (call.kind === 'refund') store.refund(call.limit, call.part, call.window, call.cost, call.owner);
  else if (call.kind !== 'end')
    return store[call.kind](call.set, call.caller, call.main, call.group, call.cost);
  else (before[call.of] as Decision | undefined)?.place?.leave();
  return null;
}

/** A lease is renewed from its reply on, which is not to come after the next call. */
function takesPlace(call: Call): boolean {
  return call.kind === 'decide' && (call.set.concurrent ?? call.set.shadow?.concurrent ?? null) !== null;
}

async function replay(calls: readonly Call[], gateways: Gateways): Promise<void> {
  const responses: Asked[] = [];
  for (const [n, call] of calls.entries()) {
    const response = make(call, n, gateways, responses);
    responses.push(takesPlace(call) ? await response : response);
  }
  for (const [at, response] of (await Promise.all(responses)).entries()) {
    const call = calls[at];
    if (response === null || call === undefined || !isAsked(call)) continue;
    const [answer, expected] = [told(response), sameAs(call)];
    if (JSON.stringify(sorted(answer)) === JSON.stringify(sorted(expected))) continue;
    expect(answer, `call ${at}: ${JSON.stringify(call)}`).toEqual(expected);
  }
}

function isAsked(call: Call): call is AskedCall {
  return call.kind === 'decide' || call.kind === 'peek';
}

function sorted(value: object): unknown {
  return Object.entries(value).sort();
}

/** What only one call at a time can show: two trips a decision, and refusals that are known already. */
async function replayInTurn(
  calls: readonly Call[],
  gateways: Gateways,
  mayNameAnother: (response: Decision, expected: Decision) => boolean,
): Promise<void> {
  const responses: Asked[] = [];
  for (const [at, call] of calls.entries()) {
    const response = await make(call, at, gateways, responses);
    responses.push(response);
    if (response === null || !isAsked(call)) continue;
    const other = response.role !== call.decision.role && !response.admitted && !call.decision.admitted;
    if (other && mayNameAnother(response, call.decision)) {
      if (!response.atOnce) expect(response.remaining, `call ${at}`).toBe(0);
      expect(response.retryAfterMs, `call ${at}`).toBeGreaterThan(0);
    } else {
      // A refusal that is known already was decided earlier.
      const { decidedAtMs } = response;
      expect(told(response), `call ${at}: ${JSON.stringify(call)}`).toEqual({ ...sameAs(call), decidedAtMs });
    }
  }
}

/** Every other call is made by a gateway of the version before, during a rolling upgrade. */
async function replayWithEarlier(calls: readonly Call[], runner: TimedRunner): Promise<void> {
  const [newer, earlier] = [storeOn(runner, {}, leapingClock), new EarlierGateway(runner)];
  const leaving: (() => unknown)[] = [];
  for (const [at, call] of calls.entries()) {
    runner.nowMs = call.atMs;
    newer.renewLeases();
    await earlier.renewLeases();
    const gateway = at % 2 === 0 || !canBeOfEarlier(call) ? newer : earlier;
    if (call.kind === 'refund')
      await gateway.refund(call.limit, call.part, call.window, call.cost, call.owner);
    else if (call.kind === 'end') await leaving[call.of]?.();
    else if (call.kind === 'decide') {
      const { set, caller, main, group, cost } = call;
      const decision = await gateway.decide(set, caller, main, group, cost);
      leaving[at] = 'leave' in decision ? decision.leave : () => decision.place?.leave();
      expect(decision.admitted, `call ${at}: ${JSON.stringify(call)}`).toBe(call.decision.admitted);
    } else {
      const { set, caller, main, group, cost } = call;
      const { admitted, remaining } = await newer.peek(set, caller, main, group, cost);
      expect({ admitted, remaining }, `call ${at}: ${JSON.stringify(call)}`).toEqual({
        admitted: call.decision.admitted,
        remaining: call.decision.remaining,
      });
    }
  }
}

/** The version before takes the cost of a request from each of its limits, also from one that counts requests. */
function canBeOfEarlier(call: Call): boolean {
  if (call.kind !== 'decide' || call.cost === 1) return true;
  return [call.set, call.set.shadow ?? NO_LIMITS].every(set =>
    limitsIn(set).every(({ takesCost }) => takesCost),
  );
}

function check(histories: number, run: (calls: Call[]) => Promise<void>): Promise<void> {
  return fc.assert(
    fc.asyncProperty(history, ({ configuration, steps }) => run(recordHistory(configuration, steps))),
    { seed: seedOfRun(), numRuns: histories, endOnFailure: false },
  );
}

async function newRunner(isCluster: boolean): Promise<TimedRunner> {
  const runner = new TimedRunner(server.client, `h${prefixes++}:`, isCluster);
  await Promise.all([DECIDE, HOLD, REFUND].map(script => runner.load(script)));
  return runner;
}

/** Leaps at each look: leases are due at once, and no refusal is known when the next request comes. */
const leapingClock = { epochMs: () => 0, monotonicMs: () => 1e9 * prefixes++ };

test(`in ${HISTORIES} histories of ${STEPS} steps Redis decides what memory decides`, async () => {
  await check(HISTORIES, async calls => {
    await replay(calls, newGateways(await newRunner(false), leapingClock));
  });
});

test(`in ${FEWER} histories the model of Redis decides what memory decides`, async () => {
  await check(FEWER, async calls => {
    await replay(calls, newGateways(new ModelRunner(), leapingClock));
  });
});

test(`in ${FEWER} histories with groups and resources on other nodes only the name of an exhausted limit may be another`, async () => {
  await check(FEWER, async calls => {
    await replayInTurn(calls, newGateways(await newRunner(true), leapingClock), (response, expected) => {
      // The caller's limits and its requests in flight are asked first, then the group's, so what comes later is not known.
      const order: readonly unknown[] = [null, 'caller', 'group', 'resource'];
      return order.indexOf(response.role) < order.indexOf(expected.role);
    });
  });
});

test.each([
  ['one server', false],
  ['a cluster', true],
])(
  `in ${FEWER} histories on %s gateways of this version and of the one before admit together what memory admits`,
  async (_kind, isCluster) => {
    await check(FEWER, async calls => {
      const runner = await newRunner(isCluster);
      await EarlierGateway.load(runner);
      await replayWithEarlier(calls, runner);
    });
  },
);

test(`in ${FEWER} histories a refusal that is known already is told as Redis would tell it`, async () => {
  let known = 0;
  await check(FEWER, async calls => {
    const runner = await newRunner(false);
    const clock = { epochMs: () => 0, monotonicMs: () => runner.nowMs };
    const listener = {
      ...deafListener,
      decidedBy: (who: string) => (known += who === 'known_refusal' ? 1 : 0),
    };
    const gateways = { stores: [storeOn(runner, { listener }, clock)], runner };
    // Another limit may be exhausted as well by now; nobody asked.
    await replayInTurn(
      calls,
      gateways,
      ({ role, atOnce }) => role !== null && !isSharedRole(role) && !atOnce,
    );
  });
  expect(known).toBeGreaterThan(FEWER);
});

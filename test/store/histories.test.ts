import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Decision } from '../../src/limits/index.ts';
import type { RedisStore } from '../../src/redis/index.ts';
import { DECIDE, REFUND } from '../../src/redis/scripts.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { storeOn } from './parts.ts';
import { type Call, recordHistory } from './recorded-history.ts';
import { TimedRunner } from './timed-runner.ts';

const HISTORIES = Number(process.env['REDIS_HISTORIES'] ?? 2_000);
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
afterAll(() => server.close());

/** What both have to say, word for word. The moment of Reset is of the clock of each: here both are one. */
function sameAs({ decision, atMs }: Call & { kind: 'decide' | 'peek' }): object {
  const { resetAtMs: _, ...rest } = decision;
  return { ...rest, resetAtMs: decision.role === null ? 0 : atMs + decision.resetAfterMs };
}

async function replay(calls: readonly Call[], store: RedisStore, runner: TimedRunner): Promise<void> {
  const answers: (Decision | Promise<Decision> | null)[] = [];
  for (const call of calls) {
    runner.nowMs = call.atMs;
    if (call.kind === 'refund') store.refund(call.limit, call.main, call.window);
    answers.push(call.kind === 'refund' ? null : store[call.kind](call.set, call.caller, call.main));
  }
  for (const [at, answer] of (await Promise.all(answers)).entries()) {
    const call = calls[at];
    if (call === undefined || call.kind === 'refund') continue;
    const expected = sameAs(call);
    if (JSON.stringify(sorted(answer)) === JSON.stringify(sorted(expected))) continue;
    expect(answer, `call ${at}: ${JSON.stringify(call)}`).toEqual(expected);
  }
}

function sorted(value: object | null): unknown {
  return Object.entries(value ?? {}).sort();
}

test(`in ${HISTORIES} histories of ${STEPS} steps Redis decides what memory decides`, async () => {
  const seed = Number(process.env['SEED'] ?? Math.trunc(Math.random() * 2 ** 31));
  process.stdout.write(`histories in Redis: SEED=${seed}\n`);
  await fc.assert(
    fc.asyncProperty(history, async ({ configuration, steps }) => {
      const runner = new TimedRunner(server.client, `h${prefixes++}:`, false);
      await Promise.all([runner.load(DECIDE), runner.load(REFUND)]);
      await replay(recordHistory(configuration, steps), storeOn(runner), runner);
    }),
    { seed, numRuns: HISTORIES, endOnFailure: false },
  );
}, 300_000);

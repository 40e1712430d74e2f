import { afterAll, beforeAll, expect, test } from 'vitest';
import { defineConcurrency, type LimitSet, NO_LIMITS } from '../../src/limits/index.ts';
import { RedisError } from '../../src/limits/redis/connection/index.ts';
import { DECIDE, HOLD, REFUND } from '../../src/limits/redis/store/counter-scripts.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { storeOn } from './parts.ts';
import { TimedRunner } from './timed-runner.ts';

let server: RedisServer;
let prefixes = 0;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(async () => {
  await server.client.ping();
  await server.close();
});

async function newRunner(): Promise<TimedRunner> {
  const runner = new TimedRunner(server.client, `l${prefixes++}:`, false);
  runner.nowMs = 1_700_000_000_000;
  await Promise.all([DECIDE, HOLD, REFUND].map(script => runner.load(script)));
  return runner;
}

const clockOf = (runner: TimedRunner) => ({
  epochMs: () => runner.nowMs,
  monotonicMs: () => runner.nowMs,
});

const alone: LimitSet = { ...NO_LIMITS, concurrent: defineConcurrency('b', null, 1) };

test('the lease of a gateway that died ends by itself, and one that is renewed does not', async () => {
  const runner = await newRunner();
  const living = storeOn(runner, {}, clockOf(runner));
  const dead = storeOn(runner, {}, clockOf(runner));
  const other = storeOn(runner, {}, clockOf(runner));
  const asks = async (caller: string) => (await other.decide(alone, caller, '')).admitted;
  await living.decide(alone, 'user:a', '');
  await dead.decide(alone, 'user:b', '');
  expect([await asks('user:a'), await asks('user:b')]).toEqual([false, false]);
  for (let second = 0; second < 31; second++) {
    runner.nowMs += 1_000;
    living.renewLeases();
  }
  expect([await asks('user:a'), await asks('user:b')]).toEqual([false, true]);
});

test('every gateway sees how many requests of a caller are in flight at all of them, leases that ended left out', async () => {
  const runner = await newRunner();
  const [one, other] = [storeOn(runner, {}, clockOf(runner)), storeOn(runner, {}, clockOf(runner))];
  const ofEach = { ...NO_LIMITS, concurrent: defineConcurrency('each', 'id', 5) };
  for (const store of [one, other]) await store.decide(ofEach, 'user:a', '7');
  await other.decide(ofEach, 'user:a', '8');
  await one.decide(alone, 'user:a', '');
  const seen = async (caller: string, main: string) =>
    (await one.allowances.read([], caller, main, [ofEach.concurrent]))?.inFlight;
  expect([await seen('user:a', '7'), await seen('user:a', '8'), await seen('user:b', '7')]).toEqual([
    [2],
    [1],
    [0],
  ]);
  const both = [alone.concurrent, ofEach.concurrent].filter(limit => limit !== null);
  expect(await other.allowances.read([], 'user:a', '', both)).toMatchObject({
    countedIn: 'redis',
    inFlight: [1, 0],
  });
  runner.nowMs += 29_000;
  one.renewLeases();
  runner.nowMs += 1_000;
  expect([await seen('user:a', '7'), await seen('user:a', '8')]).toEqual([[1], [0]]);
});

test('while Redis is away, what is in flight at the gateway that is asked is seen', async () => {
  const runner = await newRunner();
  const health = { isShared: true, failed() {}, mention() {} };
  const store = storeOn(runner, { health }, clockOf(runner));
  await store.decide(alone, 'user:a', '');
  health.isShared = false;
  const limits = [defineConcurrency('b', null, 1)];
  expect(await store.allowances.read([], 'user:a', '', limits)).toMatchObject({
    countedIn: 'local',
    inFlight: [1],
  });
});

test('nothing is left in Redis of requests that have ended', async () => {
  const runner = await newRunner();
  const store = storeOn(runner, {}, clockOf(runner));
  const { place } = await store.decide(alone, 'user:a', '');
  expect(await server.client.keys(`${runner.prefix}*`)).toHaveLength(1);
  place?.leave();
  expect(await server.client.keys(`${runner.prefix}*`)).toEqual([]);
});

test('a place that was taken while Redis was away is told to it when it is back', async () => {
  const runner = await newRunner();
  const health = { isShared: false, failed() {}, mention() {} };
  const store = storeOn(runner, { health }, clockOf(runner));
  const other = storeOn(runner, {}, clockOf(runner));
  const first = await store.decide(alone, 'user:a', '');
  expect([first.admitted, (await store.decide(alone, 'user:a', '')).admitted]).toEqual([true, false]);
  expect((await other.peek(alone, 'user:a', '')).admitted).toBe(true);
  health.isShared = true;
  runner.nowMs += 10_000;
  store.renewLeases();
  expect((await other.peek(alone, 'user:a', '')).admitted).toBe(false);
  first.place?.leave();
  expect((await other.peek(alone, 'user:a', '')).admitted).toBe(true);
});

test('a place that is given back while Redis is away is free at all gateways when it is back', async () => {
  const runner = await newRunner();
  const health = { isShared: true, failed() {}, mention() {} };
  const store = storeOn(runner, { health }, clockOf(runner));
  const other = storeOn(runner, {}, clockOf(runner));
  const { place } = await store.decide(alone, 'user:a', '');
  health.isShared = false;
  place?.leave();
  store.renewLeases();
  expect((await other.peek(alone, 'user:a', '')).admitted).toBe(false);
  health.isShared = true;
  store.renewLeases();
  expect((await other.peek(alone, 'user:a', '')).admitted).toBe(true);
});

/** Runs the scripts, or loses the questions or the replies. */
function losing(runner: TimedRunner) {
  const lost = new RedisError('error', 'lost');
  const connection = {
    isCluster: false,
    prefix: runner.prefix,
    loses: 'nothing' as 'nothing' | 'questions' | 'replies',
    run(...[script, keys, args, reply]: Parameters<TimedRunner['run']>) {
      const { loses } = connection;
      if (loses === 'questions') reply(lost, null);
      else
        runner.run(script, keys, args, (error, value) =>
          loses === 'replies' ? reply(lost, null) : error ? reply(error, null) : reply(null, value),
        );
    },
  };
  return connection;
}

test('the end of a lease that Redis did not hear of is told again', async () => {
  const runner = await newRunner();
  const connection = losing(runner);
  const store = storeOn(
    connection,
    { health: { isShared: true, failed() {}, mention() {} } },
    clockOf(runner),
  );
  const other = storeOn(runner, {}, clockOf(runner));
  const { place } = await store.decide(alone, 'user:a', '');
  connection.loses = 'questions';
  place?.leave();
  expect((await other.peek(alone, 'user:a', '')).admitted).toBe(false);
  connection.loses = 'nothing';
  store.renewLeases();
  expect((await other.peek(alone, 'user:a', '')).admitted).toBe(true);
});

test('a lease whose request was refused, since the reply that gave it was lost, is ended', async () => {
  const runner = await newRunner();
  const connection = losing(runner);
  const health = { isShared: true, failed() {}, mention() {} };
  const store = storeOn(connection, { health, policy: 'closed' }, clockOf(runner));
  const other = storeOn(runner, {}, clockOf(runner));
  connection.loses = 'replies';
  expect((await store.decide(alone, 'user:a', '')).admitted).toBe(false);
  expect((await other.peek(alone, 'user:a', '')).admitted).toBe(true);
});

test("a lease from the future does not lock its caller out after a step of Redis' clock", async () => {
  const runner = await newRunner();
  const [before, after] = [storeOn(runner, {}, clockOf(runner)), storeOn(runner, {}, clockOf(runner))];
  await before.decide(alone, 'user:a', '');
  runner.nowMs -= 3_600_000;
  expect((await after.decide(alone, 'user:a', '')).admitted).toBe(true);
});

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { AllowanceReading, AllowanceStore, Limit, LimitStore } from '../../src/limits/index.ts';
import { RedisError } from '../../src/limits/redis/connection/redis-connection.ts';
import { DECIDE, HOLD, REFUND } from '../../src/limits/redis/store/counter-scripts.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';
import { limit, limits, newStore } from '../unit/limits/stores.ts';
import { storeOn } from './parts.ts';
import { TimedRunner } from './timed-runner.ts';

/** A store at a moment of its own, which passes as the test says. */
interface Room {
  readonly store: LimitStore & { readonly allowances: AllowanceStore };
  /** When it began, in milliseconds since the epoch by its clock. */
  readonly beganAtMs: number;
  pass(ms: number): void;
}

let server: RedisServer;
let prefixes = 0;
const KEYS_PER_CALLER = 4;

beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.close());

function memoryRoom(): Room {
  const clock = new FrozenClock();
  const store = newStore(clock, { keysPerCaller: KEYS_PER_CALLER });
  return { store, beganAtMs: Math.floor(clock.epochMs()), pass: ms => clock.advance(ms) };
}

async function redisRoom(isCluster: boolean): Promise<Room> {
  const runner = new TimedRunner(server.client, `a${prefixes++}:`, isCluster);
  await Promise.all([DECIDE, HOLD, REFUND].map(script => runner.load(script)));
  runner.nowMs = 1_000_000_000;
  const clock = { epochMs: () => 0, monotonicMs: () => runner.nowMs };
  const store = storeOn(runner, { keysPerCaller: KEYS_PER_CALLER }, clock);
  const pass = (ms: number) => {
    runner.nowMs += ms;
  };
  return { store, beganAtMs: runner.nowMs, pass };
}

const global = limit('50/60s', { role: 'global', bucket: '' });
const plain = limit('3/60s', { bucket: 'plain' });
const smooth = limit('6/60s', { bucket: 'smooth', algorithm: 'smooth' });
const ofEach = limit('2/60s', { bucket: 'each', main: 'id' });
const together = limit('5/60s', { role: 'resource', bucket: 'each', main: 'id' });
const tried = limit('1/60s', { bucket: 'plain', isTrial: true });

/** What a store says about some limits, with moments counted from its beginning. */
async function readOf({ store, beganAtMs }: Room, of: readonly Limit[], caller: string, main = '') {
  const reading = (await store.allowances.read(of, caller, main)) as AllowanceReading;
  return reading.allowances.map(({ units, remaining, resetAtMs, waitMs }) => [
    remaining,
    units,
    // A quarter of a second: the clock of the test for memory has odd fractions.
    Math.round((resetAtMs - beganAtMs) / 250) / 4,
    Math.round(waitMs / 250) / 4,
  ]);
}

const KINDS = [
  ['in memory', memoryRoom],
  ['in Redis', () => redisRoom(false)],
  ['in a cluster', () => redisRoom(true)],
] as const;

describe.each(KINDS)('what a caller has left %s', (_kind, newRoom) => {
  let room: Room;
  beforeEach(async () => {
    room = await newRoom();
  });

  const draw = async (set: Parameters<typeof limits>[0], caller: string, main = '', times = 1) => {
    for (let i = 0; i < times; i++) await room.store.decide(limits(set), caller, main);
  };

  test('is shown for each limit, also for one in shadow, and showing it draws nothing', async () => {
    await draw({ global, caller: plain, shadow: limits({ caller: tried }) }, 'user:a', '', 2);
    room.pass(10_000);
    await draw({ global, caller: smooth }, 'user:a');
    const expected = [
      [47, 50, 60, 0],
      [1, 3, 60, 0],
      [0, 1, 60, 50],
      [5, 6, 20, 0],
    ];
    const all = [global, plain, tried, smooth];
    expect(await readOf(room, all, 'user:a')).toEqual(expected);
    expect(await readOf(room, all, 'user:a')).toEqual(expected);
    expect((await readOf(room, all, 'user:b')).map(([remaining]) => remaining)).toEqual([50, 3, 1, 6]);
  });

  test('is fresh after a reset, of the limits named and of this caller alone', async () => {
    for (const caller of ['user:a', 'user:b']) await draw({ global, caller: plain }, caller, '', 4);
    await draw({ global, caller: smooth }, 'user:a', '', 2);
    await room.store.allowances.reset([plain], 'user:a', '');
    const left = async (caller: string) =>
      (await readOf(room, [global, plain, smooth], caller)).map(([remaining]) => remaining);
    expect(await left('user:a')).toEqual([45, 3, 4]);
    expect(await left('user:b')).toEqual([47, 0, 6]);
    await room.store.allowances.reset([global, smooth], 'user:a', '');
    expect(await left('user:a')).toEqual([50, 3, 6]);
  });

  test('of each value is shown and reset by itself, or all of them at once', async () => {
    for (const caller of ['user:a', 'user:b'])
      for (const main of ['1', '2']) await draw({ caller: ofEach, resource: together }, caller, main, 2);
    const left = async (caller: string) => {
      const readings = ['1', '2'].map(main => readOf(room, [ofEach, together], caller, main));
      return (await Promise.all(readings)).map(limits => limits.map(([remaining]) => remaining));
    };
    expect(await left('user:a')).toEqual([
      [0, 1],
      [0, 1],
    ]);
    await room.store.allowances.reset([ofEach], 'user:a', '2');
    expect(await left('user:a')).toEqual([
      [0, 1],
      [2, 1],
    ]);
    await room.store.allowances.reset([together], '', '1');
    await room.store.allowances.reset([ofEach], 'user:a', null);
    expect(await left('user:a')).toEqual([
      [2, 5],
      [2, 1],
    ]);
    expect(await left('user:b')).toEqual([
      [0, 5],
      [0, 1],
    ]);
  });

  test('of values beyond those that a caller may hold is shown and reset together', async () => {
    for (const main of ['1', '2', '3', '4', '5', '6']) await draw({ caller: ofEach }, 'user:a', main);
    const left = async (main: string) => (await readOf(room, [ofEach], 'user:a', main))[0]?.[0];
    expect([await left('4'), await left('5'), await left('9')]).toEqual([1, 0, 0]);
    await room.store.allowances.reset([ofEach], 'user:a', null);
    expect([await left('4'), await left('5'), await left('9')]).toEqual([2, 2, 2]);
    // It holds none of them any more, so that each is counted by itself again.
    for (const main of ['5', '6']) await draw({ caller: ofEach }, 'user:a', main);
    expect([await left('5'), await left('6'), await left('9')]).toEqual([1, 1, 2]);
  });
});

describe('while Redis is away', () => {
  const away = {
    isCluster: false,
    prefix: '',
    run: () => {
      throw new RedisError('disconnected', 'gone');
    },
  };
  const health = { isShared: false, failed() {}, mention() {} };

  test('the local counters are shown and reset, with the share of this gateway', async () => {
    const store = storeOn(away, { health, replicas: () => 3 });
    for (let i = 0; i < 10; i++) await store.decide(limits({ caller: smooth }), 'user:a', '');
    expect(await store.allowances.read([smooth], 'user:a', '')).toMatchObject({
      countedIn: 'local',
      allowances: [{ units: 2, remaining: 0 }],
    });
    expect(await store.allowances.reset([smooth], 'user:a', '')).toBe('local');
    expect(await store.allowances.read([smooth], 'user:a', '')).toMatchObject({
      allowances: [{ units: 2, remaining: 2, waitMs: 0 }],
    });
  });

  test.each(['open', 'closed'] as const)('nothing counts under the policy %s', async policy => {
    const { allowances } = storeOn(away, { health, policy });
    expect(await allowances.read([smooth], 'user:a', '')).toBe(null);
    expect(await allowances.reset([smooth], 'user:a', '')).toBe(null);
  });
});

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type StoreListener, systemClock } from '../../../../../src/core/index.ts';
import { Health, type HealthDependencies } from '../../../../../src/limits/redis/connection/health.ts';
import { RedisError } from '../../../../../src/limits/redis/connection/redis-connection.ts';

/** What a health was told, in order; heartbeats are left out. */
let said: string[];
let health: Health;
/** Redis, as it is now. */
let redis: {
  up: boolean;
  late: 'silent' | 'slow' | false;
  onState: (ready: boolean, cause: string) => void;
  written: string[];
  /** The commands that it refuses. */
  refused: string[];
};

const listener: StoreListener = {
  decidedBy: () => {},
  failed: (failure, cause) => said.push(`failed: ${failure}, ${cause}`),
  lost: (policy, cause) => said.push(`lost to ${policy}: ${cause}`),
  found: lostForMs => said.push(`found after ${lostForMs}`),
  behind: () => {},
  caughtUp: () => {},
  shareFailed: () => {},
  subscribed: () => {},
  rightsMissing: commands => said.push(`rights missing: ${commands}`),
  taskFailed: (task, cause) => said.push(`did not ${task}: ${cause}`),
  beat: () => {},
};

function makeHealth(isCluster = false): Health {
  const connection: HealthDependencies['connection'] = {
    prefix: 'weir:',
    isCluster,
    lastError: 'connection refused',
    get isReady() {
      return redis.up;
    },
    get isLate() {
      return redis.late;
    },
    hurry: () => {},
    onState: listen => {
      redis.onState = listen;
    },
    script: async (_script, [key]) => {
      redis.written.push(String(key));
      return redis.refused;
    },
  };
  const replicas = { count: 1, beat: async () => ({ roundTripMs: 1, clockAheadMs: 0 }) };
  const clock = { ...systemClock, epochMs: () => Date.now(), monotonicMs: () => performance.now() };
  return new Health({ connection, replicas, policy: 'local', clock, listener });
}

/** Makes the health one whose Redis decides. */
async function startShared(): Promise<void> {
  redis.up = true;
  health.start();
  await vi.advanceTimersByTimeAsync(300);
  expect(health.isShared).toBe(true);
  said = [];
}

function fail(times: number): void {
  for (let i = 0; i < times; i++) health.failed(new RedisError('disconnected', 'gone'));
}

beforeEach(() => {
  vi.useFakeTimers();
  said = [];
  redis = { up: false, late: false, onState: () => {}, written: [], refused: [] };
  health = makeHealth();
});
afterEach(() => {
  health.stop();
  vi.useRealTimers();
});

describe('at the start', () => {
  test('Redis decides after the first good probe, at once when the connection is made', async () => {
    health.start();
    expect([health.isShared, health.lastCause]).toEqual([false, 'not reached yet']);
    redis.up = true;
    redis.onState(true, '');
    await vi.advanceTimersByTimeAsync(1);
    expect(health.isShared).toBe(true);
    expect(said).toEqual(['found after 0']);
  });

  test('the policy decides, and is said to once when the start waits no longer', async () => {
    health.start();
    await vi.advanceTimersByTimeAsync(300);
    health.giveUpWaiting();
    health.giveUpWaiting();
    expect(said).toEqual(['failed: disconnected, connection refused', 'lost to local: connection refused']);
    redis.up = true;
    await vi.advanceTimersByTimeAsync(1_500);
    expect(health.isShared).toBe(true);
    expect(said.at(-1)).toMatch(/^found after \d+/);
  });
});

describe('failures', () => {
  beforeEach(startShared);

  test('of which there are few leave Redis in charge', () => {
    fail(2);
    expect(health.isShared).toBe(true);
  });

  test('of which there are three within a second put the policy in charge', () => {
    fail(3);
    expect([health.isShared, health.lastCause]).toEqual([false, 'gone']);
    expect(said.at(-1)).toBe('lost to local: gone');
  });

  test('that are late replies leave Redis in charge, however many, until none comes', () => {
    const late = () => health.failed(new RedisError('timeout', 'late'));
    for (let i = 0; i < 99; i++) late();
    expect(health.isShared).toBe(true);
    redis.late = 'silent';
    late();
    expect([health.isShared, said.at(-1)]).toEqual([false, 'lost to local: late']);
  });

  test('that lie further apart do not', async () => {
    for (let i = 0; i < 6; i++) {
      fail(1);
      expect(health.isShared).toBe(true);
      await vi.advanceTimersByTimeAsync(501);
    }
    fail(1);
    await vi.advanceTimersByTimeAsync(100);
    fail(1);
    expect(health.isShared).toBe(false);
  });

  test('that no decision depends on never do', () => {
    for (let i = 0; i < 9; i++) health.mention(new RedisError('error', 'odd'), 'do something');
    expect([health.isShared, said.length]).toEqual([true, 18]);
    expect(said).toContain('did not do something: odd');
  });
});

describe('after an outage', () => {
  const found = vi.fn();

  beforeEach(async () => {
    await startShared();
    found.mockClear();
    health.onFound(found);
    fail(3);
  });

  test('the policy stays for a second, then Redis is found again', async () => {
    await vi.advanceTimersByTimeAsync(990);
    expect([health.isShared, found.mock.calls.length]).toEqual([false, 0]);
    await vi.advanceTimersByTimeAsync(300);
    expect([health.isShared, found.mock.calls.length]).toEqual([true, 1]);
    expect(said.at(-1)).toBe('found after 1000');
  });

  test('Redis is not found while its probes fail', async () => {
    redis.up = false;
    await vi.advanceTimersByTimeAsync(5_000);
    expect(health.isShared).toBe(false);
    redis.up = true;
    redis.onState(true, '');
    await vi.advanceTimersByTimeAsync(1);
    expect(health.isShared).toBe(true);
  });

  test('nothing is probed once it has stopped', async () => {
    health.stop();
    redis.onState(true, '');
    await vi.advanceTimersByTimeAsync(5_000);
    expect(health.isShared).toBe(false);
    expect(vi.getTimerCount()).toBe(0);
  });
});

test('each node of a cluster is written to before it decides again, and not while it does', async () => {
  health.stop();
  health = makeHealth(true);
  await startShared();
  const atStart = redis.written.length;
  expect(atStart).toBeGreaterThan(1);
  expect(new Set(redis.written).size).toBe(atStart);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(redis.written).toHaveLength(atStart);
});

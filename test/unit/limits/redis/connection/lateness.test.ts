import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { StoreListener } from '../../../../../src/core/index.ts';
import { Deadlines, type Waiting } from '../../../../../src/limits/redis/connection/client.ts';
import { Health } from '../../../../../src/limits/redis/connection/health.ts';
import { Lateness } from '../../../../../src/limits/redis/connection/lateness.ts';
import { RedisError } from '../../../../../src/limits/redis/connection/redis-connection.ts';
import { FrozenClock } from '../../frozen-clock.ts';

const BUDGET_MS = 50;
const SECOND = 1_000;

/** The same numbers in each run, from 0 to 1. */
function draws(): () => number {
  let state = 7;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}

/** A connection whose replies a relay delays, in their order, and the health of the Redis behind it. All in virtual time. */
class Relayed {
  readonly clock = new FrozenClock();
  readonly health: Health;
  readonly counts = { redis: 0, local: 0, outages: 0 };
  delayMs: () => number = () => 1;
  readonly #lateness = new Lateness(this.clock, BUDGET_MS);
  readonly #deadlines = new Deadlines<Waiting & { readonly failed: () => void }>(
    this.clock,
    BUDGET_MS,
    late => {
      this.#lateness.late(late.length);
      for (const { failed } of late) failed();
    },
  );
  #lastDueMs = 0;

  constructor() {
    const lateness = this.#lateness;
    const connection = {
      ...{ prefix: '', isCluster: false, isReady: true, lastError: '' },
      get isLate() {
        return lateness.isSilent ? ('silent' as const) : lateness.isSlow && ('slow' as const);
      },
      hurry: () => {},
      onState: () => {},
      script: async () => [],
    };
    const beat = () => this.#ask().then(() => ({ roundTripMs: 1, clockAheadMs: 0 }));
    const listener = new Proxy({} as StoreListener, {
      get: (_, name) => (name === 'lost' ? () => this.counts.outages++ : () => {}),
    });
    const { clock } = this;
    this.health = new Health({ connection, replicas: { beat, count: 1 }, policy: 'local', clock, listener });
  }

  /** A request each 20 ms, as many as one client sends that waits for none. */
  async run(forMs: number): Promise<void> {
    for (let passedMs = 0; passedMs < forMs; passedMs += 20) {
      if (!this.health.isShared) this.counts.local++;
      else
        this.#ask().then(
          () => this.counts.redis++,
          (error: RedisError) => {
            this.counts.local++;
            this.health.failed(error);
          },
        );
      for (let step = 0; step < 4; step++) {
        this.clock.advance(5);
        // Late replies are taken in the next turn of the event loop.
        await new Promise<void>(resolve => setImmediate(resolve));
      }
    }
  }

  #ask(): Promise<void> {
    return new Promise((resolve, reject) => {
      const failed = () => reject(new RedisError('timeout', 'late'));
      const waiting = { dueMs: 0, failed };
      this.#deadlines.add(waiting);
      const nowMs = this.clock.monotonicMs();
      this.#lastDueMs = Math.max(this.#lastDueMs, nowMs + this.delayMs());
      this.clock.after(this.#lastDueMs - nowMs, () => {
        if (!this.#deadlines.remove(waiting)) return this.#lateness.spoke();
        this.#lateness.inTime(true);
        resolve();
      });
    });
  }
}

describe('a Redis behind a relay that delays its replies', () => {
  let relayed: Relayed;

  beforeEach(async () => {
    relayed = new Relayed();
    relayed.health.start();
    await relayed.run(2 * SECOND);
    expect(relayed.health.isShared).toBe(true);
    Object.assign(relayed.counts, { redis: 0, local: 0, outages: 0 });
  });
  afterEach(() => relayed.health.stop());

  const shareOfLocal = ({ counts: { redis, local } }: Relayed) => local / (redis + local);

  test('stays in charge if a tenth of them is late', async () => {
    const draw = draws();
    relayed.delayMs = () => (draw() < 0.1 ? 70 : 1);
    await relayed.run(60 * SECOND);
    expect(relayed.counts.outages).toBe(0);
    expect(shareOfLocal(relayed)).toBeCloseTo(0.11, 1);
  });

  test('stays in charge while they take 10 to 70 ms, a third of them too long', async () => {
    const draw = draws();
    relayed.delayMs = () => 10 + 60 * draw();
    await relayed.run(60 * SECOND);
    expect(relayed.counts.outages).toBe(0);
    expect(shareOfLocal(relayed)).toBeCloseTo(0.34, 1);
  });

  test('is away within a second once all of them are late, until they have been in time for a second', async () => {
    relayed.delayMs = () => 80;
    await relayed.run(SECOND);
    expect(relayed.health.isShared).toBe(false);
    await relayed.run(30 * SECOND);
    expect(relayed.counts).toMatchObject({ redis: expect.any(Number), outages: 1 });
    relayed.delayMs = () => 1;
    await relayed.run(0.7 * SECOND);
    expect(relayed.health.isShared).toBe(false);
    await relayed.run(0.7 * SECOND);
    expect(relayed.health.isShared).toBe(true);
  });

  test('is asked again more and more rarely if it is slow whenever it is asked', async () => {
    relayed.delayMs = () => (relayed.health.isShared ? 80 : 1);
    await relayed.run(20 * SECOND);
    expect(relayed.counts.outages).toBeLessThanOrEqual(5);
    await relayed.run(40 * SECOND);
    expect(relayed.counts.outages).toBeLessThanOrEqual(8);
    // A minute in time, and it has its good name again.
    relayed.delayMs = () => 1;
    await relayed.run(90 * SECOND);
    relayed.delayMs = () => 80;
    await relayed.run(SECOND);
    expect(relayed.health.isShared).toBe(false);
    relayed.delayMs = () => 1;
    await relayed.run(1.5 * SECOND);
    expect(relayed.health.isShared).toBe(true);
  });

  test('is away after 200 ms without any', async () => {
    relayed.delayMs = () => 3_600_000;
    await relayed.run(300);
    expect(relayed.health.isShared).toBe(false);
  });

  test('stays in charge through one pause, however many replies it delays', async () => {
    let isPaused = true;
    relayed.delayMs = () => (isPaused ? 120 : 1);
    await relayed.run(60);
    isPaused = false;
    await relayed.run(SECOND);
    expect(relayed.counts.outages).toBe(0);
  });
});

import { expect, onTestFinished } from 'vitest';
import { type TimerClock, thisMachine } from '../../src/core/index.ts';
import type { UpstreamOptions } from '../../src/upstream/index.ts';
import { SessionPool } from '../../src/upstream/session-pool.ts';
import { clockOfTests, forSockets, inTime } from './test-clock.ts';
import { upstreamAt } from './upstream-options.ts';

/** A pool of HTTP/2 sessions to 127.0.0.1. The end of the running test closes it, and it must be left empty then. */
export function sessionsTo(
  port: number,
  options: Partial<UpstreamOptions> = {},
  clock: TimerClock = clockOfTests(),
): SessionPool {
  const system = { ...thisMachine, clock: forSockets(clock), random: () => 0 };
  const pool = new SessionPool(upstreamAt(port, { protocol: 'h2', ...options }), system);
  onTestFinished(async () => {
    await inTime(clock, pool.close());
    expect(pool.connections).toBe(0);
  });
  return pool;
}

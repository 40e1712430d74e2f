import { expect, onTestFinished } from 'vitest';
import { type Clock, systemClock, thisMachine } from '../../src/core/index.ts';
import type { UpstreamOptions } from '../../src/upstream/index.ts';
import { SessionPool } from '../../src/upstream/session-pool.ts';
import { timed } from './test-time.ts';
import { upstreamAt } from './upstream-options.ts';
import { sleep } from './wait.ts';

/** A pool of HTTP/2 sessions to 127.0.0.1. The end of the running test closes it, and it must be left empty then. */
export function sessionsTo(
  port: number,
  options: Partial<UpstreamOptions> = {},
  clock: Clock = systemClock,
): SessionPool {
  const system = { ...thisMachine, clock: timed(clock), random: () => 0 };
  const pool = new SessionPool(upstreamAt(port, { protocol: 'h2', ...options }), system);
  onTestFinished(async () => {
    // A test that failed may have left a call in flight.
    await Promise.race([pool.close(), sleep(30_000)]);
    expect(pool.connections).toBe(0);
  });
  return pool;
}

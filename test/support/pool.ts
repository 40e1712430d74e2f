import { expect, onTestFinished } from 'vitest';
import { type TimerClock, thisMachine } from '../../src/core/index.ts';
import type { Connect } from '../../src/upstream/connect.ts';
import { ConnectionPool, type UpstreamOptions } from '../../src/upstream/index.ts';
import { clockOfTests, forSockets, inTime } from './test-clock.ts';
import { upstreamAt } from './upstream-options.ts';

/** A pool to 127.0.0.1. The end of the running test closes it, and it must be left empty then. */
export function poolTo(
  port: number,
  options: Partial<UpstreamOptions> = {},
  connect?: Connect,
  clock: TimerClock = clockOfTests(),
): ConnectionPool {
  const system = { ...thisMachine, clock: forSockets(clock), random: () => 0 };
  const pool = new ConnectionPool(upstreamAt(port, options), system, connect);
  onTestFinished(async () => {
    await inTime(clock, pool.close());
    expect(pool.connections).toBe(0);
  });
  return pool;
}

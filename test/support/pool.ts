import { expect, onTestFinished } from 'vitest';
import { type Clock, systemClock, thisMachine } from '../../src/core/index.ts';
import type { Connect } from '../../src/upstream/connect.ts';
import { ConnectionPool, type UpstreamOptions } from '../../src/upstream/index.ts';
import { timed } from './test-time.ts';
import { upstreamAt } from './upstream-options.ts';
import { sleep } from './wait.ts';

/** A pool to 127.0.0.1. The end of the running test closes it, and it must be left empty then. */
export function poolTo(
  port: number,
  options: Partial<UpstreamOptions> = {},
  connect?: Connect,
  clock: Clock = systemClock,
): ConnectionPool {
  const system = { ...thisMachine, clock: timed(clock), random: () => 0 };
  const pool = new ConnectionPool(upstreamAt(port, options), system, connect);
  onTestFinished(async () => {
    // A test that failed may have left a call in flight.
    await Promise.race([pool.close(), sleep(30_000)]);
    expect(pool.connections).toBe(0);
  });
  return pool;
}

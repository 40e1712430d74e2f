import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { clockOriginMs, systemClock } from '../../../src/core/index.ts';

/** Tells the time by the clock that agrees with ours. */
const THREAD = `
const { parentPort, workerData } = require('node:worker_threads');
import(workerData.core).then(({ clockSince }) => {
  parentPort.postMessage(clockSince(workerData.originMs).monotonicMs());
});
`;

test('the clocks of threads agree, although each of them begins anew', async () => {
  const core = new URL('../../../src/core/index.ts', import.meta.url).href;
  const workerData = { core, originMs: clockOriginMs() };
  const beforeMs = systemClock.monotonicMs();
  const thread = new Worker(THREAD, { eval: true, workerData });
  const [agreedMs] = await once(thread, 'message');
  // Both were read between two readings of ours, but for the error of measuring the difference.
  expect(agreedMs).toBeGreaterThan(beforeMs - 1);
  expect(agreedMs).toBeLessThan(systemClock.monotonicMs() + 1);
  await thread.terminate();
});

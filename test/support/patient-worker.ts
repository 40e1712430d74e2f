// A worker that waits for the others for as long as it takes them, not for a second alone, and whose monotonic clock stands still: what it
// remembers for a while it remembers, however busy the machine. Named as the script of its thread.
import { runWorkerThread } from '../../src/process/workers/index.ts';

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;

const after = globalThis.setTimeout;
Reflect.set(globalThis, 'setTimeout', (run: () => void, ms = 0) =>
  after(run, ms === SECOND_MS ? HOUR_MS : ms),
);
const nowMs = performance.now();
performance.now = () => nowMs;
runWorkerThread();

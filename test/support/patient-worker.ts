// A worker that waits for the others for as long as it takes them, not for a second alone: named as the script of its thread.
import { runWorkerThread } from '../../src/process/workers/index.ts';

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;

const after = globalThis.setTimeout;
Reflect.set(globalThis, 'setTimeout', (run: () => void, ms = 0) =>
  after(run, ms === SECOND_MS ? HOUR_MS : ms),
);
runWorkerThread();

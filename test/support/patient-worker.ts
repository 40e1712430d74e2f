// A worker that waits for the others for as long as it takes them, not for a second alone: named as the script of its thread.
import { runWorkerThread } from '../../src/process/workers/index.ts';
import { patientMs } from './patient-clock.ts';

const after = globalThis.setTimeout;
Reflect.set(globalThis, 'setTimeout', (run: () => void, ms = 0) => after(run, patientMs(ms)));
runWorkerThread();

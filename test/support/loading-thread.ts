// The script of a thread that loads a configuration: it dies instead if the environment of the load says so.
import { workerData } from 'node:worker_threads';
import { runLoadingThread } from '../../src/process/loading/index.ts';

if (workerData.load.options.env.DIES === 'at once') process.exit(3);
if (workerData.load.options.env.DIES === 'with a fault') throw new Error('a fault of a test');
await runLoadingThread();

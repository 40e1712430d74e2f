// A worker that dies, or is late, as a test wants it to: named as the script of its thread.
import { BroadcastChannel, workerData } from 'node:worker_threads';
import { runWorkerThread } from '../../src/process/workers/index.ts';

const hoard: unknown[] = [];

const FAULTS: Readonly<Record<string, () => void>> = {
  'runs out of memory': () => {
    // Numbers, which nobody has to look through in search of others.
    for (;;) hoard.push(new Array(100_000).fill(0.5));
  },
  'throws what nobody catches': () => {
    throw new Error('a fault of a test');
  },
  exits: () => process.exit(3),
  'is late': () => {
    const word = new Int32Array(new SharedArrayBuffer(4));
    // Node runs timers of one interval in turn: so it rests after `Overload` has looked at the time, and before it reads requests.
    setInterval(() => Atomics.wait(word, 0, 0, 600), 50);
  },
};

const channel = new BroadcastChannel('faults');
channel.onmessage = event => {
  const { worker, fault } = Object(event).data;
  if (worker === workerData.worker) setImmediate(() => FAULTS[fault]?.());
};
channel.unref();
runWorkerThread();

// A worker thread that takes and gives back permits for ever, as fast as it can.
import { workerData } from 'node:worker_threads';
import { SharedMemory } from '../../src/core/index.ts';
import { SharedPermits } from '../../src/limits/index.ts';
import { Random } from './random.ts';

/** What such a thread is told. */
export interface PermitThread {
  readonly memory: SharedMemory['handover'];
  readonly worker: number;
  readonly capacity: number;
  readonly seed: number;
  readonly max: number;
  readonly names: readonly string[];
  readonly keys: readonly string[];
  /** How often each thread has taken a permit, and last, how often more than `max` were taken. */
  readonly counts: Int32Array;
}

const { memory, worker, capacity, seed, max, names, keys, counts }: PermitThread = workerData;
const random = new Random(seed);
const permits = new SharedPermits(new SharedMemory(memory, worker), capacity);
const held = names.map(name => ({ permits: permits.named(name), keys: [] as string[] }));
for (;;) {
  const one = random.pick(held);
  const key = random.pick(keys);
  if (random.chance(0.6)) {
    if (one.permits.take(key, max, max) === null) one.keys.push(key);
    Atomics.add(counts, worker, 1);
    if (one.permits.taken > max) Atomics.add(counts, counts.length - 1, 1);
  } else {
    const back = one.keys.pop();
    if (back !== undefined) one.permits.giveBack(back);
  }
}

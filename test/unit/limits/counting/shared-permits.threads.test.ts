import { randomBytes } from 'node:crypto';
import { Worker } from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';
import { SharedMemory } from '../../../../src/core/index.ts';
import { SharedPermits } from '../../../../src/limits/index.ts';
import type { PermitThread } from '../../../support/permit-thread.ts';
import { Random } from '../../../support/random.ts';
import { runs, seedOfRun } from '../../../support/runs.ts';
import { waitFor } from '../../../support/wait.ts';

const SCRIPT = new URL('../../../support/permit-thread.ts', import.meta.url);
const CAPACITY = 40;
const MAX = 5;
const NAMES = ['requests', 'connections', 'requests to api'];
const KEYS = Array.from({ length: 20 }, (_, key) => `203.0.113.${key}`);
const WORKERS = [1, 2, 3];
const DEATHS = runs(8, 2);

test('threads that die at random leave no permit taken, and never take more than there are', async () => {
  const random = new Random(seedOfRun());
  const main = SharedMemory.create(WORKERS.length, randomBytes);
  const permits = new SharedPermits(main, CAPACITY);
  const counts = new Int32Array(new SharedArrayBuffer(4 * (WORKERS.length + 2)));
  const threads = new Map<number, Worker>();
  const start = (worker: number) => {
    const same = { memory: main.handover, capacity: CAPACITY, max: MAX, names: NAMES, keys: KEYS, counts };
    const workerData: PermitThread = { ...same, worker, seed: random.below(2 ** 31) };
    threads.set(worker, new Worker(SCRIPT, { workerData }));
  };
  const end = async (worker: number) => {
    await threads.get(worker)?.terminate();
    main.recover(worker);
    await permits.giveBackAll(worker);
  };
  const works = (worker: number) => {
    const before = Atomics.load(counts, worker);
    return waitFor(`thread ${worker} works`, () => Atomics.load(counts, worker) > before + 100);
  };
  onTestFinished(async () => {
    await Promise.all(Array.from(threads.values(), thread => thread.terminate()));
  });
  for (const worker of WORKERS) start(worker);
  for (const worker of WORKERS) await works(worker);
  for (let deaths = 0; deaths < DEATHS; deaths++) {
    const worker = random.pick(WORKERS);
    await end(worker);
    start(worker);
    for (const each of WORKERS) await works(each);
  }
  for (const worker of WORKERS) await end(worker);
  expect(counts.at(-1)).toBe(0);
  for (const name of NAMES) {
    const left = permits.named(name);
    expect([left.taken, ...KEYS.map(key => left.takenBy(key))]).toEqual([0, ...KEYS.map(() => 0)]);
  }
});

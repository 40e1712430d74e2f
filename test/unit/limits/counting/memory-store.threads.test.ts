import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { afterEach, expect, test } from 'vitest';
import { SharedMemory, type Words } from '../../../../src/core/index.ts';
import { MemoryStore } from '../../../../src/limits/index.ts';
import { runs } from '../../../support/runs.ts';
import { type CountingSeed, DECISIONS, MISTAKES, notesIn, SharedClock, WINDOWS } from '../counting-thread.ts';
import { expectAllRoom } from '../stores.ts';

const THREADS = 3;
const MAX_KEYS = 64;
const USED_UP = runs(10_000);
const DEATHS = runs(12);
const SCRIPT = new URL('../counting-thread.ts', import.meta.url);

const running = new Set<Worker>();
afterEach(() => Promise.all([...running].map(thread => thread.terminate())));

/** Shared counters of several real threads. */
class Threads {
  readonly memory = SharedMemory.create(THREADS, randomBytes);
  readonly notes = notesIn(this.memory);
  readonly #clock = new SharedArrayBuffer(8);
  readonly #time = new SharedClock(this.#clock);
  readonly store = new MemoryStore({
    clock: this.#time,
    randomBytes,
    memory: this.memory,
    maxKeys: MAX_KEYS,
  });
  readonly #windows: number;

  constructor(windows: number) {
    this.#windows = windows;
  }

  /** Starts a thread; resolves when it has begun. */
  async start(worker: number): Promise<Worker> {
    const seed: CountingSeed = {
      ...{ memory: this.memory.handover, worker, clock: this.#clock, maxKeys: MAX_KEYS },
      windows: this.#windows,
    };
    const thread = new Worker(SCRIPT, { workerData: seed });
    running.add(thread);
    thread.once('exit', () => running.delete(thread));
    await once(thread, 'online');
    return thread;
  }

  /** All windows are over: nothing may be left of what the threads have counted, and all room is there again. */
  expectNothingLeft(): void {
    this.#time.advance(1_000_000);
    expectAllRoom(this.store, MAX_KEYS);
  }
}

test(`${THREADS} threads on few keys admit exactly what is allowed, in each of ${USED_UP} windows`, async () => {
  const threads = new Threads(USED_UP);
  const started = [];
  for (let worker = 1; worker <= THREADS; worker++) started.push(threads.start(worker));
  await Promise.all((await Promise.all(started)).map(thread => once(thread, 'exit')));
  expect(threads.notes.ints[MISTAKES]).toBe(0);
  expect(threads.notes.ints[WINDOWS]).toBeGreaterThanOrEqual(USED_UP);
  threads.expectNothingLeft();
});

test('threads that are ended at random under load leave counts exact, and the others on their way', async () => {
  const threads = new Threads(2 ** 30);
  const { memory, notes } = threads;
  const started = await Promise.all(Array.from({ length: THREADS }, (_, i) => threads.start(i + 1)));
  const lock = new Int32Array(memory.handover.control);
  let inside = 0;
  // One of them has to die while it holds the lock.
  for (let death = 0; death < DEATHS || inside === 0; death++) {
    const dying = 1 + (death % THREADS);
    await decides(notes, dying);
    await started[dying - 1]?.terminate();
    if (Atomics.load(lock, 0) === dying + 1) inside++;
    memory.recover(dying);
    await decides(notes, 1 + (dying % THREADS));
    started[dying - 1] = await threads.start(dying);
  }
  for (const [i, thread] of started.entries()) {
    await thread.terminate();
    memory.recover(i + 1);
  }
  expect(notes.ints[MISTAKES]).toBe(0);
  threads.expectNothingLeft();
});

/** Waits until this thread has decided a few times more. */
async function decides({ ints }: Words, worker: number): Promise<void> {
  const until = Atomics.load(ints, DECISIONS + worker) + 1 + Math.floor(Math.random() * 100);
  while (Atomics.load(ints, DECISIONS + worker) < until) await new Promise(resolve => setTimeout(resolve, 1));
}

import { setFlagsFromString } from 'node:v8';

let users = 0;

/**
 * Runs `run`, which makes much garbage, and has V8 collect it early instead of growing the heap, since V8 returns heap memory
 * late or never. Reading 10,000 routes took 180 MiB to keep 5; with this it takes 31 MiB, and 3.3 s of processor time instead
 * of 2.2.
 *
 * The flag only tunes when to collect, and V8 reads it at each such decision (`Heap::ShouldOptimizeForMemoryUsage`). A
 * configuration of normal size is read before the first collection either way.
 */
export async function withLeanHeap<T>(run: () => Promise<T>): Promise<T> {
  if (users++ === 0) setFlagsFromString('--optimize-for-size');
  try {
    return await run();
  } finally {
    if (--users === 0) setFlagsFromString('--no-optimize-for-size');
  }
}

import { randomBytes } from 'node:crypto';
import { SharedMemory, type TableMemory } from '../../src/core/index.ts';

/**
 * The memory that so many threads share, as each of them sees it: first the main thread, then the workers. All are in this thread, so
 * none may ever find another one inside.
 */
export function threadsOf(count: number, hashRoot?: Buffer): readonly TableMemory[] {
  const neverWait = () => {
    throw new Error('another thread is inside');
  };
  const main = SharedMemory.create(count - 1, randomBytes, neverWait, hashRoot);
  return Array.from({ length: count }, (_, i) =>
    i === 0 ? main : new SharedMemory(main.handover, i, neverWait),
  );
}

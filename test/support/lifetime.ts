import { AsyncLocalStorage } from 'node:async_hooks';
import { afterAll, onTestFinished } from 'vitest';

type End = () => unknown;

/** Where the ends of what starts now are kept, if several tests share it. */
const ends = new AsyncLocalStorage<End[]>();

/** Has this done at the end of the running test, or behind the last test of the file if all of them share what starts now. */
export function atEnd(end: End): void {
  const kept = ends.getStore();
  if (kept === undefined) onTestFinished(async () => void (await end()));
  else kept.push(end);
}

/**
 * Something that tests of a file share, since to start it costs more than what they do with it: the first of them starts it. What
 * one of them leaves behind may not matter to another. For the top level of a file.
 */
export function shared<T>(start: () => Promise<T>): () => Promise<T> {
  const kept: End[] = [];
  let started: Promise<T> | null = null;
  afterAll(async () => {
    for (const end of kept.toReversed()) await end();
  });
  return () => {
    started ??= ends.run(kept, start);
    return started;
  };
}

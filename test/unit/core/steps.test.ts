import { expect, test } from 'vitest';
import { atOnce, eachInSteps, type Steps, Turns } from '../../../src/core/index.ts';

/** Work whose every step takes this many milliseconds of the thread. */
function* work(steps: number, ms: number, done: number[]): Steps<string> {
  for (let step = 0; step < steps; step++) {
    const endMs = performance.now() + ms;
    while (performance.now() < endMs);
    done.push(step);
    yield;
  }
  return 'made';
}

test('what takes long is done in slices, between which the thread does other work', async () => {
  const done: number[] = [];
  let seen = 0;
  let most = 0;
  let withoutSlice = 0;
  const turns = new Turns();
  const made = turns.slice(work(40, 1, done));
  // The thread turns over 100,000 times in these rests: what it saw is counted, not kept.
  const look = () => {
    most = Math.max(most, done.length - seen);
    if (done.length === seen) withoutSlice++;
    seen = done.length;
    if (seen < 40) setImmediate(look);
  };
  look();
  expect(await made).toBe('made');
  expect(done).toHaveLength(40);
  // A step of a millisecond fills a slice.
  expect(most).toBeLessThanOrEqual(2);
  // What takes several turns, as a request does, does not wait for a slice in each.
  expect(withoutSlice).toBeGreaterThan(10);
  expect(turns.longestMs).toBeGreaterThanOrEqual(1);
});

test('what takes no longer than a slice is done before anybody waits', () => {
  const done: number[] = [];
  void new Turns().slice(work(3, 0, done));
  expect(done).toEqual([0, 1, 2]);
});

test('a fault in a step is a fault of the whole', async () => {
  const faulty = function* (): Steps<void> {
    yield;
    throw new Error('no');
  };
  await expect(new Turns().slice(faulty())).rejects.toThrow('no');
});

test('work at once gives the same', () => {
  expect(atOnce(work(2, 0, []))).toBe('made');
  expect(atOnce(eachInSteps(['a', 'b'], (item, index) => `${item}${index}`))).toEqual(['a0', 'b1']);
});

test('the longest turn is that of what cannot be divided, too', () => {
  const turns = new Turns();
  expect(turns.time(() => atOnce(work(1, 6, [])))).toBe('made');
  expect(turns.longestMs).toBeGreaterThanOrEqual(6);
});

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../../../../src/core/index.ts';
import { Deadlines, type Waiting } from '../../../../../src/limits/redis/connection/client.ts';

interface Named extends Waiting {
  readonly name: string;
}

const late: string[] = [];
const clock = { ...systemClock, epochMs: () => Date.now(), monotonicMs: () => performance.now() };
const waiting = (name: string): Named => ({ name, dueMs: 0 });
let deadlines: Deadlines<Named>;

beforeEach(() => {
  vi.useFakeTimers();
  late.length = 0;
  deadlines = new Deadlines<Named>(clock, 50, overdue => late.push(...overdue.map(({ name }) => name)));
});
afterEach(() => vi.useRealTimers());

describe('a waiting response', () => {
  test('is overdue when its time is up, not before', async () => {
    deadlines.add(waiting('a'));
    await vi.advanceTimersByTimeAsync(49);
    expect(late).toEqual([]);
    await vi.advanceTimersByTimeAsync(2);
    expect(late).toEqual(['a']);
  });

  test('is not overdue once it has its response', async () => {
    const a = waiting('a');
    deadlines.add(a);
    expect(deadlines.remove(a)).toBe(true);
    await vi.advanceTimersByTimeAsync(200);
    expect(late).toEqual([]);
  });

  test('is reported once, and ignored if it comes later', async () => {
    const a = waiting('a');
    deadlines.add(a);
    await vi.advanceTimersByTimeAsync(200);
    expect(deadlines.remove(a)).toBe(false);
    expect(late).toEqual(['a']);
  });

  test('is overdue at its own time', async () => {
    for (const name of ['a', 'b', 'c']) {
      deadlines.add(waiting(name));
      await vi.advanceTimersByTimeAsync(20);
    }
    expect(late).toEqual(['a']);
    await vi.advanceTimersByTimeAsync(12);
    expect(late).toEqual(['a', 'b']);
    await vi.advanceTimersByTimeAsync(30);
    expect(late).toEqual(['a', 'b', 'c']);
  });

  test('is watched after an idle time, too', async () => {
    const a = waiting('a');
    deadlines.add(a);
    deadlines.remove(a);
    await vi.advanceTimersByTimeAsync(1_000);
    deadlines.add(waiting('b'));
    await vi.advanceTimersByTimeAsync(52);
    expect(late).toEqual(['b']);
  });
});

test('a reply counts if it came in time and was read late, after a pause of the process', async () => {
  vi.useRealTimers();
  const a = waiting('a');
  deadlines.add(a);
  // What the socket holds is read after the timers and before what is to happen at once after.
  setTimeout(() => queueMicrotask(() => deadlines.remove(a)), 50);
  const pause = performance.now() + 80;
  while (performance.now() < pause);
  await new Promise(resolve => setTimeout(resolve, 20));
  expect(late).toEqual([]);
});

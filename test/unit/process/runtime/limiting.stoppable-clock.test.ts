import { expect, test } from 'vitest';
import { StoppableClock } from '../../../../src/process/runtime/limiting.ts';
import { FrozenClock } from '../../limits/frozen-clock.ts';

test('the clock stands still while something is counted, and goes on after that, even after a fault', () => {
  const world = new FrozenClock();
  const clock = new StoppableClock(world);
  const nowMs = world.monotonicMs();
  const seen: number[] = [];
  clock.stopAt(nowMs - 3, () => {
    seen.push(clock.monotonicMs());
    world.advance(5);
    seen.push(clock.monotonicMs());
  });
  expect(seen).toEqual([nowMs - 3, nowMs - 3]);
  expect(clock.monotonicMs()).toBe(nowMs + 5);
  expect(() =>
    clock.stopAt(0, () => {
      throw new Error('fault');
    }),
  ).toThrow('fault');
  expect(clock.monotonicMs()).toBe(nowMs + 5);
  expect(clock.epochMs()).toBe(world.epochMs());
});

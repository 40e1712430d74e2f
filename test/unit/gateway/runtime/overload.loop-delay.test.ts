import { expect, test } from 'vitest';
import { LoopDelay } from '../../../../src/gateway/runtime/overload.ts';

/** The means that are reported for a loop with these delays, looked at every 50 ms where it is in time. */
function meansOf(delays: readonly number[]): number[] {
  const means: number[] = [];
  const delay = new LoopDelay(0);
  let nowMs = 0;
  for (const each of delays) {
    nowMs += 50 + each;
    const mean = delay.note(each, nowMs);
    if (mean !== null) means.push(mean);
  }
  return means;
}

test('the mean of each second is reported', () => {
  expect(meansOf(new Array(40).fill(0))).toEqual([0, 0]);
  expect(meansOf(new Array(10).fill(200))).toEqual([200, 200]);
});

test('one stall of any length counts for nothing', () => {
  expect(meansOf([0, 0, 60_000, 0, 0, 0])).toEqual([0]);
});

test('a loop that is very late has to be so several times', () => {
  expect(meansOf([5_000, 5_000])).toEqual([]);
  expect(meansOf([5_000, 5_000, 5_000])).toEqual([5_000]);
});

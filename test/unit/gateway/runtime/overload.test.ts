import { expect, test } from 'vitest';
import { systemClock } from '../../../../src/core/index.ts';
import { Overload } from '../../../../src/gateway/runtime/overload.ts';

/** An event loop whose turns are made by hand. */
function loop(maxDelayMs: number | null) {
  let nowMs = 0;
  const told: string[] = [];
  const overload = new Overload(
    maxDelayMs,
    { ...systemClock, monotonicMs: () => nowMs, epochMs: () => nowMs },
    {
      began: delayMs => told.push(`began at ${delayMs}`),
      ended: (lastedMs, refused) => told.push(`ended after ${lastedMs}, ${refused} refused`),
    },
  );
  overload.start();
  overload.stop();
  return {
    overload,
    told,
    /** Turns that take so long. */
    turns: (count: number, ms: number) => {
      for (let turn = 0; turn < count; turn++) {
        nowMs += Math.max(ms, 50);
        overload.tick();
      }
    },
    passes: (ms: number) => {
      nowMs += ms;
    },
  };
}

test('a loop that is late on the average of a second begins an episode, and one that is late once does not', () => {
  const { told, turns } = loop(250);
  turns(20, 50);
  turns(1, 10_000);
  turns(40, 290);
  expect(told).toEqual([]);
  turns(4, 350);
  expect(told).toEqual([expect.stringMatching(/^began at 2[5-9]/)]);
});

test('during an episode a turn takes in requests for half of the delay, and refuses those that it finds later', () => {
  const { overload, turns, passes } = loop(250);
  passes(10_000);
  expect(overload.admits()).toBe(true);
  turns(8, 350);
  passes(124);
  expect(overload.admits()).toBe(true);
  passes(1);
  expect(overload.admits()).toBe(false);
  turns(1, 50);
  expect(overload.admits()).toBe(true);
});

test('an episode is over when nothing was refused for five seconds', () => {
  const { overload, told, turns, passes } = loop(250);
  turns(8, 350);
  turns(60, 50);
  passes(200);
  expect(overload.admits()).toBe(false);
  turns(90, 50);
  expect(told).toHaveLength(1);
  turns(20, 50);
  expect(told[1]).toMatch(/^ended after \d+, 1 refused$/);
  passes(10_000);
  expect(overload.admits()).toBe(true);
});

test('switched off by a reload, the episode ends at once', () => {
  const { overload, told, turns, passes } = loop(250);
  turns(8, 350);
  overload.use(null);
  overload.stop();
  passes(10_000);
  expect(overload.admits()).toBe(true);
  expect(told).toHaveLength(2);
  turns(8, 350);
  expect(told).toHaveLength(2);
});

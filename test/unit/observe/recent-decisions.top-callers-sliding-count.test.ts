import { expect, it } from 'vitest';
import { SlidingCount, TICK_MS } from '../../../src/observe/recent-decisions.ts';

/** A count that grew by one in each tick, so many ticks long. */
function grown(ticks: number): SlidingCount {
  const count = new SlidingCount();
  for (let total = 1; total <= ticks; total++) count.advance(total);
  return count;
}

const PER_MINUTE = 60_000 / TICK_MS;

it('a sliding count tells the growth within the last minute and the last hour, that since the last tick included', () => {
  const count = grown(3);
  expect([count.lastMinute(10), count.lastHour(10)]).toEqual([10, 10]);
});

it('a sliding count forgets what is older', () => {
  const count = grown(2 * 60 * PER_MINUTE);
  const total = 2 * 60 * PER_MINUTE;
  expect([count.lastMinute(total), count.lastHour(total)]).toEqual([PER_MINUTE - 1, 60 * PER_MINUTE]);
  for (let tick = 0; tick < PER_MINUTE; tick++) count.advance(total);
  expect([count.lastMinute(total), count.lastHour(total)]).toEqual([0, 59 * PER_MINUTE]);
  for (let tick = 0; tick < 60 * PER_MINUTE; tick++) count.advance(total);
  expect(count.lastHour(total)).toBe(0);
});

it('a sliding count takes a smaller total for a count that began anew', () => {
  const count = grown(9);
  expect(count.lastMinute(2)).toBe(11);
  count.advance(2);
  expect(count.lastMinute(2)).toBe(11);
});

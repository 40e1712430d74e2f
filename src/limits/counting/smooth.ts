import type { Counter, CounterRule } from './counter.ts';
import type { Limit } from './limit.ts';

/** Clients round what they are told to wait: some come this much early, milliseconds. */
const CLIENT_ROUNDING_MS = 2;

/**
 * The generic cell rate algorithm: every request moves the moment of full refill one step (period / units) further, and is
 * admitted when that moment is no more than a period away. Steps are kept exactly, in whole parts of 1 / units of a
 * millisecond, so that a limit of 7 an hour neither gains nor loses over a year.
 */
export const smooth: CounterRule = {
  waitMs(counter, limit, nowMs) {
    const wait = freeInMs(counter, limit, nowMs);
    if (wait <= limit.slackMs) return 0;
    // Where the steps are so short that the slack does not cover a client's rounding, the wait announced does.
    return Math.ceil(wait + Math.max(0, CLIENT_ROUNDING_MS - limit.slackMs));
  },

  draw(counter, limit, { nowMs }) {
    // An idle counter is full now, however long ago it was refilled.
    counter.count = nowMs < counter.markMs ? partsOf(counter, limit) : 0;
    counter.markMs = Math.max(counter.markMs, nowMs);
    const wholeMs = Math.floor(limit.periodMs / limit.units);
    counter.markMs += wholeMs;
    counter.count -= limit.periodMs - wholeMs * limit.units;
    if (counter.count < 0) {
      counter.count += limit.units;
      counter.markMs++;
    }
    settle(counter, limit, nowMs);
  },

  // A unit counts until the moment that was that of full refill when it was drawn: later, time has given it back. What is
  // left of the burst is exact when others drew before or after; who refunds many may at worst find a second burst, as at
  // the edge of a fixed window, but never a higher rate.
  refund(counter, limit, window, nowMs) {
    if (nowMs >= window || nowMs >= counter.markMs) return false;
    const wholeMs = Math.floor(limit.periodMs / limit.units);
    counter.markMs -= wholeMs;
    counter.count = partsOf(counter, limit) + limit.periodMs - wholeMs * limit.units;
    if (counter.count >= limit.units) {
      counter.count -= limit.units;
      counter.markMs--;
    }
    settle(counter, limit, nowMs);
    return true;
  },

  windowOf: counter => counter.markMs,

  remaining(counter, limit, nowMs) {
    if (nowMs >= counter.markMs) return limit.units;
    const { units, periodMs } = limit;
    const drawn = (counter.markMs - nowMs) * units - partsOf(counter, limit);
    // Below 0 when a request came in the slack.
    return Math.max(0, Math.floor((periodMs * units - drawn) / periodMs));
  },

  resetInMs: (counter, _limit, nowMs) => Math.max(0, counter.resetMs - nowMs),

  announce: (counter, _limit, moment) => Math.max(counter.resetMs, moment.nowMs) + moment.steadyOffsetMs,
};

/** How long until one more step ends no more than a period from now; 0 or less: at once. */
function freeInMs(counter: Counter, limit: Limit, nowMs: number): number {
  if (nowMs >= counter.markMs) return 0;
  return counter.markMs - nowMs - limit.periodMs + (limit.periodMs - partsOf(counter, limit)) / limit.units;
}

/** A reload may have lowered the number of parts in a millisecond; what this forgets then is less than one. */
function partsOf(counter: Counter, limit: Limit): number {
  return Math.min(counter.count, limit.units - 1);
}

/** Reset never goes back, although a refund brings the refill forward. */
function settle(counter: Counter, limit: Limit, nowMs: number): void {
  counter.resetMs = Math.max(counter.resetMs, counter.markMs);
  counter.exhausted = smooth.remaining(counter, limit, nowMs) === 0;
}

import type { Counter, CounterRule } from './counter.ts';
import type { Limit } from './limit-definition.ts';

/** Clients round the wait they are given, and some come this much early. In milliseconds. */
const CLIENT_ROUNDING_MS = 2;

/**
 * The generic cell rate algorithm: each request moves the moment of full refill one step (period / units) further, and is
 * admitted if that moment is then no more than a period away. Steps are exact, in fractions of 1 / units of a millisecond, so
 * that a limit of 7 per hour does not drift over a year.
 */
export const smooth: CounterRule = {
  waitMs(counter, limit, nowMs) {
    const wait = freeInMs(counter, limit, nowMs);
    if (wait <= limit.slackMs) return 0;
    // With short steps the slack does not cover a client's rounding, so the announced wait has to.
    return Math.ceil(wait + Math.max(0, CLIENT_ROUNDING_MS - limit.slackMs));
  },

  draw(counter, limit, { nowMs }) {
    // An idle counter is full now, however long ago it filled up.
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

  // A unit can be returned until the moment of full refill at the time it was drawn: after that, time has already restored it.
  // Exact for a single unit; at worst, refunding many allows a second burst, as at the edge of a fixed window, but never a
  // higher rate.
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
    // Negative if a request was admitted within the slack.
    return Math.max(0, Math.floor((periodMs * units - drawn) / periodMs));
  },

  resetInMs: (counter, _limit, nowMs) => Math.max(0, counter.resetMs - nowMs),

  announce: (counter, _limit, moment) => Math.max(counter.resetMs, moment.nowMs) + moment.steadyOffsetMs,
};

/** How long until a further step would end within a period from now; 0 or less: it does already. */
function freeInMs(counter: Counter, limit: Limit, nowMs: number): number {
  if (nowMs >= counter.markMs) return 0;
  return counter.markMs - nowMs - limit.periodMs + (limit.periodMs - partsOf(counter, limit)) / limit.units;
}

/** The fraction, capped because a reload may have lowered the units that it counts in; loses less than a millisecond. */
function partsOf(counter: Counter, limit: Limit): number {
  return Math.min(counter.count, limit.units - 1);
}

/** Reset never moves back, even though a refund makes the refill come earlier. */
function settle(counter: Counter, limit: Limit, nowMs: number): void {
  counter.resetMs = Math.max(counter.resetMs, counter.markMs);
  counter.exhausted = smooth.remaining(counter, limit, nowMs) === 0;
}

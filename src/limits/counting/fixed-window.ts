import type { Counter, CounterRule } from './counter.ts';
import type { Limit } from './limit.ts';
import { CLOCK_STEP_MS } from './moment.ts';

/**
 * A window opens at the first admitted request and closes one period later.
 *
 * In the slack before its Reset, a request that finds the window used up is counted in the next one, which opens as of that
 * Reset: windows stay a whole period apart, so a client paced by the headers is never refused for a few milliseconds, and
 * nobody gains over time. Clients are still told the window that ends: some take a Reset that moves before it has passed
 * for a sliding window and crawl. Only when the next window is used up as well is that one told, since the wait for the
 * ending one would no longer do.
 */
export const fixedWindow: CounterRule = {
  waitMs(counter, limit, nowMs) {
    if (counter.count < limit.units || nowMs >= counter.resetMs - limit.slackMs) return 0;
    return counter.resetMs - nowMs;
  },

  draw(counter, limit, moment) {
    if (moment.nowMs >= counter.resetMs)
      open(counter, moment.nowMs + limit.periodMs, moment.epochMs + limit.periodMs);
    else if (counter.count >= limit.units) {
      // The wall clock may have stepped since the window opened; the next one goes on from what is true now.
      correctMark(counter, moment);
      open(counter, counter.resetMs + limit.periodMs, counter.markMs + limit.periodMs);
    } else counter.count++;
    counter.exhausted = counter.count >= limit.units;
  },

  refund(counter, limit, window, nowMs) {
    if (counter.resetMs !== window || nowMs >= window || counter.count === 0) return false;
    counter.count--;
    counter.exhausted = counter.count >= limit.units;
    return true;
  },

  windowOf: counter => counter.resetMs,

  remaining(counter, limit, nowMs) {
    if (nowMs >= counter.resetMs) return limit.units;
    if (tellsEnding(counter, limit, nowMs)) return 0;
    // Fewer than none when a reload lowered the quota below what is drawn.
    return Math.max(0, limit.units - counter.count);
  },

  resetInMs(counter, limit, nowMs) {
    const resetMs = tellsEnding(counter, limit, nowMs) ? counter.resetMs - limit.periodMs : counter.resetMs;
    return Math.max(0, resetMs - nowMs);
  },

  announce(counter, limit, moment) {
    if (moment.nowMs >= counter.resetMs) return moment.epochMs;
    correctMark(counter, moment);
    return tellsEnding(counter, limit, moment.nowMs) ? counter.markMs - limit.periodMs : counter.markMs;
  },
};

/** The counter is the next window's, which has room, and the one before has not closed yet. */
function tellsEnding(counter: Counter, limit: Limit, nowMs: number): boolean {
  return nowMs < counter.resetMs - limit.periodMs && counter.count < limit.units;
}

/** The announced Reset follows the wall clock past a step. */
function correctMark(counter: Counter, { nowMs, epochMs }: { nowMs: number; epochMs: number }): void {
  const trueMs = epochMs + (counter.resetMs - nowMs);
  if (Math.abs(trueMs - counter.markMs) > CLOCK_STEP_MS) counter.markMs = trueMs;
}

function open(counter: Counter, resetMs: number, announcedMs: number): void {
  counter.resetMs = resetMs;
  counter.markMs = announcedMs;
  counter.count = 1;
}

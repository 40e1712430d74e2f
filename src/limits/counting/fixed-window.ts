import type { Counter, CounterRule } from './counter.ts';
import type { Limit } from './limit-definition.ts';
import { CLOCK_STEP_MS } from './moment.ts';

/**
 * A window opens at the first admitted request and closes one period later.
 *
 * In the slack before Reset, a request that finds the window used up counts in the next one, which opens as of that Reset. So a
 * client paced by the headers is never refused over a few milliseconds, and since windows stay a whole period apart, nobody
 * gains over time. Until Reset, responses still describe the ending window: some clients take a Reset that moves early for a
 * sliding window and slow to a crawl. Only when the next window is used up too do they describe that one, since waiting for the
 * ending one would no longer be enough.
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
      // The wall clock may have stepped since the window opened; announce the next one by the corrected clock.
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
    if (describesEnding(counter, limit, nowMs)) return 0;
    // Negative if a reload lowered the quota below what is already drawn.
    return Math.max(0, limit.units - counter.count);
  },

  resetInMs(counter, limit, nowMs) {
    const resetMs = describesEnding(counter, limit, nowMs)
      ? counter.resetMs - limit.periodMs
      : counter.resetMs;
    return Math.max(0, resetMs - nowMs);
  },

  announce(counter, limit, moment) {
    if (moment.nowMs >= counter.resetMs) return moment.epochMs;
    correctMark(counter, moment);
    return describesEnding(counter, limit, moment.nowMs) ? counter.markMs - limit.periodMs : counter.markMs;
  },
};

/** Whether responses still describe the window that is ending: the counter is the next one's already, and that has room. */
function describesEnding(counter: Counter, limit: Limit, nowMs: number): boolean {
  return nowMs < counter.resetMs - limit.periodMs && counter.count < limit.units;
}

/** Moves the announced Reset along with a step of the wall clock. */
function correctMark(counter: Counter, { nowMs, epochMs }: { nowMs: number; epochMs: number }): void {
  const trueMs = epochMs + (counter.resetMs - nowMs);
  if (Math.abs(trueMs - counter.markMs) > CLOCK_STEP_MS) counter.markMs = trueMs;
}

function open(counter: Counter, resetMs: number, announcedMs: number): void {
  counter.resetMs = resetMs;
  counter.markMs = announcedMs;
  counter.count = 1;
}

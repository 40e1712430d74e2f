import type { Counter, CounterRule } from './counter.ts';
import type { Limit } from './limit.ts';
import { CLOCK_STEP_MS } from './moment.ts';

/**
 * A window opens at the first admitted request and closes one period later. A request that comes in its slack, just before
 * it closes, opens the next one as of the Reset announced: windows stay a whole period apart, so a client that is paced by
 * the headers is never refused for a few milliseconds, and nobody gains over time.
 */
export const fixedWindow: CounterRule = {
  waitMs(counter, limit, nowMs) {
    if (counter.count < limit.units || isClosing(counter, limit, nowMs)) return 0;
    return counter.resetMs - nowMs;
  },

  draw(counter, limit, moment) {
    if (moment.nowMs >= counter.resetMs)
      open(counter, moment.nowMs + limit.periodMs, moment.epochMs + limit.periodMs);
    else if (isClosing(counter, limit, moment.nowMs)) {
      // The wall clock may have stepped since the window opened; the next one goes on from what is true now.
      fixedWindow.announce(counter, moment);
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
    // Fewer than none when a reload lowered the quota below what is drawn.
    return Math.max(0, limit.units - counter.count);
  },

  announce(counter, moment) {
    if (moment.nowMs >= counter.resetMs) return moment.epochMs;
    const trueMs = moment.epochMs + (counter.resetMs - moment.nowMs);
    if (Math.abs(trueMs - counter.markMs) > CLOCK_STEP_MS) counter.markMs = trueMs;
    return counter.markMs;
  },
};

function isClosing(counter: Counter, limit: Limit, nowMs: number): boolean {
  return nowMs >= counter.resetMs - limit.slackMs;
}

function open(counter: Counter, resetMs: number, announcedMs: number): void {
  counter.resetMs = resetMs;
  counter.markMs = announcedMs;
  counter.count = 1;
}

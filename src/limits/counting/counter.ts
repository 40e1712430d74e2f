import type { Limit } from './limit-definition.ts';
import type { Moment } from './moment.ts';

/**
 * The state of one key, in whole numbers. Times are on the monotonic clock unless noted. Once its Reset has passed, a counter
 * is worth no more than a new one and is dropped.
 */
export interface Counter {
  /** When everything drawn will have been restored: for a fixed window, when it closes. */
  resetMs: number;
  /**
   * - fixed window: `resetMs` as announced, in milliseconds since the epoch
   * - smooth: the moment of full refill, rounded up
   */
  markMs: number;
  /**
   * - fixed window: units drawn in this window
   * - smooth: how much earlier than `markMs` the refill is, in fractions of 1 / units of a millisecond
   */
  count: number;
  /** The last admitted request left nothing. An exhausted counter is never dropped before its Reset. */
  exhausted: boolean;
}

/** The arithmetic of one algorithm. Its only state is the counter. */
export interface CounterRule {
  /** 0 if the next request is admitted, else how long it has to wait: at least 1 ms. */
  waitMs(counter: Counter, limit: Limit, nowMs: number): number;
  /** Takes one unit. Call it only after `waitMs` returned 0. */
  draw(counter: Counter, limit: Limit, moment: Moment): void;
  /** Returns one unit to the window that `windowOf` named. False if that window is over. */
  refund(counter: Counter, limit: Limit, window: number, nowMs: number): boolean;
  /** Names the window that the last unit was taken from; never 0. */
  windowOf(counter: Counter): number;
  /** The Remaining to announce: what is left until Reset. */
  remaining(counter: Counter, limit: Limit, nowMs: number): number;
  /** How long until the announced Reset; 0 once it has passed. */
  resetInMs(counter: Counter, limit: Limit, nowMs: number): number;
  /** The Reset to announce, in milliseconds since the epoch. Corrects the counter if the wall clock has stepped. */
  announce(counter: Counter, limit: Limit, moment: Moment): number;
}

export function newCounter(): Counter {
  return { resetMs: 0, markMs: 0, count: 0, exhausted: false };
}

export function copyCounter(from: Counter, to: Counter): void {
  to.resetMs = from.resetMs;
  to.markMs = from.markMs;
  to.count = from.count;
  to.exhausted = from.exhausted;
}

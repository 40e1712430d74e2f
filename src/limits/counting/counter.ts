import type { Limit } from './limit.ts';
import type { Moment } from './moment.ts';

/**
 * What is kept of one key, in whole numbers. Times are the monotonic clock's unless said otherwise. A counter whose
 * Reset has passed says no more than a new one, and is thrown away.
 */
export interface Counter {
  /** The moment when nothing is drawn any more: of a fixed window, when it closes. */
  resetMs: number;
  /**
   * - fixed window: `resetMs` as announced, in milliseconds since the epoch
   * - smooth: the moment of full refill, rounded up
   */
  markMs: number;
  /**
   * - fixed window: units drawn in this window
   * - smooth: how much earlier than `markMs` the refill is, in parts of 1 / units of a millisecond
   */
  count: number;
  /** Whether the last request that was admitted left nothing. Such a counter is never thrown away before its Reset. */
  exhausted: boolean;
}

/** The arithmetic of one algorithm. Pure: the counter is its only state. */
export interface CounterRule {
  /** 0 when the next request is admitted; else how long it has to wait, at least 1 ms. */
  waitMs(counter: Counter, limit: Limit, nowMs: number): number;
  /** Takes one unit. Only after `waitMs` said 0. */
  draw(counter: Counter, limit: Limit, moment: Moment): void;
  /** Gives one unit back to the window that `windowOf` named. False: that window is over. */
  refund(counter: Counter, limit: Limit, window: number, nowMs: number): boolean;
  /** Names the window that the last unit was taken from; never 0. */
  windowOf(counter: Counter): number;
  /** As it is told: what is left until Reset. */
  remaining(counter: Counter, limit: Limit, nowMs: number): number;
  /** How long until Reset as it is told, 0 when it has passed. */
  resetInMs(counter: Counter, limit: Limit, nowMs: number): number;
  /** Reset as it is told, in milliseconds since the epoch. Corrects the counter when the wall clock has stepped. */
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

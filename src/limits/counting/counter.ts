import type { Clock, Words } from '../../core/index.ts';
import { CALENDAR_MS, type Calendar } from './calendar.ts';
import type { Limit, LimitAlgorithm } from './limit-definition.ts';

/**
 * The state of one key, in whole numbers. Times are on the monotonic clock unless noted. A counter past its Reset is equivalent
 * to a new one, and is dropped.
 */
export interface Counter {
  /** When all units will be free again; for a fixed window, when it closes. */
  resetMs: number;
  /**
   * - fixed window: `resetMs` as announced, in milliseconds since the epoch
   * - smooth: the moment of full refill, rounded up
   */
  markMs: number;
  /**
   * - fixed window: units consumed in this window
   * - smooth: how much earlier than `markMs` the refill is, in fractions of 1 / units of a millisecond
   */
  count: number;
  /** Whether the last admitted request used the last unit. An exhausted counter is never dropped before its Reset. */
  exhausted: boolean;
}

/**
 * The arithmetic of one algorithm. Its only state is the counter.
 *
 * `cost`: the units that a request consumes, all or none. A request that costs more than the whole quota, which a token or an
 * unreachable Redis may have reduced, consumes all of it.
 */
export interface CounterRule {
  /** How long a request of this cost has to wait, at least 1 ms; 0 if it is admitted. */
  waitMs(counter: Counter, limit: Limit, nowMs: number, cost: number): number;
  /** Consumes what a request costs. Call it only after `waitMs` returned 0. */
  consume(counter: Counter, limit: Limit, moment: Moment, cost: number): void;
  /**
   * Returns units to the window identified by `windowOf`; a negative number consumes that many more, even beyond the quota. False
   * if that window is over.
   */
  refund(counter: Counter, limit: Limit, window: number, nowMs: number, cost: number): boolean;
  /** Identifies the window of the last consumed unit; never 0. */
  windowOf(counter: Counter, limit: Limit): number;
  /** The Remaining to announce: units left until Reset. */
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

/**
 * The highest count that a counter keeps: below the bit `EXHAUSTED`, and above any quota. It stays until the Reset, since nobody
 * knows how much more was consumed.
 */
export const MAX_COUNT = 2 ** 30 - 1;

/** The units that a request consumes of a limit. */
function unitsOf(cost: number, { units }: Limit): number {
  return cost < units ? cost : units;
}

/** If the wall clock steps by more than this, announced times are corrected. In milliseconds. */
const CLOCK_STEP_MS = 1_000;

// Offsets of a stored moment's floats. Initially the clock offsets are 0, which is more than a step from any real one.
const LAST = 0;
const STEADY_OFFSET = 1;
export const MOMENT_FLOATS = 3;

/**
 * One moment in whole milliseconds on both clocks: the monotonic one measures, the wall clock announces. Read once per decision,
 * so that everything in one response refers to one moment.
 */
export class Moment {
  /** The moment on the monotonic clock. */
  nowMs = 0;
  epochMs = 0;
  /**
   * The offset from the monotonic clock to the wall clock, for times that must not go back from response to response. Follows the
   * wall clock forwards at once, but backwards only after a step: the clocks are read one after the other and round differently.
   */
  steadyOffsetMs = Number.NEGATIVE_INFINITY;

  /** `nowMs` in milliseconds since the epoch. */
  get steadyEpochMs(): number {
    return this.nowMs + this.steadyOffsetMs;
  }

  /** Continues from the moment that another thread stored at this place in `floats`. */
  follow({ floats }: Words, place: number): void {
    this.nowMs = floats[place + LAST] ?? 0;
    this.steadyOffsetMs = floats[place + STEADY_OFFSET] ?? 0;
  }

  /** Reads the clock, continues from the last stored moment, and stores this one. */
  readAfter(clock: Clock, words: Words, place: number): void {
    this.follow(words, place);
    const lastMs = this.nowMs;
    const steadyMs = this.steadyOffsetMs;
    this.read(clock, lastMs);
    if (this.nowMs !== lastMs) words.setFloat(place + LAST, this.nowMs);
    if (this.steadyOffsetMs !== steadyMs) words.setFloat(place + STEADY_OFFSET, this.steadyOffsetMs);
  }

  /** @param lastMs a lower bound: the clocks of threads agree, but may round differently, and time must not go back */
  read(clock: Clock, lastMs: number): void {
    this.nowMs = Math.max(lastMs, Math.floor(clock.monotonicMs()));
    this.epochMs = Math.floor(clock.epochMs());
    const offset = this.epochMs - this.nowMs;
    if (offset > this.steadyOffsetMs || offset < this.steadyOffsetMs - CLOCK_STEP_MS)
      this.steadyOffsetMs = offset;
  }
}

/**
 * A window opens at the first admitted request and closes one period later.
 *
 * In the slack before Reset, a request that finds the window used up counts in the next one, which opens as of that Reset. So a
 * client that follows the headers is never refused over a few milliseconds, and since windows stay a full period apart, nobody
 * gains over time. Until Reset, responses still describe the ending window: some clients take a Reset that moves early for a
 * sliding window and slow to a crawl. If the next window is used up as well, responses describe that one, since waiting for the
 * end of the current one is no longer enough.
 */
const fixedWindow: CounterRule = {
  waitMs(counter, limit, nowMs, cost) {
    if (hasRoom(counter, limit, cost) || nowMs >= counter.resetMs - limit.slackMs) return 0;
    return counter.resetMs - nowMs;
  },

  consume(counter, limit, moment, cost) {
    const units = unitsOf(cost, limit);
    if (moment.nowMs >= counter.resetMs) openNow(counter, limit, moment, units);
    else if (!hasRoom(counter, limit, cost)) {
      const lengthMs = limit.calendar === null ? limit.periodMs : nextLength(counter, limit.calendar);
      open(counter, counter.resetMs + lengthMs, counter.markMs + lengthMs, units);
    } else counter.count += units;
    counter.exhausted = !hasRoom(counter, limit, limit.largestCost);
  },

  refund(counter, limit, window, nowMs, cost) {
    if (this.windowOf(counter, limit) !== window || nowMs >= counter.resetMs) return false;
    if (counter.count === MAX_COUNT || (counter.count === 0 && cost > 0)) return false;
    const units = limit.isPriced ? cost : unitsOf(cost, limit);
    counter.count = Math.min(MAX_COUNT, Math.max(0, counter.count - units));
    counter.exhausted = !hasRoom(counter, limit, limit.largestCost);
    return true;
  },

  // The end of a calendar's window moves with the wall clock.
  windowOf: (counter, { calendar }) => (calendar === null ? counter.resetMs : counter.markMs),

  remaining(counter, limit, nowMs) {
    if (nowMs >= counter.resetMs) return limit.units;
    if (endingAt(counter, limit, nowMs) !== null) return 0;
    // Negative if a reload lowered the quota below what is already consumed.
    return Math.max(0, limit.units - counter.count);
  },

  resetInMs(counter, limit, nowMs) {
    return Math.max(0, (endingAt(counter, limit, nowMs) ?? counter.resetMs) - nowMs);
  },

  announce(counter, limit, moment) {
    if (moment.nowMs >= counter.resetMs) return moment.epochMs;
    if (limit.calendar === null) correctMark(counter, moment);
    const endMs = endingAt(counter, limit, moment.nowMs) ?? counter.resetMs;
    return counter.markMs - (counter.resetMs - endMs);
  },
};

/** Whether the window has the units that a request costs. */
function hasRoom({ count }: Counter, limit: Limit, cost: number): boolean {
  return count + unitsOf(cost, limit) <= limit.units;
}

/**
 * When the window ends that responses still describe: in its slack, if the counter already belongs to the next one, and that has
 * room for any request. Else `null`.
 */
function endingAt(counter: Counter, limit: Limit, nowMs: number): number | null {
  const startMs = startOf(counter, limit);
  const isInSlack = startMs !== null && nowMs < startMs && nowMs >= startMs - limit.slackMs;
  return isInSlack && hasRoom(counter, limit, limit.largestCost) ? startMs : null;
}

/** When the counter's window begins; `null` if it was opened in another time zone, and so has begun. */
function startOf({ resetMs, markMs }: Counter, { periodMs, calendar }: Limit): number | null {
  if (calendar === null) return resetMs - periodMs;
  const startMs = calendar.startOf(markMs);
  return startMs === null ? null : resetMs - (markMs - startMs);
}

/** How long the window after that of the counter is. */
function nextLength({ markMs }: Counter, calendar: Calendar): number {
  return calendar.endAfter(markMs) - markMs;
}

/** A February has 28 of 31 days, and a day in which clocks go forward 23 of 24 hours. */
const SHORTEST = 0.9;

/**
 * Places the window of a calendar on the monotonic clock again: it ends when the wall clock says so, whatever that did since the
 * counter was stored. If that clock was wrong, and the window is one of the far future, it ends with the current one, to lock
 * nobody out until then. Returns whether it has to be stored.
 */
export function followCalendar(
  counter: Counter,
  calendar: Calendar,
  nowMs: number,
  steadyOffsetMs: number,
): boolean {
  const storedMs = counter.resetMs;
  const epochMs = nowMs + steadyOffsetMs;
  // Most windows end before a whole period from now is over, and need no look at the calendar.
  const mayBeFar = counter.markMs > epochMs + SHORTEST * CALENDAR_MS[calendar.unit];
  const isFar = mayBeFar && counter.markMs > calendar.endAfter(calendar.endAfter(epochMs));
  if (isFar) counter.markMs = calendar.endAfter(epochMs);
  counter.resetMs = counter.markMs - steadyOffsetMs;
  return isFar || Math.abs(counter.resetMs - storedMs) > CLOCK_STEP_MS;
}

function openNow(counter: Counter, { periodMs, calendar }: Limit, moment: Moment, units: number): void {
  const { nowMs, epochMs, steadyEpochMs, steadyOffsetMs } = moment;
  if (calendar === null) {
    open(counter, nowMs + periodMs, epochMs + periodMs, units);
    return;
  }
  const endMs = calendar.endAfter(steadyEpochMs);
  open(counter, endMs - steadyOffsetMs, endMs, units);
}

/** Moves the announced Reset along with a step of the wall clock. */
function correctMark(counter: Counter, { nowMs, epochMs }: { nowMs: number; epochMs: number }): void {
  const trueMs = epochMs + (counter.resetMs - nowMs);
  if (Math.abs(trueMs - counter.markMs) > CLOCK_STEP_MS) counter.markMs = trueMs;
}

function open(counter: Counter, resetMs: number, announcedMs: number, units: number): void {
  counter.resetMs = resetMs;
  counter.markMs = announcedMs;
  counter.count = units;
}

/** Clients round the wait they are given, so that some are this much early. In milliseconds. */
const CLIENT_ROUNDING_MS = 2;

/**
 * The generic cell rate algorithm: each request postpones the time of full refill by one step (period / units) per unit of its
 * cost, and is admitted if that time is then at most a period away. Steps are exact, in fractions of 1 / units of a millisecond,
 * so that a limit of 7 per hour does not drift over a year.
 */
const smooth: CounterRule = {
  waitMs(counter, limit, nowMs, cost) {
    const wait = freeInMs(counter, limit, nowMs, cost);
    if (wait <= limit.slackMs) return 0;
    // With short steps the slack does not cover a client's rounding, so the announced wait must.
    return Math.ceil(wait + Math.max(0, CLIENT_ROUNDING_MS - limit.slackMs));
  },

  consume(counter, limit, { nowMs }, cost) {
    // An idle counter is full now, however long ago it was refilled.
    counter.count = nowMs < counter.markMs ? partsOf(counter, limit) : 0;
    counter.markMs = Math.max(counter.markMs, nowMs);
    const [wholeMs, parts] = stepsOf(cost, limit);
    counter.markMs += wholeMs;
    counter.count -= parts;
    if (counter.count < 0) {
      counter.count += limit.units;
      counter.markMs++;
    }
    moveReset(counter, limit, nowMs);
  },

  // A unit can be returned until the time of full refill as of its consumption: after that, time has already restored it. Exact
  // for a single unit; at worst, refunding many allows another burst, as at the edge of a fixed window, but never a higher rate.
  refund(counter, limit, window, nowMs, cost) {
    if (nowMs >= window || nowMs >= counter.markMs) return false;
    const [wholeMs, parts] = stepsOf(cost, limit);
    counter.markMs -= wholeMs;
    counter.count = partsOf(counter, limit) + parts;
    if (counter.count >= limit.units) {
      counter.count -= limit.units;
      counter.markMs--;
    }
    moveReset(counter, limit, nowMs);
    return true;
  },

  windowOf: counter => counter.markMs,

  remaining(counter, limit, nowMs) {
    if (nowMs >= counter.markMs) return limit.units;
    const [whole, parts] = divided(counter.markMs - nowMs, limit.units, limit.periodMs);
    const consumed = whole + Math.ceil((parts - partsOf(counter, limit)) / limit.periodMs);
    // Negative if a request was admitted within the slack.
    return Math.max(0, limit.units - consumed);
  },

  resetInMs: (counter, _limit, nowMs) => Math.max(0, counter.resetMs - nowMs),

  announce: (counter, _limit, moment) => Math.max(counter.resetMs, moment.nowMs) + moment.steadyOffsetMs,
};

/** How long until the steps of this cost would end within a period from now; 0 or less if they already do. */
function freeInMs(counter: Counter, limit: Limit, nowMs: number, cost: number): number {
  const [wholeMs, parts] = stepsOf(cost, limit);
  const { periodMs, units } = limit;
  return counter.markMs - nowMs - periodMs + wholeMs + (parts - partsOf(counter, limit)) / units;
}

/** How far a request postpones the time of full refill: whole milliseconds, and fractions of 1 / units of one. */
function stepsOf(cost: number, limit: Limit): readonly [wholeMs: number, parts: number] {
  return divided(limit.periodMs, unitsOf(cost, limit), limit.units);
}

const HALF = 2 ** 16;

/**
 * Divides `times * units` by `by`: the whole part, and the rest. Exact, although the product may need 62 bits: `units` has 30,
 * and the others, milliseconds or units, 32.
 */
function divided(times: number, units: number, by: number): readonly [whole: number, rest: number] {
  const product = times * units;
  if (product <= Number.MAX_SAFE_INTEGER) {
    const whole = Math.floor(product / by);
    return [whole, product - whole * by];
  }
  const low = times % HALF;
  const upper = ((times - low) / HALF) * units;
  const wholeUpper = Math.floor(upper / by);
  const lower = (upper - wholeUpper * by) * HALF + low * units;
  const wholeLower = Math.floor(lower / by);
  return [wholeUpper * HALF + wholeLower, lower - wholeLower * by];
}

/**
 * The fraction of a millisecond, capped because a reload may have lowered the units that it is measured in. The cap loses less
 * than a millisecond.
 */
function partsOf(counter: Counter, limit: Limit): number {
  return Math.min(counter.count, limit.units - 1);
}

/** Updates Reset, which never moves back, even though a refund makes the refill earlier. */
function moveReset(counter: Counter, limit: Limit, nowMs: number): void {
  counter.resetMs = Math.max(counter.resetMs, counter.markMs);
  counter.exhausted = smooth.remaining(counter, limit, nowMs) < Math.min(limit.largestCost, limit.units);
}

export const RULES: Readonly<Record<LimitAlgorithm, CounterRule>> = { window: fixedWindow, smooth };

import { type DecisionEvent, ownString, type QuotaUse, type RestrictionRefusal } from '../core/index.ts';
import type { limitMetrics, Tally } from './metrics/index.ts';

export type LimitTallies = Pick<ReturnType<typeof limitMetrics>, 'decisions' | 'inShadow' | 'byRestriction'>;

/** Requests that limits admitted and refused, and how often a shadow limit would have refused one. */
export interface DecisionCounts {
  readonly admitted: number;
  readonly refused: number;
  readonly shadowRefused: number;
  /** Refused by a restriction, or as blocked, before a bucket was looked up, so all of them count as without a bucket. */
  readonly restricted: number;
}

/** Recent decisions about a bucket's callers of one class. */
interface RecentBucket {
  readonly lastMinute: DecisionCounts;
  readonly lastHour: DecisionCounts;
}

type Row = Readonly<Record<keyof DecisionCounts, SlidingCount>>;

/**
 * Reports what limits decided in the last minute and hour. Costs requests nothing: it reads the counts of the metrics every few
 * seconds. Has a row for each bucket and class with requests, at most as many as the configuration has.
 */
export class RecentDecisions {
  readonly #tallies: LimitTallies;
  readonly #rows = new Map<Tally, Row>();

  constructor(tallies: LimitTallies) {
    this.#tallies = tallies;
  }

  advance(): void {
    const known = new Set<Tally>();
    for (const [bucket, { parts }] of this.#tallies.decisions.parts) {
      for (const [callerClass, tally] of parts) {
        known.add(tally);
        this.#advance(tally, this.#totals(bucket, callerClass));
      }
    }
    // A reload removed their buckets.
    for (const tally of this.#rows.keys()) if (!known.has(tally)) this.#rows.delete(tally);
  }

  #advance(tally: Tally, totals: DecisionCounts): void {
    if (totals.admitted + totals.refused + totals.restricted === 0) return;
    const row = this.#rows.get(tally) ?? eachOf(() => new SlidingCount());
    this.#rows.set(tally, row);
    row.admitted.advance(totals.admitted);
    row.refused.advance(totals.refused);
    row.shadowRefused.advance(totals.shadowRefused);
    row.restricted.advance(totals.restricted);
  }

  /** `bucket`: "none" for requests without one. */
  of(bucket: string, callerClass: string): RecentBucket {
    const totals = this.#totals(bucket, callerClass);
    const tally = this.#tallies.decisions.parts.get(bucket)?.parts.get(callerClass);
    const row = tally && this.#rows.get(tally);
    if (row === undefined) return { lastMinute: totals, lastHour: totals };
    return {
      lastMinute: eachOf(name => row[name].lastMinute(totals[name])),
      lastHour: eachOf(name => row[name].lastHour(totals[name])),
    };
  }

  #totals(bucket: string, callerClass: string): DecisionCounts {
    const { decisions, inShadow, byRestriction } = this.#tallies;
    const outcomes = decisions.parts.get(bucket)?.parts.get(callerClass);
    const admitted = sumOf(outcomes?.parts.get('admitted'));
    return {
      admitted,
      refused: sumOf(outcomes) - admitted,
      shadowRefused: sumOf(inShadow.parts.get(bucket)?.parts.get(callerClass)),
      restricted: bucket === 'none' ? sumOf(byRestriction.parts.get(callerClass)) : 0,
    };
  }
}

function eachOf<Value>(make: (name: keyof DecisionCounts) => Value) {
  return {
    admitted: make('admitted'),
    refused: make('refused'),
    shadowRefused: make('shadowRefused'),
    restricted: make('restricted'),
  };
}

/** Adds up a tally and all its parts. */
function sumOf(tally: Tally | undefined): number {
  if (tally === undefined) return 0;
  let sum = tally.count;
  for (const part of tally.parts.values()) sum += sumOf(part);
  return sum;
}

/** How long after their last event callers are forgotten. */
const IDLE_MS = 3_600_000;

/** A caller in a bucket, and how often something happened to it. */
export interface TopCaller {
  /** A principal or an address. Identifies a person: never show a principal unchanged. */
  readonly caller: string;
  readonly callerClass: string;
  /** "none": without a bucket. */
  readonly bucket: string;
  /** The minimum number of events since `sinceMs`; `maxCount` is the maximum. */
  readonly count: number;
  readonly maxCount: number;
  /** How many of `count` were due to a restriction. */
  readonly restricted: number;
  /** The reason of the last event. `admitted` if nothing refused the request. */
  readonly why: Why;
  /** The quota that refused last, or is nearly used up, if it lasts an hour or more. */
  readonly quota?: QuotaUse | undefined;
  /** Milliseconds since the epoch. */
  readonly sinceMs: number;
  readonly lastMs: number;
}

type Why = DecisionEvent['outcome'] | RestrictionRefusal['why'];

type Entry = { -readonly [Key in keyof Omit<TopCaller, 'maxCount'>]: TopCaller[Key] } & {
  /** Whether `caller` is a copy. Most callers of a flood are gone before the next sweep and are never copied. */
  isOwn: boolean;
  /** The part of `count` taken over from the previous entry. An entry with a count of 0 is free. */
  excess: number;
};

/**
 * Finds the callers with the most events of one kind, in bounded memory however many callers there are: the Space-Saving algorithm
 * (Metwally, Agrawal, El Abbadi: Efficient Computation of Frequent and Top-k Elements in Data Streams, 2005). A caller that is not
 * on the list replaces the one with the smallest count, and takes over that count, since it may have had that many events before.
 */
export class TopCallers {
  readonly #entries: readonly Entry[];
  /** Entries by bucket and caller: two lookups need no combined key. */
  readonly #places = new Map<string, Map<string, Entry>>();
  /** The smallest count at the beginning of the current search round, and its position. */
  #smallest = 0;
  #next = 0;

  constructor(capacity: number) {
    this.#entries = Array.from({ length: capacity }, () => ({
      caller: '',
      isOwn: false,
      callerClass: '',
      bucket: '',
      count: 0,
      excess: 0,
      restricted: 0,
      why: 'admitted' as const,
      quota: undefined,
      sinceMs: 0,
      lastMs: 0,
    }));
  }

  /** Counts one event of a caller. Returns the entry, to which details of the event can be added. */
  note(
    bucket: string,
    callerClass: string,
    caller: string,
    nowMs: number,
  ): Pick<Entry, 'restricted' | 'why' | 'quota'> {
    const entry = this.#places.get(bucket)?.get(caller) ?? this.#enter(bucket, callerClass, caller, nowMs);
    entry.count++;
    entry.lastMs = nowMs;
    return entry;
  }

  /**
   * Forgets callers without events for an hour. Call it every few seconds: an entry whose caller is a substring keeps the whole
   * string in memory.
   */
  sweep(nowMs: number): void {
    for (const entry of this.#entries) {
      if (entry.count === 0) continue;
      if (nowMs - entry.lastMs > IDLE_MS) this.#free(entry);
      else if (!entry.isOwn) this.#own(entry);
    }
  }

  /** Returns all callers, and clears the list. `unlisted`: the maximum count of a caller that is not on it. */
  take() {
    const callers = this.list();
    const isFull = callers.length === this.#entries.length;
    const unlisted = isFull ? Math.min(...callers.map(({ maxCount }) => maxCount)) : 0;
    for (const entry of this.#entries) if (entry.count > 0) this.#free(entry);
    return { callers, unlisted };
  }

  /** Adds what another list has counted. The sum is as exact as both lists are. */
  add({ callers, unlisted }: ReturnType<TopCallers['take']>): void {
    const listed = new Set(callers.map(caller => this.#add(caller)));
    if (unlisted === 0) return;
    for (const entry of this.#entries) {
      if (entry.count === 0 || listed.has(entry)) continue;
      entry.count += unlisted;
      entry.excess += unlisted;
    }
  }

  #add(added: TopCaller): Entry {
    const { bucket, callerClass, caller, count, maxCount, restricted, why, quota, sinceMs, lastMs } = added;
    const entry = this.#places.get(bucket)?.get(caller) ?? this.#enter(bucket, callerClass, caller, sinceMs);
    entry.count += maxCount;
    entry.excess += maxCount - count;
    entry.restricted += restricted;
    entry.sinceMs = Math.min(entry.sinceMs, sinceMs);
    if (lastMs < entry.lastMs) return entry;
    entry.lastMs = lastMs;
    entry.why = why;
    entry.quota = quota;
    return entry;
  }

  /** Returns the callers, most frequent first. */
  list(): TopCaller[] {
    return this.#entries
      .filter(({ count }) => count > 0)
      .map(({ excess, count, isOwn: _, ...entry }) => ({ ...entry, count: count - excess, maxCount: count }))
      .sort((one, other) => other.count - one.count || other.lastMs - one.lastMs);
  }

  #enter(bucket: string, callerClass: string, caller: string, nowMs: number): Entry {
    const entry = this.#leastFrequent();
    const { count } = entry;
    if (count > 0) this.#free(entry);
    entry.bucket = bucket;
    entry.callerClass = callerClass;
    entry.caller = caller;
    entry.isOwn = false;
    entry.sinceMs = nowMs;
    entry.count = count;
    entry.excess = count;
    entry.restricted = 0;
    entry.why = 'admitted';
    entry.quota = undefined;
    const ofBucket = this.#places.get(bucket);
    if (ofBucket === undefined) this.#places.set(bucket, new Map([[caller, entry]]));
    else ofBucket.set(caller, entry);
    return entry;
  }

  #own(entry: Entry): void {
    const ofBucket = this.#places.get(entry.bucket);
    ofBucket?.delete(entry.caller);
    entry.caller = ownString(entry.caller);
    entry.isOwn = true;
    ofBucket?.set(entry.caller, entry);
  }

  /**
   * Finds the entries with the smallest count one after the other in one round, since counts only grow: a search is short on
   * average.
   */
  #leastFrequent(): Entry {
    for (;;) {
      const entry = this.#entries[this.#next++];
      if (entry === undefined) {
        this.#next = 0;
        this.#smallest = Math.min(...this.#entries.map(({ count }) => count));
      } else if (entry.count <= this.#smallest) {
        return entry;
      }
    }
  }

  #free(entry: Entry): void {
    const ofBucket = this.#places.get(entry.bucket);
    ofBucket?.delete(entry.caller);
    if (ofBucket?.size === 0) this.#places.delete(entry.bucket);
    entry.count = 0;
  }
}

/** How often `advance` is called. */
export const TICK_MS = 5_000;

/** Complete ticks in the last minute: with the current one, 55 to 60 seconds. */
const TICKS = 11;
const TICKS_IN_MINUTE = 60_000 / TICK_MS;
const MINUTES = 60;

/** The recent growth of an increasing count. Costs nothing per event: the count is read every few seconds. */
export class SlidingCount {
  /** Growth per tick, then per minute; both parts are rings. */
  readonly #growth = new Uint32Array(TICKS + MINUTES);
  #seen = 0;
  #tick = 0;

  /** Ends a tick. `total`: the current count. If it is smaller than before, it was reset to 0. */
  advance(total: number): void {
    const growth = this.#since(total);
    this.#seen = total;
    this.#growth[this.#tick % TICKS] = growth;
    const minute = TICKS + (Math.floor(this.#tick / TICKS_IN_MINUTE) % MINUTES);
    const before = this.#tick % TICKS_IN_MINUTE === 0 ? 0 : (this.#growth[minute] ?? 0);
    this.#growth[minute] = before + growth;
    this.#tick++;
  }

  lastMinute(total: number): number {
    return this.#since(total) + sum(this.#growth.subarray(0, TICKS));
  }

  lastHour(total: number): number {
    return this.#since(total) + sum(this.#growth.subarray(TICKS));
  }

  /** How much the count has grown since the last tick ended. */
  #since(total: number): number {
    return total >= this.#seen ? total - this.#seen : total;
  }
}

function sum(numbers: Uint32Array): number {
  return numbers.reduce((total, number) => total + number, 0);
}

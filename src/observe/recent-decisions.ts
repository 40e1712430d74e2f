import { type DecisionEvent, ownString, type RestrictionRefusal } from '../core/index.ts';
import type { Tally } from './metrics/index.ts';

/** What the metrics count of limits. */
export interface LimitTallies {
  /** Decisions by bucket, class and outcome. */
  readonly decisions: Tally;
  /** Requests that a limit in shadow would have refused, by bucket, class and limit. */
  readonly inShadow: Tally;
  /** Requests that a restriction refused, by class and reason. */
  readonly byRestriction: Tally;
}

/** Requests that limits admitted and refused, and how often a limit in shadow would have refused one. */
export interface DecisionCounts {
  readonly admitted: number;
  readonly refused: number;
  readonly shadowRefused: number;
  /** Refused by a restriction, or as blocked, before any bucket was looked up: all of them count without a bucket. */
  readonly restricted: number;
}

/** What limits decided lately about a bucket's callers of one class. */
interface RecentBucket {
  readonly lastMinute: DecisionCounts;
  readonly lastHour: DecisionCounts;
}

type Row = Readonly<Record<keyof DecisionCounts, SlidingCount>>;

/**
 * Tells what limits decided in the last minute and hour. The metrics count anyway, so requests cost nothing more: this looks at
 * those counts every few seconds. Holds a row for each bucket and class that had a request, as many as the configuration has.
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
    const row = this.#rows.get(tally) ?? newRow();
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
    const admitted = outcomes?.parts.get('admitted')?.count ?? 0;
    return {
      admitted,
      refused: sumOf(outcomes) - admitted,
      shadowRefused: sumOf(inShadow.parts.get(bucket)?.parts.get(callerClass)),
      restricted: bucket === 'none' ? sumOf(byRestriction.parts.get(callerClass)) : 0,
    };
  }
}

function newRow(): Row {
  return {
    admitted: new SlidingCount(),
    refused: new SlidingCount(),
    shadowRefused: new SlidingCount(),
    restricted: new SlidingCount(),
  };
}

function eachOf(count: (name: keyof DecisionCounts) => number): DecisionCounts {
  return {
    admitted: count('admitted'),
    refused: count('refused'),
    shadowRefused: count('shadowRefused'),
    restricted: count('restricted'),
  };
}

function sumOf(tally: Tally | undefined): number {
  let sum = 0;
  if (tally !== undefined) for (const { count } of tally.parts.values()) sum += count;
  return sum;
}

/** Forgets callers that nothing was heard of for so long. */
const IDLE_MS = 3_600_000;

/** A caller in a bucket, and how often something happened to it. */
export interface TopCaller {
  /** A principal or an address. Identifies a person: never show a principal as it is. */
  readonly caller: string;
  readonly callerClass: string;
  /** "none": without a bucket. */
  readonly bucket: string;
  /** At least so often since `sinceMs`, and at most `maxCount`. */
  readonly count: number;
  readonly maxCount: number;
  /** How often of these by a restriction. */
  readonly restricted: number;
  /** What happened last. `admitted`: nothing refused it. */
  readonly why: Why;
  /** Milliseconds since the epoch. */
  readonly sinceMs: number;
  readonly lastMs: number;
}

/** What one list has counted since it was taken last. */
export interface TakenCallers {
  readonly callers: readonly TopCaller[];
  /** The most that a caller can have counted that is not in `callers`. */
  readonly unlisted: number;
}

/** The limit that refused, or the reason of the restriction. */
type Why = DecisionEvent['outcome'] | RestrictionRefusal['why'];

interface Entry {
  caller: string;
  /** Whether `caller` is a copy. Most callers of a flood are gone before the next sweep and are never copied. */
  isOwn: boolean;
  callerClass: string;
  bucket: string;
  /** 0: free. */
  count: number;
  /** What it took over from the entry before it. */
  excess: number;
  restricted: number;
  why: Why;
  sinceMs: number;
  lastMs: number;
}

/**
 * Finds the callers that something happens to most often, in bounded memory however many there are: the Space-Saving algorithm
 * (Metwally, Agrawal, El Abbadi: Efficient Computation of Frequent and Top-k Elements in Data Streams, 2005). A caller that is not
 * on the list takes the place of the one with the smallest count, and its count, as it may have been there that often.
 */
export class TopCallers {
  readonly #entries: readonly Entry[];
  /** Entries by bucket and caller: two look-ups need no text for a joint key. */
  readonly #places = new Map<string, Map<string, Entry>>();
  /** The smallest count when the search for a place began its round, and where it is. */
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
      sinceMs: 0,
      lastMs: 0,
    }));
  }

  /** Counts one event of a caller. Returns the entry, in which the caller of this method can note what the event was. */
  note(
    bucket: string,
    callerClass: string,
    caller: string,
    nowMs: number,
  ): Pick<Entry, 'restricted' | 'why'> {
    const entry = this.#places.get(bucket)?.get(caller) ?? this.#enter(bucket, callerClass, caller, nowMs);
    entry.count++;
    entry.lastMs = nowMs;
    return entry;
  }

  /** Forgets callers that sent nothing for an hour. Call it every few seconds: entries keep the strings that they were cut from in memory. */
  sweep(nowMs: number): void {
    for (const entry of this.#entries) {
      if (entry.count === 0) continue;
      if (nowMs - entry.lastMs > IDLE_MS) this.#free(entry);
      else if (!entry.isOwn) this.#own(entry);
    }
  }

  /** Takes all callers, and forgets them. */
  take(): TakenCallers {
    const callers = this.list();
    const isFull = callers.length === this.#entries.length;
    const unlisted = isFull ? Math.min(...callers.map(({ maxCount }) => maxCount)) : 0;
    for (const entry of this.#entries) if (entry.count > 0) this.#free(entry);
    return { callers, unlisted };
  }

  /** Adds what another list has counted. The sum is as exact as both lists are. */
  add({ callers, unlisted }: TakenCallers): void {
    const listed = new Set(callers.map(caller => this.#add(caller)));
    if (unlisted === 0) return;
    for (const entry of this.#entries) {
      if (entry.count === 0 || listed.has(entry)) continue;
      entry.count += unlisted;
      entry.excess += unlisted;
    }
  }

  #add({ bucket, callerClass, caller, count, maxCount, restricted, why, sinceMs, lastMs }: TopCaller): Entry {
    const entry = this.#places.get(bucket)?.get(caller) ?? this.#enter(bucket, callerClass, caller, sinceMs);
    entry.count += maxCount;
    entry.excess += maxCount - count;
    entry.restricted += restricted;
    entry.sinceMs = Math.min(entry.sinceMs, sinceMs);
    if (lastMs < entry.lastMs) return entry;
    entry.lastMs = lastMs;
    entry.why = why;
    return entry;
  }

  /** The most frequent first. */
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
    const ofBucket = this.#places.get(bucket);
    if (ofBucket === undefined) this.#places.set(bucket, new Map([[caller, entry]]));
    else ofBucket.set(caller, entry);
    return entry;
  }

  /** Copies the name of a caller. */
  #own(entry: Entry): void {
    const ofBucket = this.#places.get(entry.bucket);
    ofBucket?.delete(entry.caller);
    entry.caller = ownString(entry.caller);
    entry.isOwn = true;
    ofBucket?.set(entry.caller, entry);
  }

  /** Finds one entry after the other with the smallest count in one round, as counts only grow: a search is short on average. */
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

/** Whole ticks in the last minute: with the one in progress, 55 to 60 seconds. */
const TICKS = 11;
const TICKS_IN_MINUTE = 60_000 / TICK_MS;
const MINUTES = 60;

/** How much a count that only grows has grown lately. Costs nothing while it grows: it is looked at every few seconds. */
export class SlidingCount {
  /** How much it has grown by tick, then by minute; both parts are rings. */
  readonly #growth = new Uint32Array(TICKS + MINUTES);
  #seen = 0;
  #tick = 0;

  /** Ends a tick. `total`: the count now. If it is smaller than before, it has begun again at 0. */
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

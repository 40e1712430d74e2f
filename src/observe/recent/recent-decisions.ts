import type { Tally } from '../metrics/index.ts';
import { SlidingCount } from './top-callers.ts';

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
export interface RecentBucket {
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

import type { Tally } from '../metrics/index.ts';
import { SlidingCount } from './sliding-count.ts';

/** Requests that limits admitted and refused. */
export interface DecisionCounts {
  readonly admitted: number;
  readonly refused: number;
}

/** What limits decided lately about a bucket's callers of one class. */
export interface RecentBucket {
  readonly lastMinute: DecisionCounts;
  readonly lastHour: DecisionCounts;
}

interface Row {
  readonly admitted: SlidingCount;
  readonly refused: SlidingCount;
}

/**
 * Tells what limits decided in the last minute and hour. The metrics count anyway, so requests cost nothing more: this looks at
 * those counts every few seconds. Holds a row for each bucket and class that had a request, as many as the configuration has.
 */
export class RecentDecisions {
  /** By bucket, class and outcome. */
  readonly #decisions: Tally;
  readonly #rows = new Map<Tally, Row>();

  constructor(decisions: Tally) {
    this.#decisions = decisions;
  }

  advance(): void {
    const known = new Set<Tally>();
    for (const { parts } of this.#decisions.parts.values()) {
      for (const ofClass of parts.values()) {
        known.add(ofClass);
        this.#advance(ofClass);
      }
    }
    // A reload removed their buckets.
    for (const tally of this.#rows.keys()) if (!known.has(tally)) this.#rows.delete(tally);
  }

  #advance(tally: Tally): void {
    const { admitted, refused } = totalsOf(tally);
    if (admitted + refused === 0) return;
    const row = this.#rows.get(tally) ?? { admitted: new SlidingCount(), refused: new SlidingCount() };
    this.#rows.set(tally, row);
    row.admitted.advance(admitted);
    row.refused.advance(refused);
  }

  /** `bucket`: "none" for requests without one. */
  of(bucket: string, callerClass: string): RecentBucket {
    const tally = this.#decisions.parts.get(bucket)?.parts.get(callerClass);
    const totals = tally === undefined ? { admitted: 0, refused: 0 } : totalsOf(tally);
    const row = tally && this.#rows.get(tally);
    if (row === undefined) return { lastMinute: totals, lastHour: totals };
    return {
      lastMinute: {
        admitted: row.admitted.lastMinute(totals.admitted),
        refused: row.refused.lastMinute(totals.refused),
      },
      lastHour: {
        admitted: row.admitted.lastHour(totals.admitted),
        refused: row.refused.lastHour(totals.refused),
      },
    };
  }
}

function totalsOf({ parts }: Tally): DecisionCounts {
  let admitted = 0;
  let refused = 0;
  for (const [outcome, { count }] of parts) {
    if (outcome === 'admitted') admitted += count;
    else refused += count;
  }
  return { admitted, refused };
}

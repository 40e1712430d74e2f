import { type LimitListener, STAND_INS, type StandIn } from '../../core/index.ts';
import type { LocalStore, PartitionCounts } from '../../limits/index.ts';

/**
 * Reports decisions by counters that stand in for others. Looks at what the store counts, whichever threads made the decisions, so
 * that no request pays for it.
 */
export class StandIns {
  readonly #listener: Pick<LimitListener, 'stoodIn'>;
  #total = 0;
  /** The counts at the last look, by stand-in and bucket. */
  #before: ReadonlyMap<string, number> = new Map();

  constructor(listener: Pick<LimitListener, 'stoodIn'>) {
    this.#listener = listener;
  }

  /** Reports what has been decided so since the last look. */
  look(store: Pick<LocalStore, 'counts' | 'decidedByStandIns'>): void {
    const total = store.decidedByStandIns;
    if (total === this.#total) return;
    this.#total = total;
    const now = new Map<string, number>();
    const buckets = Map.groupBy(store.counts.partitions, ({ bucket }) => bucket);
    for (const [bucket, ofBucket] of buckets)
      for (const standIn of STAND_INS) {
        const key = `${standIn} ${bucket}`;
        const count = ofBucket.reduce((sum, each) => sum + COUNTS[standIn](each), 0);
        now.set(key, count);
        const decisions = count - (this.#before.get(key) ?? 0);
        if (decisions > 0) this.#listener.stoodIn({ bucket: bucket || null, standIn, decisions });
      }
    this.#before = now;
  }
}

const COUNTS: Readonly<Record<StandIn, (partition: PartitionCounts) => number>> = {
  caller: ({ ofCallers }) => ofCallers,
  network: ({ ofNetworks }) => ofNetworks,
  everyone: ({ overflows }) => overflows,
};

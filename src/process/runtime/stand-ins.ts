import { type LimitListener, STAND_INS, type StandIn } from '../../core/index.ts';
import type { LocalStore, PartitionCounts } from '../../limits/index.ts';

/**
 * Returns a function that reports what was decided since its last call by counters that stand in for others. It looks at what the
 * store counts, whichever threads made the decisions, so that no request pays for it.
 */
export function standInsOf(
  store: Pick<LocalStore, 'counts' | 'decidedByStandIns'>,
  listener: Pick<LimitListener, 'stoodIn'>,
): () => void {
  let total = 0;
  // By stand-in and bucket.
  let before: ReadonlyMap<string, number> = new Map();
  return () => {
    if (store.decidedByStandIns === total) return;
    total = store.decidedByStandIns;
    const now = new Map<string, number>();
    const buckets = Map.groupBy(store.counts.partitions, ({ bucket }) => bucket);
    for (const [bucket, ofBucket] of buckets)
      for (const standIn of STAND_INS) {
        const key = `${standIn} ${bucket}`;
        const count = ofBucket.reduce((sum, each) => sum + COUNTS[standIn](each), 0);
        now.set(key, count);
        const decisions = count - (before.get(key) ?? 0);
        if (decisions > 0) listener.stoodIn({ bucket: bucket || null, standIn, decisions });
      }
    before = now;
  };
}

const COUNTS: Readonly<Record<StandIn, (partition: PartitionCounts) => number>> = {
  caller: ({ ofCallers }) => ofCallers,
  network: ({ ofNetworks }) => ofNetworks,
  everyone: ({ overflows }) => overflows,
};

import type { Clock, WarningListener } from '../../core/index.ts';
import type { MemoryStore, PartitionCounts } from '../../limits/index.ts';
import { OncePerInterval } from '../../observe/index.ts';

interface StandIn {
  readonly count: (partition: PartitionCounts) => number;
  readonly message: string;
}

/** The counters that can decide in place of a caller's own. */
const STAND_INS: Readonly<Record<string, StandIn>> = {
  /** The counter shared by a caller's main values beyond the maximum. */
  caller: {
    count: ({ ofCallers }) => ofCallers,
    message:
      'callers use more main values than keys_per_caller: the further values of each caller share one counter',
  },
  /** The counter shared by the addresses of a network that has used up its share of the table, or found it full. */
  network: {
    count: ({ ofNetworks }) => ofNetworks,
    message: 'the addresses of a network share one counter, because there is no room for more',
  },
  /** The counter shared by all callers for whom the table has no room. */
  everyone: {
    count: ({ overflows }) => overflows,
    message: 'there is no room for separate counters of new callers: they share one (caps.limit_keys)',
  },
};

/**
 * Returns a function that warns of decisions, since its last call, by counters that stand in for others: at most one line for each
 * bucket and minute. It reads the counts of the store, which include all threads, so requests do no extra work.
 */
export function standInsOf(
  store: Pick<MemoryStore, 'counts' | 'decidedByStandIns'>,
  listener: WarningListener,
  clock: Clock,
): () => void {
  const lines = new OncePerInterval(clock);
  let total = 0;
  // The counts of the last call, by stand-in and bucket.
  let before: ReadonlyMap<string, number> = new Map();
  return () => {
    if (store.decidedByStandIns === total) return;
    total = store.decidedByStandIns;
    const now = new Map<string, number>();
    const buckets = Map.groupBy(store.counts.partitions, ({ bucket }) => bucket);
    for (const [bucket, ofBucket] of buckets)
      for (const [standIn, { count, message }] of Object.entries(STAND_INS)) {
        const key = `${standIn} ${bucket}`;
        const counted = ofBucket.reduce((sum, each) => sum + count(each), 0);
        now.set(key, counted);
        const since = counted - (before.get(key) ?? 0);
        const decisions = since > 0 ? lines.count(key, since) : 0;
        if (decisions > 0)
          listener.warned({ type: 'limit', bucket: bucket || 'none', standIn, decisions }, message);
      }
    before = now;
  };
}

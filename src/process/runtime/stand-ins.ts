import type { Clock, WarningListener } from '../../core/index.ts';
import type { MemoryStore, PartitionCounts } from '../../limits/index.ts';
import { OncePerInterval } from '../../observe/index.ts';

interface StandIn {
  readonly count: (partition: PartitionCounts) => number;
  readonly message: string;
}

/** What decides in place of a counter of its own. */
const STAND_INS: Readonly<Record<string, StandIn>> = {
  /** The counter that a caller's main values beyond its maximum share. */
  caller: {
    count: ({ ofCallers }) => ofCallers,
    message: 'callers use more main values than keys_per_caller: the further ones of each share one counter',
  },
  /** The counter that stands in for the addresses of a network, which is at its share, or finds no room. */
  network: {
    count: ({ ofNetworks }) => ofNetworks,
    message: 'addresses of a network without room for more counters share one',
  },
  /** The counter of all for whom there is no room. */
  everyone: {
    count: ({ overflows }) => overflows,
    message: 'there is no room for counters of their own for new callers: they share one (caps.limit_keys)',
  },
};

/**
 * Returns a function that warns of what was decided since its last call by counters that stand in for others: a line for each
 * bucket and minute. It looks at what the store counts, whichever threads made the decisions, so that no request pays for it.
 */
export function standInsOf(
  store: Pick<MemoryStore, 'counts' | 'decidedByStandIns'>,
  listener: WarningListener,
  clock: Clock,
): () => void {
  const lines = new OncePerInterval(clock);
  let total = 0;
  // By stand-in and bucket.
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

import type { Snapshot } from '../config/index.ts';
import { formatDuration } from '../core/index.ts';
import { type Limit, type LimitSet, NO_LIMITS } from '../limits/index.ts';
import type { Recent, TopCaller } from '../observe/index.ts';
import type { BucketStatus, LimitStatus } from './status.ts';

/** Gathers what limits decide, by bucket and class, as far as the metrics count it. */
export function gatherBuckets({ limits, labels }: Snapshot, recent: Recent): BucketStatus[] {
  const sets = new Map<string, Readonly<Record<string, LimitSet>>>(
    limits.buckets.map(bucket => [bucket.name, bucket.sets]),
  );
  const withoutBucket: Readonly<Record<string, LimitSet>> = limits.global;
  const near = Map.groupBy(recent.callers.nearLimit, whereOf);
  return labels.buckets.map(({ bucket, callerClass }) => ({
    bucket,
    class: callerClass,
    limits: limitsIn((sets.get(bucket) ?? withoutBucket)[callerClass]),
    ...recent.decisions.of(bucket, callerClass),
    callersNearLimit: near.get(whereOf({ bucket, callerClass }))?.length ?? 0,
  }));
}

function whereOf({ bucket, callerClass }: Pick<TopCaller, 'bucket' | 'callerClass'>): string {
  return `${callerClass} ${bucket}`;
}

function limitsIn(set: LimitSet = NO_LIMITS): LimitStatus[] {
  return [set.caller, set.resource, set.global].filter(limit => limit !== null).map(viewOf);
}

function viewOf({ role, units, periodMs, algorithm }: Limit): LimitStatus {
  return { limit: role, quota: `${units}/${formatDuration(periodMs)}`, algorithm };
}

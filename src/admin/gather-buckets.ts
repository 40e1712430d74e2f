import type { BucketModel, Snapshot } from '../config/index.ts';
import { formatDuration } from '../core/index.ts';
import { type Limit, type LimitSet, type LimitsByRole, NO_LIMITS } from '../limits/index.ts';
import type { Recent, TopCaller } from '../observe/index.ts';
import type { BucketStatus, LimitStatus } from './status.ts';

/** The limits of a bucket, or of requests without one. */
interface LimitSource {
  readonly sets: Readonly<Record<string, LimitSet>>;
  readonly rollout: BucketModel['rollout'];
}

/** Gathers what limits decide, by bucket and class, as far as the metrics count it. */
export function gatherBuckets({ limits, labels }: Snapshot, recent: Recent): BucketStatus[] {
  const buckets = new Map<string, LimitSource>(limits.buckets.map(bucket => [bucket.name, bucket]));
  const withoutBucket: LimitSource = { sets: limits.global, rollout: null };
  const near = Map.groupBy(recent.callers.nearLimit, whereOf);
  return labels.buckets.map(({ bucket, callerClass }) => ({
    bucket,
    class: callerClass,
    limits: limitsIn(buckets.get(bucket) ?? withoutBucket, callerClass),
    ...recent.decisions.of(bucket, callerClass),
    callersNearLimit: near.get(whereOf({ bucket, callerClass }))?.length ?? 0,
  }));
}

function whereOf({ bucket, callerClass }: Pick<TopCaller, 'bucket' | 'callerClass'>): string {
  return `${callerClass} ${bucket}`;
}

function limitsIn({ sets, rollout }: LimitSource, callerClass: string): LimitStatus[] {
  const set = sets[callerClass] ?? NO_LIMITS;
  const percent = rollout?.share.percent ?? 100;
  // A roll-out is that of the bucket's own limits.
  const percentOf = ({ role }: Limit) => (role === 'global' ? 100 : percent);
  const inShadow = set.shadow === null ? [] : list(set.shadow);
  // Where other numbers are tried on the share, those that hold are for the rest.
  const others: LimitSource['sets'] = rollout?.triesNumbers === true ? rollout.others.sets : {};
  const held = others[callerClass] ?? NO_LIMITS;
  return [
    ...list(set).map(limit => viewOf(limit, percentOf(limit))),
    ...list({ ...held, global: null }).map(limit => viewOf(limit, 100 - percent)),
    ...inShadow.map(limit => viewOf(limit, 0)),
  ];
}

function list({ caller, resource, global }: LimitsByRole): Limit[] {
  return [caller, resource, global].filter(limit => limit !== null);
}

function viewOf({ role, units, periodMs, algorithm }: Limit, enforcedPercent: number): LimitStatus {
  return { limit: role, quota: `${units}/${formatDuration(periodMs)}`, algorithm, enforcedPercent };
}

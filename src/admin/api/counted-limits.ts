import { type BucketModel, type LimitsModel, limitsFor } from '../../config/index.ts';
import type { Limit, LimitSet, LimitsByRole } from '../../limits/index.ts';
import type { Client } from './client.ts';

/** A limit, and how it holds for a client. */
export interface CountedLimit {
  /** Null: the global limit. */
  readonly bucket: BucketModel | null;
  readonly limit: Limit;
  readonly isInShadow: boolean;
}

/** The limits of a client in the order of the file, the global ones first. */
export function limitsOfClient({ global, buckets }: LimitsModel, { kind, key }: Client): CountedLimit[] {
  return [
    ...limitsIn(null, global[kind]),
    ...buckets.flatMap(bucket => limitsIn(bucket, limitsFor(bucket, key).exemptSets[kind])),
  ];
}

/** The limits that all clients share for each value of the bucket's main parameter. */
export function sharedLimits(bucket: BucketModel): CountedLimit[] {
  return limitsIn(bucket, bucket.exemptSets.user).filter(({ limit }) => limit.role === 'resource');
}

function limitsIn(bucket: BucketModel | null, set: LimitSet): CountedLimit[] {
  const view = (limits: LimitsByRole, isInShadow: boolean) =>
    [limits.global, limits.caller, limits.resource]
      .filter(limit => limit !== null)
      .map(limit => ({ bucket, limit, isInShadow }));
  return [...view(set, false), ...(set.shadow === null ? [] : view(set.shadow, true))];
}

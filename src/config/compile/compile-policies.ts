import { policyItem } from '../../http/index.ts';
import type { LimitRole, LimitSet } from '../../limits/index.ts';
import type { BucketLimits, BucketModel, PolicyModel } from '../model/index.ts';
import type { LimitsConfig } from '../schema/index.ts';
import type { PerClass } from './compile-global.ts';

/** The name of the global limit among policies. No bucket may have it (limit-checks.ts). */
const GLOBAL = 'global';
const ROLES: readonly LimitRole[] = ['caller', 'resource', 'global'];

/** Writes once what responses say about each set of limits, so that no request has to. Null: they say nothing. */
export function compilePolicies(
  { headers, bucket_hash: hashing, buckets: configs }: LimitsConfig,
  global: PerClass<LimitSet>,
  buckets: readonly BucketModel[],
): ReadonlyMap<LimitSet, PolicyModel> | null {
  if (!headers.includes('ratelimit')) return null;
  const withoutBucket = Object.values(global).map(set => [set, policyOf(set, '', false)] as const);
  const ofBuckets = buckets.flatMap(({ name, rollout, ...own }) => {
    const isPartitioned = hashing === 'value' && configs[name]?.main !== undefined;
    const sets = rollout === null ? setsOf(own) : [...setsOf(own), ...setsOf(rollout.others)];
    return sets.map(set => [set, policyOf(set, name, isPartitioned)] as const);
  });
  return new Map([...withoutBucket, ...ofBuckets]);
}

function setsOf({ sets, exemptSets }: BucketLimits): LimitSet[] {
  return [...Object.values(sets), ...Object.values(exemptSets)];
}

/** Describes the limits that can refuse; those in shadow are no client's business. */
function policyOf(set: LimitSet, bucket: string, isPartitioned: boolean): PolicyModel {
  const names = { caller: bucket, resource: `${bucket}/resource`, global: GLOBAL };
  const items = ROLES.flatMap(role => {
    const limit = set[role];
    return limit === null ? [] : [policyItem(names[role], limit.units, limit.periodMs)];
  });
  return { list: items.join(', '), names, isPartitioned };
}

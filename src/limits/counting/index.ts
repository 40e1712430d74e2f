export { BucketHash, type BucketHashing, RecentDigests } from './bucket-hash.ts';
export { newCounter } from './counter.ts';
export { CounterTable } from './counter-table.ts';
export { type Decision, type LimitStore, UNLIMITED } from './decision.ts';
export { OTHER_PARTS } from './draw.ts';
export {
  type Algorithm,
  defineLimit,
  type Limit,
  type LimitOptions,
  type LimitRole,
  type LimitSet,
  NO_LIMITS,
} from './limit-definition.ts';
export { MemoryStore, type StoreCounts } from './memory-store.ts';
export { parseQuota, type Quota, QuotaError } from './quota.ts';
export { Spaces } from './spaces.ts';

export { OTHER_PARTS } from './consumption.ts';
export { newCounter } from './counter.ts';
export { CounterTable } from './counter-table.ts';
export {
  type Allowance,
  type AllowanceReading,
  type AllowanceStore,
  type CountedIn,
  type Decision,
  type LimitStore,
  NO_SHADOW,
  type ShadowDecision,
  UNLIMITED,
} from './decision.ts';
export {
  CallerShare,
  defineLimit,
  type Limit,
  type LimitAlgorithm,
  type LimitOptions,
  type LimitRole,
  type LimitSet,
  type LimitsByRole,
  NO_LIMITS,
  parseQuota,
  type Quota,
  QuotaError,
} from './limit-definition.ts';
export {
  MemoryStore,
  type MemoryStoreOptions,
  type PartitionCounts,
  type StoreCounts,
} from './memory-store.ts';
export { newPartition } from './partitions.ts';
export { Keyspaces } from './record-table.ts';
export { BucketHash, type BucketHashing, RecentDigests } from './string-hash.ts';

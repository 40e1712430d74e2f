export { ClaimedLimits } from './claimed-limits.ts';
export { Keyspaces, newCounter } from './counter.ts';
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
  type ShadowRole,
  UNLIMITED,
} from './decision.ts';
export { AT_ONCE_WAIT_MS, defineConcurrency, type Place } from './in-flight.ts';
export {
  BucketHash,
  type BucketHashing,
  CallerShare,
  type ClaimedQuota,
  defineLimit,
  groupCounterKey,
  isClaimed,
  isSharedRole,
  LIMIT_ROLES,
  type Limit,
  type LimitAlgorithm,
  type LimitOptions,
  type LimitRole,
  type LimitSet,
  type LimitsByRole,
  type LimitsInForce,
  NO_LIMITS,
  parseQuota,
  type Quota,
  QuotaError,
  RecentDigests,
} from './limit-definition.ts';
export {
  MemoryStore,
  type MemoryStoreOptions,
  OTHER_PARTS,
  type PartitionCounts,
  type StoreCounts,
} from './memory-store.ts';
export { newPartition } from './partitions.ts';

export type { Allowance, AllowanceReading, AllowanceStore, CountedIn } from './allowance.ts';
export { BucketHash, type BucketHashing, RecentDigests } from './bucket-hash.ts';
export { CallerShare } from './caller-share.ts';
export { newCounter } from './counter.ts';
export { CounterTable } from './counter-table.ts';
export { type Decision, type LimitStore, NO_SHADOW, type ShadowDecision, UNLIMITED } from './decision.ts';
export { OTHER_PARTS } from './draw.ts';
export {
  type Algorithm,
  defineLimit,
  type Limit,
  type LimitOptions,
  type LimitRole,
  type LimitSet,
  type LimitsByRole,
  NO_LIMITS,
} from './limit-definition.ts';
export {
  MemoryStore,
  type MemoryStoreOptions,
  type SectionCounts,
  type StoreCounts,
} from './memory-store.ts';
export { parseQuota, type Quota, QuotaError } from './quota.ts';
export { newSection } from './sections.ts';
export { Spaces } from './spaces.ts';

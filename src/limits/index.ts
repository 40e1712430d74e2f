export { BucketHash, type BucketHashing, RecentDigests } from './bucket-hash.ts';
export { type Decision, type LimitStore, NO_LIMIT } from './decision.ts';
export { EventCounter, type EventCounterOptions } from './event-counter.ts';
export { IgnoredRefusals, type IgnoredRefusalsRule, type Refusal } from './ignored-refusals.ts';
export { InvalidRequests } from './invalid-requests.ts';
export {
  type Algorithm,
  defineLimit,
  type Limit,
  type LimitOptions,
  type LimitRole,
  type LimitSet,
} from './limit.ts';
export { MemoryStore, type MemoryStoreOptions, type StoreCounts } from './memory-store.ts';
export type { OffenceCounterOptions, OffenceRule, OffenceTally } from './offence-counter.ts';
export { parseQuota, type Quota, QuotaError } from './quota.ts';
export {
  type AnonymousRestriction,
  RESTRICTED_KINDS,
  RESTRICTION_REASONS,
  type Restricted,
  type RestrictedKind,
  type Restriction,
  type RestrictionListener,
  type RestrictionReason,
} from './restriction.ts';
export { Restrictions, type RestrictionsOptions } from './restrictions.ts';
export { WebhookNotFound } from './webhook-not-found.ts';

export { digestOfWhom } from './entry.ts';
export { DEFAULT_MAX_EVENT_KEYS, EventCounter } from './event-counter.ts';
export { IgnoredRefusals, type IgnoredRefusalsRule } from './ignored-refusals.ts';
export { InvalidRequests } from './invalid-requests.ts';
export { KnownClient } from './known-client.ts';
export type { OffenceRule, OffenceTally } from './offence-counter.ts';
export {
  type AnonymousRestriction,
  type Client,
  type EvictedRestriction,
  type Lift,
  type ListedRestriction,
  RESTRICTED_KINDS,
  RESTRICTION_REASONS,
  type Restricted,
  type Restriction,
  type RestrictionListener,
  type RestrictionReason,
} from './restriction.ts';
export { Restrictions } from './restrictions.ts';
export { ShadowRestrictions } from './shadow-restrictions.ts';
export { WebhookNotFound } from './webhook-not-found.ts';

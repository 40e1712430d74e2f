export { IgnoredRefusals, type IgnoredRefusalsRule } from './ignored-refusals.ts';
export {
  DEFAULT_MAX_EVENT_KEYS,
  EventCounter,
  InvalidRequests,
  type OffenceFeed,
  type OffenceRule,
  type OffencesExceeded,
  type OffenceTally,
  WebhookNotFound,
} from './offence-counter.ts';
export {
  type AnonymousRestriction,
  digestOfWhom,
  type EvictedRestriction,
  KnownClient,
  type Lift,
  type ListedRestriction,
  type Restricted,
  type RestrictedClient,
  type Restriction,
  type RestrictionListener,
} from './restriction.ts';
export { Restrictions } from './restrictions.ts';
export { ShadowRestrictions } from './shadow-restrictions.ts';

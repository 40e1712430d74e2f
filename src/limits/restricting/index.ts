export {
  DEFAULT_MAX_EVENT_KEYS,
  EventCounter,
  IgnoredRefusals,
  type IgnoredRefusalsRule,
  InvalidRequests,
  type OffenceFeed,
  type OffenceRule,
  type OffencesExceeded,
  type OffenceTally,
  WebhookNotFound,
} from './offences.ts';
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
export { Restrictions, ShadowRestrictions } from './restrictions.ts';

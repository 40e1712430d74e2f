export * from './offences.ts';
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
export { placesForCounters } from './restriction-table.ts';
export { Restrictions } from './restrictions.ts';

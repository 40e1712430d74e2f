export { NO_OTHERS, type Others } from './announcer.ts';
export * from './offences.ts';
export {
  type AnonymousRestriction,
  digestOfWhom,
  KnownClient,
  type Lift,
  type Restricted,
  type RestrictedClient,
  type Restriction,
  type RestrictionListener,
} from './restriction.ts';
export { placesForCounters } from './restriction-table.ts';
export { Restrictions } from './restrictions.ts';

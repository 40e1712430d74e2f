export { type LookupAnswer, serviceHost } from './lookup.ts';
export { type LookupListener, NamedEndpoints } from './named-endpoints.ts';
export {
  Followers,
  type Lookups,
  lookupOf,
  nameKey,
  SharedLookups,
} from './shared-lookups.ts';

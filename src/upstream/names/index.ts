export { type LookupAnswer, serviceHost } from './lookup.ts';
export { Lookups } from './lookups.ts';
export { type LookupListener, NamedEndpoints } from './named-endpoints.ts';

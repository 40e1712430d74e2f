export { serviceHost, systemLookup } from './lookup.ts';
export { type LookupListener, NamedEndpoints } from './named-endpoints.ts';
export { srvLookup } from './srv-lookup.ts';

export { systemLookup } from './lookup.ts';
export { NamedEndpoints } from './named-endpoints.ts';
export { srvLookup } from './srv-lookup.ts';

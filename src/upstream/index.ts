export {
  type Balance,
  type EndpointsState,
  type NewRetryCounts,
  RETRY_SLOTS,
  type RetryCounts,
} from './balancing/index.ts';
export { ConnectionPool } from './connection-pool.ts';
export type { CheckState, HealthOptions } from './health/index.ts';
export {
  Followers,
  type LookupAnswer,
  type Lookups,
  SharedLookups,
  serviceHost,
} from './names/index.ts';
export * from './transport.ts';
export { openTransport, type TransportMap, Transports } from './transports.ts';

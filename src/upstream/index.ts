export type { Balance, CookieBalance, EndpointsState } from './balancing/index.ts';
export { ConnectionPool } from './connection-pool.ts';
export type { HealthOptions } from './health/index.ts';
export { serviceHost } from './names/index.ts';
export * from './transport.ts';
export { type TransportMap, Transports, transportOpener } from './transports.ts';

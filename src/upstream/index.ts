export { ConnectionPool } from './connection-pool.ts';
export type { UpstreamOptions } from './options.ts';
export type { CallSink, Transport, TransportCall, UpstreamFailure } from './transport.ts';
export { type TransportMap, Transports } from './transports.ts';

export { ConnectionPool } from './connection-pool.ts';
export type {
  CallSink,
  Http2Options,
  Transport,
  TransportCall,
  UpstreamFailure,
  UpstreamOptions,
  UpstreamProtocol,
  UpstreamTls,
} from './transport.ts';
export { openTransport, type TransportMap, Transports } from './transports.ts';

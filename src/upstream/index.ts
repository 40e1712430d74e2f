export type { Balance, EndpointListener, OutReason } from './balancing/index.ts';
export { ConnectionPool } from './connection-pool.ts';
export type {
  CallSink,
  ConnectionOptions,
  EndpointOptions,
  Http2Options,
  Resender,
  Transport,
  TransportCall,
  UpstreamFailure,
  UpstreamOptions,
  UpstreamProtocol,
  UpstreamTls,
} from './transport.ts';
export { openTransport, type TransportMap, Transports } from './transports.ts';

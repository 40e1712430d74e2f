export { ConnectionPool } from './connection-pool.ts';
export type { UpstreamOptions } from './options.ts';
export type {
  AnswerSink,
  BodySink,
  BodySource,
  Taken,
  Transport,
  TransportCall,
  UpstreamFailure,
  UpstreamRequest,
} from './transport.ts';
export { type TransportMap, Transports, type UpstreamAddress } from './transports.ts';

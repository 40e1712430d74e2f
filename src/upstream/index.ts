export type { UpstreamOptions } from './options.ts';
export type {
  AnswerSink,
  BodySink,
  BodySource,
  Transport,
  TransportCall,
  UpstreamFailure,
  UpstreamRequest,
} from './transport.ts';
export { type TransportMap, Transports, type UpstreamAddress } from './transports.ts';
export { UndiciTransport } from './undici-transport.ts';

export type { UpstreamOptions } from './options.ts';
export type {
  AnswerSink,
  BodyLength,
  BodySink,
  BodySource,
  Transport,
  TransportCall,
  UpstreamFailure,
  UpstreamRequest,
} from './transport.ts';

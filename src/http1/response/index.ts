export { interimResponse, type ResponseTerms, responseHead } from './response-head-text.ts';
export { ResponseReader, type Switched } from './response-reader.ts';
export type { ResponseSink } from './response-sink.ts';

export type { LastResponse, Switched } from './last-response.ts';
export { interimResponse, type ResponseTerms, responseHead } from './response-head-text.ts';
export { ResponseReader } from './response-reader.ts';
export type { ResponseSink } from './response-sink.ts';

export { chunkSize, LAST_CHUNK } from './chunked-body.ts';
export * from './connection-challenge.ts';
export type { BodyTerms } from './message.ts';
export { connectionOptions, HEX, hopFieldNames, MalformedMessage, NO_TERMS } from './message.ts';
export { RequestBody, type RequestBodyOwner } from './request-body.ts';
export { type Rejection, type RequestFraming, requestFraming } from './request-framing.ts';
export * from './request-reader.ts';
export * from './request-writer.ts';
export {
  DateField,
  InterimCount,
  interimResponse,
  type LastResponse,
  type ResponseTerms,
  responseHead,
  type Switched,
} from './response-head.ts';
export { ResponseReader, type ResponseSink } from './response-reader.ts';

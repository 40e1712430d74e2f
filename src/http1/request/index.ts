export { type IncomingHead, OtherVersion, UnknownMethod } from './incoming-head.ts';
export type { OutgoingRequest } from './outgoing-request.ts';
export { RequestBody, type RequestBodyOwner } from './request-body.ts';
export { type Rejection, type RequestFraming, requestFraming } from './request-framing.ts';
export { mayAnswerTwice, requestHead } from './request-head-text.ts';
export { OversizedHead, RequestReader, type RequestReaderOwner } from './request-reader.ts';
export { RequestWriter, type RequestWriterOwner } from './request-writer.ts';

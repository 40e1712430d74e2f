export { type IncomingHead, OtherVersion, readIncomingHead, withoutEmptyLines } from './incoming-head.ts';
export type { UpstreamRequest } from './outgoing-request.ts';
export { RequestBody, type RequestBodyOwner } from './request-body.ts';
export type { Rejection, RequestFraming } from './request-framing.ts';
export { mayAnswerTwice, requestHead } from './request-head-text.ts';
export { RequestWriter, type RequestWriterOwner } from './request-writer.ts';

export type { UpstreamRequest } from './outgoing-request.ts';
export { RequestBody, type RequestBodyOwner } from './request-body.ts';
export { type Framing, type Rejection, requestFraming } from './request-framing.ts';
export { mayAnswerTwice, requestHead } from './request-head-text.ts';
export { OtherVersion, type RequestStart, readRequestStart, withoutEmptyLines } from './request-start.ts';
export { RequestTerms } from './request-terms.ts';
export { RequestWriter, type RequestWriterOwner } from './request-writer.ts';

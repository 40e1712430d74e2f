export type { OutgoingRequest } from './outgoing-request.ts';
export { RequestBody, type RequestBodyOwner } from './request-body.ts';
export { type Rejection, type RequestFraming, requestFraming } from './request-framing.ts';
export {
  type IncomingHead,
  mayAnswerTwice,
  OtherVersion,
  OversizedHead,
  RequestReader,
  type RequestReaderOwner,
  requestHead,
  UnknownMethod,
} from './request-reader.ts';
export { RequestWriter, type RequestWriterOwner } from './request-writer.ts';

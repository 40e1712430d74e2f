export { RequestBody, type RequestBodyOwner } from './request-body.ts';
export { type Rejection, type RequestFraming, requestFraming } from './request-framing.ts';
export {
  type IncomingHead,
  OtherVersion,
  OversizedHead,
  RequestReader,
  type RequestReaderOwner,
  UnknownMethod,
} from './request-reader.ts';
export {
  BodyWriter,
  mayAnswerTwice,
  type OutgoingRequest,
  RequestSender,
  type RequestWriterOwner,
  statesLength,
} from './request-writer.ts';

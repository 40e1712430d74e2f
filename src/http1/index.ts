export { type BodyTerms, chunkSize, LAST_CHUNK, NO_TERMS } from './body/index.ts';
export { connectionOptions, hopFieldNames, MalformedMessage } from './message/index.ts';
export {
  BodyWriter,
  type IncomingHead,
  mayAnswerTwice,
  OtherVersion,
  type OutgoingRequest,
  OversizedHead,
  type Rejection,
  RequestBody,
  type RequestBodyOwner,
  type RequestFraming,
  RequestReader,
  type RequestReaderOwner,
  RequestSender,
  type RequestWriterOwner,
  requestFraming,
  statesLength,
  UnknownMethod,
} from './request/index.ts';
export {
  interimResponse,
  type LastResponse,
  ResponseReader,
  type ResponseSink,
  type ResponseTerms,
  responseHead,
  type Switched,
} from './response/index.ts';

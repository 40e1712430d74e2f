export { AnswerReader, type AnswerSink, answerHead, interimAnswer } from './answer/index.ts';
export { type BodyTerms, chunkSize, LAST_CHUNK, NO_TERMS } from './body/index.ts';
export { hopFieldNames, MalformedMessage, PartialHead } from './message/index.ts';
export {
  type IncomingHead,
  mayAnswerTwice,
  OtherVersion,
  type Rejection,
  RequestBody,
  type RequestBodyOwner,
  type RequestFraming,
  RequestWriter,
  type RequestWriterOwner,
  readIncomingHead,
  requestHead,
  type UpstreamRequest,
  withoutEmptyLines,
} from './request/index.ts';

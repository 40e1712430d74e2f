export { AnswerReader, type AnswerSink, answerHead, interimAnswer } from './answer/index.ts';
export { type BodyTerms, chunkSize, LAST_CHUNK, NO_TERMS } from './body/index.ts';
export { connectionTokens, MalformedMessage, PartialHead } from './message/index.ts';
export {
  type Framing,
  mayAnswerTwice,
  OtherVersion,
  type Rejection,
  RequestBody,
  type RequestBodyOwner,
  type RequestStart,
  RequestTerms,
  RequestWriter,
  type RequestWriterOwner,
  readRequestStart,
  requestFraming,
  requestHead,
  type UpstreamRequest,
  withoutEmptyLines,
} from './request/index.ts';

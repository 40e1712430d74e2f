export { answerHead, interimAnswer } from './answer-head-text.ts';
export { AnswerReader } from './answer-reader.ts';
export type { AnswerSink } from './answer-sink.ts';

export { JOINED_BYTES } from './flow-control.ts';
export { closedFault, Session, type SessionOptions } from './session.ts';
export { Stream, type StreamEnd, type StreamHandler, type StreamHost } from './stream.ts';

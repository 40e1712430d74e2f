export {
  ClientSession,
  type ClientSessionOptions,
  type ClientSessionOwner,
  type ClientStream,
  type StreamEnd,
  type StreamHandler,
} from './client/index.ts';
export { type HeaderSection, isSecret } from './hpack/index.ts';
export { ErrorCode, Http2Fault } from './http2-fault.ts';

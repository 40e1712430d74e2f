export * from './client/index.ts';
export { PREFACE } from './frames/index.ts';
export * from './hpack/index.ts';
export { ErrorCode, errorName, Http2Fault } from './http2-fault.ts';
export { Liveness } from './liveness.ts';
export * from './server/index.ts';
export { JOINED_BYTES, type SessionOptions, type StreamEnd, type StreamHandler } from './session/index.ts';

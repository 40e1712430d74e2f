export type { BodyLength, BodySink, BodySource, LendingBytes, Release } from './body.ts';
export type { ByteSink, ByteStream } from './byte-stream.ts';
export { GrowingBytes } from './growing-bytes.ts';
export { SocketStream } from './socket-stream.ts';

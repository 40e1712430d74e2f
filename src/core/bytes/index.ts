export type { BodyLength, BodySink, BodySource, LendingBytes, Release } from './body.ts';
export { type ByteSink, type ByteStream, GrowingBytes, SocketStream } from './byte-stream.ts';

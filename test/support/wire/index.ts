/**
 * HTTP/1.1 as bytes, for tests: a client that can send anything and reads strictly, and an upstream that records
 * everything, refuses what is ambiguous and answers as a script says. Nothing here uses `node:http`.
 */

export { CaptureUpstream, responseOk, startUpstream, type UpstreamSettings } from './capture-upstream.ts';
export type { CapturedRequest } from './captured-request.ts';
export { names, values, type WireFields } from './fields.ts';
export { type Framing, requestFraming, responseFraming } from './framing.ts';
export { MessageReader, type MessageSink, type ReaderOptions } from './message-reader.ts';
export {
  type ConnectOptions,
  connectRaw,
  NoResponse,
  openRaw,
  RawClient,
  type ResponseOptions,
} from './raw-client.ts';
export { header, type Interim, type Response } from './response.ts';
export type { UpstreamConnection } from './upstream-connection.ts';
export type { Script, UpstreamExchange } from './upstream-exchange.ts';
export { Violation } from './violation.ts';

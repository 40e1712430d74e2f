export { ClientSession, type ClientSessionOptions, type ClientSessionOwner } from './client-session.ts';
export type { ClientStream } from './client-stream.ts';
export type { StreamEnd, StreamHandler } from './stream-handler.ts';

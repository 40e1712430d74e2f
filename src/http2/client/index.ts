export { ClientSession, type ClientSessionOptions, type ClientSessionOwner } from './client-session.ts';
export type { ClientStream, StreamEnd, StreamHandler } from './client-stream.ts';

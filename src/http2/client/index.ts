export { ClientSession } from './client-session.ts';
export type { ClientSessionOptions, ClientSessionOwner } from './client-session-owner.ts';
export type { ClientStream } from './client-stream.ts';
export type { StreamEnd, StreamHandler } from './stream-handler.ts';

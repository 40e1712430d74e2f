export { ClientSession, type ClientSessionOwner } from './client-session.ts';
export { ClientStream } from './client-stream.ts';

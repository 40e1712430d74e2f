export { ServerSession, type ServerSessionOptions, type ServerSessionOwner } from './server-session.ts';
export { type RequestHandler, ServerStream } from './server-stream.ts';

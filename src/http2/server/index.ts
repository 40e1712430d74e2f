export {
  type RequestHandler,
  ServerSession,
  type ServerSessionOptions,
  type ServerSessionOwner,
} from './server-session.ts';
export { type RequestEnd, ServerStream } from './server-stream.ts';

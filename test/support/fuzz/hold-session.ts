import type { Http2Session } from 'node:http2';

/**
 * Keeps a session's native part from being collected as garbage before those of its streams. Call it when the session is
 * connected, and the result once its socket is closed.
 *
 * Node ends the process where the session goes first and header fields of a stream were never handed out ("Assertion failed:
 * (current_nghttp2_memory_) == (0)", as in https://github.com/nodejs/node/issues/39951): a connection that ends behind a
 * malformed header section is enough. A stream frees its fields in an immediate, and Node lets go of the session before that.
 */
export function holdSession(session: Http2Session): () => void {
  const handle = Object.getOwnPropertySymbols(session).find(({ description }) => description === 'kHandle');
  let native: unknown = handle === undefined ? null : Reflect.get(session, handle);
  const letGo = () => {
    native = null;
  };
  // The second one runs when the stream's own, set before now, has run.
  return () => setImmediate(() => (native === null ? undefined : setImmediate(letGo)));
}

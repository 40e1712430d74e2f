import type { Http2Session, Http2Stream } from 'node:http2';

/**
 * Removes every listener of a closed stream. Node's sessions keep closed streams reachable until old memory is collected, and
 * listeners would keep whole exchanges in memory, and have them copied, for as long.
 */
export function forgetListeners(stream: Http2Stream): void {
  // First, or Node's own listener would be called for each of the others.
  stream.removeAllListeners('removeListener');
  stream.removeAllListeners();
  stream.on('error', ignore);
}

function ignore(): void {}

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

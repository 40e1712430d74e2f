import { constants, type ServerHttp2Stream } from 'node:http2';

/**
 * Tells the client that the rest of its request is not wanted, once it has the whole response (RFC 9113, 8.1).
 *
 * `close` marks a stream as closed at once, and Node does not reset a closed stream that it destroys. If data still waits there
 * for the client's window, nghttp2 then sends empty DATA frames in an endless loop.
 */
export function closeWhenSent(stream: ServerHttp2Stream): void {
  const close = () => {
    if (!stream.closed) stream.close(constants.NGHTTP2_NO_ERROR);
  };
  if (stream.writableFinished) close();
  else stream.once('finish', close);
}

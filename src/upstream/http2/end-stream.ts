import type { ClientHttp2Stream } from 'node:http2';

/**
 * Calls `note` when the upstream ends its side of the stream with END_STREAM. Node's `end` event is not enough: it also fires
 * when RST_STREAM with NO_ERROR breaks off a response, which would make a truncated response look complete. In that case, and
 * only then, Node marks the stream as closed before it ends the readable side.
 */
export function onEndStream(stream: ClientHttp2Stream, note: () => void): void {
  const push = stream.push.bind(stream);
  stream.push = (chunk, encoding) => {
    if (chunk === null && !stream.closed) note();
    return push(chunk, encoding);
  };
}

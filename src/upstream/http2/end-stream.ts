import type { ClientHttp2Stream } from 'node:http2';

/**
 * Calls `note` when the upstream ends its side of the stream by END_STREAM. Node's `end` event does not tell: it comes also
 * where RST_STREAM with NO_ERROR breaks a response off, which would make a truncated response look complete. Node marks the
 * stream as closed before it ends the readable side in that case, and only then.
 */
export function onEndStream(stream: ClientHttp2Stream, note: () => void): void {
  const push = stream.push.bind(stream);
  stream.push = (chunk, encoding) => {
    if (chunk === null && !stream.closed) note();
    return push(chunk, encoding);
  };
}

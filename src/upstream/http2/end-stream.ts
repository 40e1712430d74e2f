import type { ClientHttp2Stream } from 'node:http2';
import { Readable } from 'node:stream';

const ENDED = Symbol('ended by END_STREAM');

interface Noting extends ClientHttp2Stream {
  [ENDED]?: true;
}

/**
 * Notes from now on whether the upstream ends its side of the stream with END_STREAM. Node's `end` event is not enough: it also
 * fires when RST_STREAM with NO_ERROR breaks off a response, which would make a truncated response look complete. In that case,
 * and only then, Node marks the stream as closed before it ends the readable side.
 */
export function noteEndStream(stream: ClientHttp2Stream): void {
  stream.push = push;
}

export function hasEndStream(stream: ClientHttp2Stream): boolean {
  return (stream as Noting)[ENDED] === true;
}

function push(this: ClientHttp2Stream, chunk: unknown, encoding?: BufferEncoding): boolean {
  if (chunk === null && !this.closed) (this as Noting)[ENDED] = true;
  return Readable.prototype.push.call(this, chunk, encoding);
}

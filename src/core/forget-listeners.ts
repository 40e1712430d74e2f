import type { Http2Stream } from 'node:http2';

/**
 * Parts a closed stream from all that listened to it. Streams outlive their end by far: tables that Node's sessions have outgrown
 * still refer to them, until old memory is collected. What hangs on them would be kept and copied as long.
 */
export function forgetListeners(stream: Http2Stream): void {
  // Node's own listener would be told of each of the others.
  stream.removeAllListeners('removeListener');
  stream.removeAllListeners();
  stream.on('error', ignore);
}

function ignore(): void {}

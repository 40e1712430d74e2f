import type { Http2Stream } from 'node:http2';

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

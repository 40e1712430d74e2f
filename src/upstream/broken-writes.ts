import type { Socket } from 'node:net';

/**
 * Lets a socket be read to its end after a write has failed. A service that refuses an upload answers and closes; the next write
 * then fails, and Node.js would destroy the socket with the answer unread in the kernel.
 *
 * @param broken called once, when nothing more can be written. The read that finds the end destroys the socket with this error
 */
export function outliveBrokenWrites(socket: Socket, broken: (error: Error) => void): void {
  const { destroy, push } = socket;
  let cause: Error | null = null;
  socket.destroy = (error?: Error): Socket => {
    if (error === undefined || !isOfWrite(error)) return destroy.call(socket, error);
    if (cause === null) {
      cause = error;
      broken(error);
    }
    return socket;
  };
  // Node.js does not emit `end` after an error.
  socket.push = (piece: Buffer | null): boolean => {
    if (piece !== null || cause === null) return push.call(socket, piece);
    destroy.call(socket, cause);
    return false;
  };
}

function isOfWrite(error: Error): boolean {
  return 'syscall' in error && error.syscall === 'write';
}

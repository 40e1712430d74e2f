import type { Socket } from 'node:net';

/**
 * Hands what the socket reads to `take`, without the events and the tick that a stream of Node.js has for each piece: a microsecond of a
 * request. docs/decisions/019-reads-of-clients.md says why by `push`. Returns what ends it; the socket then keeps what it reads.
 */
export function readDirectly(socket: Socket, take: (bytes: Buffer) => void): () => void {
  const { push } = socket;
  // Takes what waited in the stream, after a pause or an `unshift`.
  socket.on('data', take);
  socket.push = (piece: Buffer | null): boolean => {
    if (piece === null || socket.readableFlowing !== true || socket.readableLength > 0)
      return push.call(socket, piece);
    take(piece);
    return true;
  };
  return () => {
    socket.off('data', take);
    socket.push = push;
  };
}

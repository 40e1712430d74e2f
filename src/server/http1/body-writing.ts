import type { Socket } from 'node:net';
import type { Fields, Release } from '../../core/index.ts';
import { chunkSize, LAST_CHUNK } from '../../http1/index.ts';

/** A chunk up to this size is copied into one string with its framing, which is cheaper than three writes. */
const STRING_MAX_BYTES = 2_048;

/** Writes a part of a body as it is. */
export function writeBytes(socket: Socket, bytes: Buffer, taken: Release | null): void {
  if (taken === null) socket.write(bytes);
  else socket.write(bytes, taken);
}

/** Writes a part of a body as one chunk (RFC 9112, 7.1). */
export function writeChunk(socket: Socket, bytes: Buffer, taken: Release | null): void {
  if (bytes.length <= STRING_MAX_BYTES) {
    socket.write(`${chunkSize(bytes.length)}${bytes.toString('latin1')}\r\n`, 'latin1');
    taken?.();
    return;
  }
  socket.write(chunkSize(bytes.length), 'latin1');
  writeBytes(socket, bytes, taken);
  socket.write('\r\n', 'latin1');
}

/** The end of a body in chunks, with its trailers (RFC 9112, 7.1.2). */
export function lastChunk(trailers: Fields): string {
  let section = LAST_CHUNK;
  for (let i = 0; i + 1 < trailers.length; i += 2) section += `${trailers[i]}: ${trailers[i + 1]}\r\n`;
  return `${section}\r\n`;
}

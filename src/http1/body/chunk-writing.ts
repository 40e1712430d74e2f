/** The line before a chunk of so many bytes, at least one: none would be the last chunk. RFC 9112, 7.1. */
export function chunkSize(bytes: number): string {
  return `${bytes.toString(16)}\r\n`;
}

/** What ends a body in chunks, its trailer section left out. RFC 9112, 7.1. */
export const LAST_CHUNK = '0\r\n';

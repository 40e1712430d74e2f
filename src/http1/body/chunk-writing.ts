/** The line before a chunk of so many bytes. At least one: a chunk of 0 would be the last. RFC 9112, 7.1. */
export function chunkSize(bytes: number): string {
  return `${bytes.toString(16)}\r\n`;
}

/** The last chunk, without the trailer section that follows it. RFC 9112, 7.1. */
export const LAST_CHUNK = '0\r\n';

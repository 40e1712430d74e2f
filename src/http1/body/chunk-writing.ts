/** The line before a chunk of `bytes` bytes (RFC 9112, 7.1). Pass at least 1: a chunk of 0 ends the body. */
export function chunkSize(bytes: number): string {
  return `${bytes.toString(16)}\r\n`;
}

/** The last chunk, without the trailer section that follows it. RFC 9112, 7.1. */
export const LAST_CHUNK = '0\r\n';

/**
 * A request's header section with a Host, ready for a body: `head('POST /a', 'Content-Length: 5')`. Lines are sent as
 * they are given.
 */
export function head(methodAndTarget: string, ...lines: string[]): string {
  return `${[`${methodAndTarget} HTTP/1.1`, 'Host: gateway.test', ...lines].join('\r\n')}\r\n\r\n`;
}

/** A request with a body of that length. */
export function withBody(methodAndTarget: string, body: string, ...lines: string[]): string {
  return head(methodAndTarget, `Content-Length: ${body.length}`, ...lines) + body;
}

/** A request whose body comes in these chunks. */
export function inChunks(methodAndTarget: string, chunks: readonly string[], ...lines: string[]): string {
  const body = [...chunks, ''].map(chunk => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('');
  return head(methodAndTarget, 'Transfer-Encoding: chunked', ...lines) + body;
}

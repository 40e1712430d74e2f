/** RFC 9113, 3.4: what a client that speaks HTTP/2 sends first. No request of HTTP/1.1 begins so. */
const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

/** What the first bytes of a connection say it speaks; null: more are needed. */
export function protocolOf(bytes: Buffer): 'http1' | 'h2' | null {
  const length = Math.min(bytes.length, PREFACE.length);
  if (bytes.compare(PREFACE, 0, length, 0, length) !== 0) return 'http1';
  return length === PREFACE.length ? 'h2' : null;
}

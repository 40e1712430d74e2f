import type { RequestHead } from './request-head.ts';

/** How a request's body is framed: no body, a number of bytes, or chunks. */
export type Framing = number | 'chunked';

/** Why something of a request cannot be trusted: a sentence for the client, in ASCII. */
export interface Refusal {
  readonly refused: string;
}

/**
 * How the body of a request is framed, decided by `Content-Length` and `Transfer-Encoding` alone, never by the method
 * (RFC 9112, 6.3).
 *
 * The parser has refused the worst. What it lets through is refused here wherever a backend could read it another way:
 * `010`, `gzip, chunked`, a doubled field, chunks in HTTP/1.0.
 */
export function requestFraming(head: RequestHead, httpMinor: number): Framing | Refusal {
  if (head.transferEncoding !== null) return chunkedFraming(head, head.transferEncoding, httpMinor);
  if (head.contentLength === null || head.contentLength === '0') return 0;
  // At most 15 digits: exact as a number.
  if (!/^[1-9]\d{0,14}$/.test(head.contentLength)) return { refused: 'Content-Length is not a plain number' };
  return Number(head.contentLength);
}

function chunkedFraming(head: RequestHead, transferEncoding: string, httpMinor: number): Framing | Refusal {
  if (head.contentLength !== null) return { refused: 'both Content-Length and Transfer-Encoding' };
  if (httpMinor === 0) return { refused: 'Transfer-Encoding in an HTTP/1.0 request' };
  if (transferEncoding.toLowerCase() !== 'chunked')
    return { refused: 'the only transfer coding accepted is chunked' };
  return 'chunked';
}

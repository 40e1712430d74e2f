/** How a request's body is framed: no body, a number of bytes, or chunks. */
export type Framing = number | 'chunked';

/** Why something of a request cannot be trusted: a sentence for the client, in ASCII. */
export interface Rejection {
  readonly refused: string;
}

/** The values of a request's framing fields; null: not there. */
export interface FramingFields {
  readonly contentLength: string | null;
  readonly transferEncoding: string | null;
}

/**
 * How the body of a request is framed, decided by `Content-Length` and `Transfer-Encoding` alone, never by the method
 * (RFC 9112, 6.3).
 *
 * Refused is whatever a backend could read another way: `010`, `gzip, chunked`, both fields, chunks in HTTP/1.0. That a field
 * came twice, its reader has to tell.
 */
export function requestFraming(fields: FramingFields, httpMinor: number): Framing | Rejection {
  if (fields.transferEncoding !== null) return chunkedFraming(fields, fields.transferEncoding, httpMinor);
  if (fields.contentLength === null || fields.contentLength === '0') return 0;
  // At most 15 digits: exact as a number.
  if (!/^[1-9]\d{0,14}$/.test(fields.contentLength))
    return { refused: 'Content-Length is not a plain number' };
  return Number(fields.contentLength);
}

function chunkedFraming(
  fields: FramingFields,
  transferEncoding: string,
  httpMinor: number,
): Framing | Rejection {
  if (fields.contentLength !== null) return { refused: 'both Content-Length and Transfer-Encoding' };
  if (httpMinor === 0) return { refused: 'Transfer-Encoding in an HTTP/1.0 request' };
  if (transferEncoding.toLowerCase() !== 'chunked')
    return { refused: 'the only transfer coding accepted is chunked' };
  return 'chunked';
}

import { STATUS_CODES } from 'node:http';
import { MalformedMessage } from '../../http1/index.ts';

/** The head of a response as it came over HTTP/2. */
export interface ResponseHead {
  readonly status: number;
  /** The usual one, since HTTP/2 has none (RFC 9113, 8.3.2). */
  readonly reason: string;
  /** In lower case, without pseudo-fields. */
  readonly fields: string[];
  /** The value of `content-length`; null if absent. */
  readonly statedLength: number | null;
}

/** Reads a header section of well-formed fields: names and values in turn, `:status` first. Throws MalformedMessage. */
export function readResponseHead(section: readonly string[]): ResponseHead {
  const status = section[0] === ':status' ? readStatus(section[1] ?? '') : 0;
  if (status === 0) throw new MalformedMessage('a response without a status');
  const fields = section.slice(2);
  const statedLength = lengthIn(fields);
  // RFC 9110, 8.6: a 204 has no length, but some servers say 0.
  if (status === 204 && statedLength !== null) {
    if (statedLength > 0) throw new MalformedMessage('a length where there is no body');
    const others = fields.filter((_, i) => fields[i - (i % 2)] !== 'content-length');
    return { status, reason: STATUS_CODES[status] ?? '', fields: others, statedLength: null };
  }
  return { status, reason: STATUS_CODES[status] ?? '', fields, statedLength };
}

/** RFC 9110, 15: three digits, of which the first names the class. */
function readStatus(text: string): number {
  return /^[1-9]\d\d$/.test(text) ? Number(text) : 0;
}

/** Reads the length as strictly as over HTTP/1.1, since an HTTP/1.1 client will parse the digits again. */
function lengthIn(fields: readonly string[]): number | null {
  let length: number | null = null;
  for (let i = 0; i + 1 < fields.length; i += 2) {
    if (fields[i] !== 'content-length') continue;
    if (length !== null) throw new MalformedMessage('content-length came twice');
    const text = fields[i + 1] as string;
    if (!/^(?:0|[1-9]\d{0,14})$/.test(text))
      throw new MalformedMessage('content-length is not a plain number');
    length = Number(text);
  }
  return length;
}

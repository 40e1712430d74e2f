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

/**
 * Reads a header section that nghttp2 has found well-formed: names and values in turn, `:status` first. Throws
 * MalformedMessage.
 *
 * @param maxBytes a larger section is rejected; nghttp2 does so only once the upstream has acknowledged our SETTINGS
 */
export function readResponseHead(section: readonly string[], maxBytes: number): ResponseHead {
  if (sectionBytes(section) > maxBytes) throw new MalformedMessage('a head that is too large');
  const status = section[0] === ':status' ? readStatus(section[1] ?? '') : 0;
  if (status === 0) throw new MalformedMessage('a response without a status');
  const fields = section.slice(2);
  return { status, reason: STATUS_CODES[status] ?? '', fields, statedLength: lengthIn(fields) };
}

/** RFC 9113, 6.5.2: 32 bytes more for each field. */
function sectionBytes(section: readonly string[]): number {
  let bytes = 16 * section.length;
  for (const text of section) bytes += text.length;
  return bytes;
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

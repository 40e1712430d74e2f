import type { Fields } from '../../core/index.ts';

/** What a listener adds to the fields of a response. */
export interface ResponseTerms {
  /** Value of `Date` where the response has none. */
  readonly date: string;
  /** Value of `Keep-Alive`; null: the connection closes after the response. */
  readonly keepAliveHint: string | null;
  /** Whether the body goes out in chunks. */
  readonly chunked: boolean;
}

const DATE_BYTES = 4;

/** The head of a response as it is written, in latin-1. RFC 9112, 4 and 6; the version is always ours (RFC 9110, 2.5). */
export function responseHead(status: number, reason: string, fields: Fields, terms: ResponseTerms): string {
  let head = `HTTP/1.1 ${status} ${reason}\r\n`;
  let dated = false;
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = fields[i] as string;
    if (name.length === DATE_BYTES && name.toLowerCase() === 'date') dated = true;
    head += `${name}: ${fields[i + 1]}\r\n`;
  }
  if (!dated) head += `Date: ${terms.date}\r\n`;
  if (terms.chunked) head += 'Transfer-Encoding: chunked\r\n';
  if (terms.keepAliveHint === null) return `${head}Connection: close\r\n\r\n`;
  return `${head}Connection: keep-alive\r\nKeep-Alive: ${terms.keepAliveHint}\r\n\r\n`;
}

/** An interim response (RFC 9110, 15.2) as it is written. */
export function interimResponse(status: number, reason: string, fields: Fields): string {
  let head = `HTTP/1.1 ${status} ${reason}\r\n`;
  for (let i = 0; i + 1 < fields.length; i += 2) head += `${fields[i]}: ${fields[i + 1]}\r\n`;
  return `${head}\r\n`;
}

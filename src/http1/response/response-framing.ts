import type { Fields } from '../../core/index.ts';
import { connectionOptions, MalformedMessage } from '../message/index.ts';
import type { ResponseHead } from './response-head.ts';

/** What a response says about the bytes after its head. Only this file reads it. */
export interface ResponseFraming {
  /** The body's length; `until close`: everything up to the end of the connection. */
  readonly length: number | 'chunked' | 'until close';
  /** The connection carries no further request. */
  readonly close: boolean;
  /** How long the server keeps an idle connection, in milliseconds; null where it does not say. */
  readonly keepAliveMs: number | null;
  /** The fields without `Transfer-Encoding`, which is decoded here. */
  readonly fields: string[];
}

/** The fields read here, by length: most names are told apart without comparing letters. */
const CONNECTION_BYTES = 10;
const CONTENT_LENGTH_BYTES = 14;
const TRANSFER_ENCODING_BYTES = 17;

/**
 * Decides how the response to a request with this method is framed, by the rules of RFC 9112, 6.3 in their order. Where those
 * let a recipient repair a server's mistake, this throws MalformedMessage: the next recipient might repair it differently.
 */
export function responseFraming(method: string, head: ResponseHead): ResponseFraming {
  const said = new FramingFields(head);
  const fields = said.fields;
  const { keepAliveMs } = said;
  // RFC 9112, 9.3: HTTP/1.0 closes unless both sides agree otherwise, which is never offered here.
  const close = said.close || head.httpMinor === 0;
  // Rule 1. The response to a HEAD and a 304 may state the framing that a GET would have had.
  if (method === 'HEAD' || head.status === 304) return { length: 0, close, keepAliveMs, fields };
  // A 204 must not (RFC 9110, 8.6; RFC 9112, 6.1). A server that does may send that body after all, which would be taken
  // for the response to the next request.
  if (head.status < 200 || head.status === 204) {
    const announced = said.chunked || (said.contentLength ?? 0) > 0;
    return { length: 0, close: close || announced, keepAliveMs, fields };
  }
  // Rules 3 and 4 were decided while reading the fields; 5 and 6.
  if (said.chunked) return { length: 'chunked', close, keepAliveMs, fields };
  if (said.contentLength !== null) return { length: said.contentLength, close, keepAliveMs, fields };
  // Rule 8.
  return { length: 'until close', close: true, keepAliveMs, fields };
}

/** The framing and connection fields of a head, each read strictly. */
class FramingFields {
  fields: string[];
  contentLength: number | null = null;
  chunked = false;
  close = false;
  keepAliveMs: number | null = null;

  constructor({ fields, httpMinor }: ResponseHead) {
    this.fields = fields as string[];
    for (let i = 0; i + 1 < fields.length; i += 2) {
      const { length } = fields[i] as string;
      if (
        length === CONNECTION_BYTES ||
        length === CONTENT_LENGTH_BYTES ||
        length === TRANSFER_ENCODING_BYTES
      )
        this.#read((fields[i] as string).toLowerCase(), fields[i + 1] as string, httpMinor);
    }
    if (!this.chunked) return;
    // RFC 9112, 6.3, rule 3: both fields may be an attempt at smuggling, since recipients disagree on which one counts.
    if (this.contentLength !== null) throw new MalformedMessage('both Content-Length and Transfer-Encoding');
    this.fields = withoutTransferEncoding(fields);
  }

  #read(name: string, value: string, httpMinor: number): void {
    switch (name) {
      case 'content-length':
        // RFC 9112, 6.3, rule 5 would accept "5, 5" as 5, and two equal lines as well.
        if (this.contentLength !== null) throw new MalformedMessage('Content-Length came twice');
        this.contentLength = readLength(value);
        break;
      case 'transfer-encoding':
        // RFC 9112, 7: the only coding that every recipient knows. 6.1: in HTTP/1.0 it is an error.
        if (this.chunked || httpMinor === 0 || value.toLowerCase() !== 'chunked')
          throw new MalformedMessage('the only transfer coding accepted is chunked');
        this.chunked = true;
        break;
      case 'connection':
        this.close ||= connectionOptions(value).includes('close');
        break;
      case 'keep-alive':
        this.keepAliveMs = readKeepAlive(value);
        break;
    }
  }
}

/** RFC 9110, 8.6: `1*DIGIT`. Rejects a leading zero, which some parsers take for octal, and more than 15 digits. */
function readLength(value: string): number {
  if (!/^(?:0|[1-9]\d{0,14})$/.test(value))
    throw new MalformedMessage('Content-Length is not a plain number');
  return Number(value);
}

/** RFC 2068, 19.7.1.1, which introduced the field and its `timeout` in seconds. */
function readKeepAlive(value: string): number | null {
  const seconds = /(?:^|[,; \t])timeout=(\d{1,9})(?:[,; \t]|$)/i.exec(value)?.[1];
  return seconds === undefined ? null : Number(seconds) * 1_000;
}

function withoutTransferEncoding(fields: Fields): string[] {
  const kept: string[] = [];
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = fields[i] as string;
    if (name.length !== TRANSFER_ENCODING_BYTES || name.toLowerCase() !== 'transfer-encoding')
      kept.push(name, fields[i + 1] as string);
  }
  return kept;
}

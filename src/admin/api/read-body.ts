import type { IncomingMessage } from 'node:http';
import type { GatewayError } from '../../core/index.ts';
import { badRequest, bodyTooLarge, notJson } from './api-errors.ts';

const MAX_BYTES = 16_384;

/** Reads the JSON that a request brings. Only `application/json`, which no page of another origin can send unasked. */
export async function readBody(
  request: IncomingMessage,
): Promise<
  { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: GatewayError }
> {
  if (!/^application\/json[ \t]*(?:;|$)/i.test(request.headers['content-type'] ?? ''))
    return { ok: false, error: notJson() };
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of request as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > MAX_BYTES) return { ok: false, error: bodyTooLarge() };
    pieces.push(piece);
  }
  try {
    return { ok: true, value: JSON.parse(Buffer.concat(pieces).toString()) };
  } catch {
    return { ok: false, error: badRequest('The body is not JSON.') };
  }
}

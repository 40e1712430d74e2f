import type { OutgoingRequest } from '../../http1/index.ts';

/** Methods that usually have a body. Without one they state a length of 0 (RFC 9110, 8.6), or some servers answer 411. */
const EXPECT_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);

/**
 * The header section of a request, names and values in turn (RFC 9113, 8.3.1). Node lower-cases names, and fills in its own name
 * for the upstream if the authority is missing.
 */
export function requestHeaders(request: OutgoingRequest, scheme: 'http' | 'https'): string[] {
  const { method, target, fields, bodyLength, takesTrailers } = request;
  const headers = [':method', method, ':scheme', scheme, ':path', target];
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = fields[i] as string;
    const value = fields[i + 1] as string;
    // RFC 9113, 8.3.1: `:authority` replaces Host.
    if (!isHost(name)) headers.push(name, value);
    else if (value !== '') headers.push(':authority', value);
  }
  if (takesTrailers) headers.push('te', 'trailers');
  if (bodyLength !== 'chunked' && (bodyLength > 0 || EXPECT_BODY.has(method)))
    headers.push('content-length', String(bodyLength));
  return headers;
}

function isHost(name: string): boolean {
  return name.length === 4 && name.toLowerCase() === 'host';
}

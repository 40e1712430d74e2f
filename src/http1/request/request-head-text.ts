import type { OutgoingRequest } from './outgoing-request.ts';

/** Methods that usually have a body. Without one they state a length of 0 (RFC 9110, 8.6), or some servers answer 411. */
const EXPECT_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);

/** The head of a request as it is written, in latin-1. RFC 9112, 3 and 6. */
export function requestHead({ method, target, fields, upgrade, bodyLength }: OutgoingRequest): string {
  let head = `${method} ${target} HTTP/1.1\r\n`;
  for (let i = 0; i + 1 < fields.length; i += 2) head += `${fields[i]}: ${fields[i + 1]}\r\n`;
  if (upgrade !== 'none') head += `Connection: Upgrade\r\nUpgrade: ${upgrade}\r\n`;
  if (bodyLength === 'chunked') return `${head}Transfer-Encoding: chunked\r\n\r\n`;
  if (bodyLength > 0 || EXPECT_BODY.has(method)) return `${head}Content-Length: ${bodyLength}\r\n\r\n`;
  return `${head}\r\n`;
}

/**
 * Whether an upstream may take the body of this request for a second request, and answer both. RFC 9110, 9.3.1 gives the
 * content of a GET, HEAD or DELETE no meaning, and servers that expect no body leave it on the connection.
 */
export function mayAnswerTwice({ method, body }: OutgoingRequest): boolean {
  return body !== null && !EXPECT_BODY.has(method);
}

import { describe, expect, test } from 'vitest';
import { NO_NAMES } from '../../../src/core/index.ts';
import type { OutgoingRequest } from '../../../src/http1/index.ts';
import { requestHead } from '../../../src/http1/request-writer.ts';

function headOf(request: Partial<OutgoingRequest>): string {
  return requestHead({
    ...{
      method: 'GET',
      target: '/a?b',
      fields: [],
      bodyLength: 0,
      body: null,
      neverIndexed: NO_NAMES,
      takesTrailers: false,
      upgrade: 'none',
      firstByteTimeoutMs: 1,
      idleTimeoutMs: 1,
    },
    ...request,
  });
}

describe('the head of a request', () => {
  test('is the request line, the fields in their order and case, and an empty line', () => {
    expect(headOf({ fields: ['Host', 'a.test', 'x-B', '1', 'X-b', '', 'C', '\xe9'] })).toBe(
      'GET /a?b HTTP/1.1\r\nHost: a.test\r\nx-B: 1\r\nX-b: \r\nC: \xe9\r\n\r\n',
    );
  });

  test.each([
    ['GET', 0, ''],
    ['HEAD', 0, ''],
    ['DELETE', 0, ''],
    ['OPTIONS', 0, ''],
    // RFC 9110, 8.6: some servers answer 411 to these without a length.
    ['POST', 0, 'Content-Length: 0\r\n'],
    ['PUT', 0, 'Content-Length: 0\r\n'],
    ['PATCH', 0, 'Content-Length: 0\r\n'],
    ['POST', 5, 'Content-Length: 5\r\n'],
    ['GET', 5, 'Content-Length: 5\r\n'],
    ['POST', 'chunked', 'Transfer-Encoding: chunked\r\n'],
    ['DELETE', 'chunked', 'Transfer-Encoding: chunked\r\n'],
  ] as const)(
    'says how the body is framed, by its length and not by the method: %s %s',
    (method, bodyLength, framing) => {
      expect(headOf({ method, bodyLength })).toBe(`${method} /a?b HTTP/1.1\r\n${framing}\r\n`);
    },
  );
});

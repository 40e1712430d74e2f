import { describe, expect, test } from 'vitest';
import { NO_NAMES } from '../../../../src/core/index.ts';
import type { OutgoingRequest } from '../../../../src/wire/http1/index.ts';
import { mayAnswerTwice, requestHead } from '../../../../src/wire/http1/request-writer.ts';
import { HandBody } from '../../../support/hand-body.ts';

function requestOf(request: Partial<OutgoingRequest>): OutgoingRequest {
  return {
    ...{
      method: 'GET',
      target: '/a?b',
      fields: [],
      bodyLength: 0,
      body: null,
      neverIndexed: NO_NAMES,
      takesTrailers: false,
      statesZero: false,
      upgrade: 'none',
      firstByteTimeoutMs: 1,
      idleTimeoutMs: 1,
    },
    ...request,
  };
}

function headOf(request: Partial<OutgoingRequest>): string {
  return requestHead(requestOf(request));
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

  test('says a length of 0 where the client did, which may have signed it', () => {
    expect(headOf({ statesZero: true })).toBe('GET /a?b HTTP/1.1\r\nContent-Length: 0\r\n\r\n');
  });

  test('asks for another protocol, and names that in Connection (RFC 9110, 7.8)', () => {
    expect(headOf({ fields: ['Host', 'a.test'], upgrade: 'websocket' })).toBe(
      'GET /a?b HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
    );
  });
});

test.each([
  ['GET', true, true],
  ['DELETE', true, true],
  ['GET', false, false],
  ['POST', true, false],
  ['PUT', true, false],
  ['PATCH', true, false],
  ['POST', false, false],
] as const)(
  'a server may take a body for a second request where it expects none: %s, %s',
  (method, hasBody, twice) => {
    const body = hasBody ? new HandBody() : null;
    expect(mayAnswerTwice(requestOf({ method, body }))).toBe(twice);
  },
);

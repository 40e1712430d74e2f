import { expect, test } from 'vitest';
import { requestFraming } from './framing.ts';
import { MessageReader } from './message-reader.ts';
import { parseRequestLine, requireOneHost } from './request-line.ts';
import { Violation } from './violation.ts';

interface Read {
  readonly target: string;
  readonly body: string;
  readonly trailers: readonly string[];
  readonly rest: string;
}

/** Reads one request from the pieces; null when it is not complete. */
function read(pieces: readonly string[]): Read | null {
  let target = '';
  let body = '';
  const reader = new MessageReader({
    head(startLine, fields) {
      target = parseRequestLine(startLine).target;
      requireOneHost(fields);
      return requestFraming(fields);
    },
    data(bytes) {
      body += bytes.toString('latin1');
    },
  });
  let rest = '';
  let complete = false;
  for (const piece of pieces) {
    if (complete) rest += piece;
    else {
      const behind = reader.push(Buffer.from(piece, 'latin1'));
      complete = behind !== null;
      rest += behind?.toString('latin1') ?? '';
    }
  }
  return complete ? { target, body, trailers: reader.trailers, rest } : null;
}

const HEAD = 'POST /a HTTP/1.1\r\nHost: x\r\n';

test.each([
  ['a request without a body', 'GET /a?b HTTP/1.1\r\nHost: x\r\n\r\n', { target: '/a?b', body: '' }],
  ['a body by length', `${HEAD}Content-Length: 5\r\n\r\nhello`, { body: 'hello' }],
  ['an empty body', `${HEAD}Content-Length: 0\r\n\r\n`, { body: '' }],
  [
    'chunks',
    `${HEAD}Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n003\r\nllo\r\n0\r\n\r\n`,
    { body: 'hello' },
  ],
  ['trailers', `${HEAD}Transfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n\r\n`, { trailers: ['A', 'b'] }],
  ['bytes above 0x7f in a value', 'GET /a HTTP/1.1\r\nHost: x\r\nA: \xff\x80\r\n\r\n', { target: '/a' }],
])('the strict reader takes %s, whole or byte by byte, and leaves what follows', (_, text, expected) => {
  const whole = read([`${text}next`]);
  expect(whole).toMatchObject({ ...expected, rest: 'next' });
  expect(read([...`${text}next`])).toEqual(whole);
});

test.each([
  ['both framings', `${HEAD}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n`],
  ['two lengths', `${HEAD}Content-Length: 5\r\nContent-Length: 5\r\n\r\n`],
  ['a length with a leading zero', `${HEAD}Content-Length: 05\r\n\r\n`],
  ['a length with a sign', `${HEAD}Content-Length: +5\r\n\r\n`],
  ['a list of lengths', `${HEAD}Content-Length: 5, 5\r\n\r\n`],
  ['another coding before chunked', `${HEAD}Transfer-Encoding: gzip, chunked\r\n\r\n`],
  ['chunked twice', `${HEAD}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n`],
  ['a folded line', 'GET /a HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n'],
  ['a blank before the colon', 'GET /a HTTP/1.1\r\nHost: x\r\nA : b\r\n\r\n'],
  ['an empty name', 'GET /a HTTP/1.1\r\nHost: x\r\n: b\r\n\r\n'],
  ['a control byte in a value', 'GET /a HTTP/1.1\r\nHost: x\r\nA: b\x00\r\n\r\n'],
  ['a bare CR in a value', 'GET /a HTTP/1.1\r\nHost: x\r\nA: b\rc\r\n\r\n'],
  ['a head in bare LF', 'GET /a HTTP/1.1\nHost: x\n\n'],
  ['one line in bare LF', 'GET /a HTTP/1.1\r\nHost: x\nA: b\r\n\r\n'],
  ['an empty line first', '\r\nGET /a HTTP/1.1\r\nHost: x\r\n\r\n'],
  ['two blanks in the request line', 'GET  /a HTTP/1.1\r\nHost: x\r\n\r\n'],
  ['a target in absolute-form', 'GET http://x/a HTTP/1.1\r\nHost: x\r\n\r\n'],
  ['another version', 'GET /a HTTP/1.0\r\nHost: x\r\n\r\n'],
  ['no Host', 'GET /a HTTP/1.1\r\n\r\n'],
  ['two Hosts', 'GET /a HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n'],
  ['a chunk extension', `${HEAD}Transfer-Encoding: chunked\r\n\r\n2;a=b\r\nhe\r\n0\r\n\r\n`],
  ['a chunk longer than its size', `${HEAD}Transfer-Encoding: chunked\r\n\r\n2\r\nhello\r\n0\r\n\r\n`],
  ['a chunk size in bare LF', `${HEAD}Transfer-Encoding: chunked\r\n\r\n2\nhe\r\n0\r\n\r\n`],
  ['a chunk size that is none', `${HEAD}Transfer-Encoding: chunked\r\n\r\n0x2\r\nhe\r\n0\r\n\r\n`],
  ['a folded trailer', `${HEAD}Transfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n c\r\n\r\n`],
])('the strict reader refuses %s, whole or byte by byte', (_, text) => {
  expect(() => read([text])).toThrow(Violation);
  expect(() => read([...text])).toThrow(Violation);
});

test('a message is complete at its last byte and no earlier', () => {
  const text = `${HEAD}Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n0\r\n\r\n`;
  for (let length = 0; length < text.length; length++) expect(read([text.slice(0, length)])).toBeNull();
  expect(read([text])).not.toBeNull();
});

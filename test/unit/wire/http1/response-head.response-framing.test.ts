import { describe, expect, test } from 'vitest';
import { MalformedMessage } from '../../../../src/wire/http1/message.ts';
import { responseFraming } from '../../../../src/wire/http1/response-head.ts';

function framing(fields: readonly string[], { method = 'GET', status = 200, httpMinor = 1 } = {}) {
  return responseFraming(method, { httpMinor, status, reason: '', fields: [...fields], bytes: 0 });
}

const LENGTH = ['Content-Length', '5'];
const CHUNKED = ['Transfer-Encoding', 'chunked'];

describe('the length of a body is decided by RFC 9112, 6.3', () => {
  test.each([
    ['rule 1: none behind HEAD, whatever it says', LENGTH, { method: 'HEAD' }, 0],
    ['rule 1: none behind HEAD, said in chunks', CHUNKED, { method: 'HEAD' }, 0],
    ['rule 1: none in a 304', LENGTH, { status: 304 }, 0],
    ['rule 1: none in a 204', [], { status: 204 }, 0],
    ['rule 1: none in an interim response', LENGTH, { status: 103 }, 0],
    ['rule 4: chunked', CHUNKED, {}, 'chunked'],
    ['rule 4: chunked in any letter case', ['TRANSFER-ENCODING', 'Chunked'], {}, 'chunked'],
    ['rule 6: a length', LENGTH, {}, 5],
    ['rule 6: a length of zero', ['content-length', '0'], {}, 0],
    ['rule 6: the largest length', ['Content-Length', '9'.repeat(15)], {}, 999_999_999_999_999],
    ['rule 8: until the connection closes', ['X', 'y'], {}, 'until close'],
    ['rule 8: the same in HTTP/1.0', [], { httpMinor: 0 }, 'until close'],
    ['a field that is only as long as one that matters', ['Content_Length', '5'], {}, 'until close'],
    ['a field that is only as long as the other', ['Transfer_Encoding', 'chunked'], {}, 'until close'],
  ] as const)('%s', (_, fields, message, length) => {
    expect(framing(fields, message).length).toBe(length);
  });

  test.each([
    ['rule 3: both framings', [...LENGTH, ...CHUNKED], {}],
    ['rule 3: both framings, the other way round', [...CHUNKED, ...LENGTH], {}],
    ['both framings behind a HEAD', [...CHUNKED, ...LENGTH], { method: 'HEAD' }],
    ['rule 4: another coding', ['Transfer-Encoding', 'gzip'], {}],
    ['rule 4: a coding before chunked', ['Transfer-Encoding', 'gzip, chunked'], {}],
    ['rule 4: chunked not last', ['Transfer-Encoding', 'chunked, gzip'], {}],
    ['chunked with a parameter', ['Transfer-Encoding', 'chunked;a=b'], {}],
    ['chunked twice', [...CHUNKED, ...CHUNKED], {}],
    ['chunked twice in one field', ['Transfer-Encoding', 'chunked, chunked'], {}],
    ['no coding', ['Transfer-Encoding', ''], {}],
    ['identity', ['Transfer-Encoding', 'identity'], {}],
    ['chunks in HTTP/1.0 (RFC 9112, 6.1)', CHUNKED, { httpMinor: 0 }],
    ['rule 5: two lengths that differ', [...LENGTH, 'Content-Length', '6'], {}],
    ['rule 5: two lengths that agree', [...LENGTH, ...LENGTH], {}],
    ['rule 5: a list of lengths', ['Content-Length', '5, 5'], {}],
    ['two lengths behind a HEAD', [...LENGTH, ...LENGTH], { method: 'HEAD' }],
    ...['', '+5', '-5', '05', '00', '0x5', '5 ', '5.0', '1e3', 'five', '\xb2', '9'.repeat(16)].map(
      value => [`a length of ${JSON.stringify(value)}`, ['Content-Length', value], {}] as const,
    ),
  ] as const)('is refused: %s', (_, fields, message) => {
    expect(() => framing(fields, message)).toThrow(MalformedMessage);
  });
});

describe('the connection', () => {
  test.each([
    ['goes on in HTTP/1.1', LENGTH, {}, false],
    ['goes on where that is said', [...LENGTH, 'Connection', 'keep-alive'], {}, false],
    [
      'goes on where something else is said',
      [...LENGTH, 'Connection', 'closed, x-close, not close'],
      {},
      false,
    ],
    ['closes in HTTP/1.0 (RFC 9112, 9.3)', LENGTH, { httpMinor: 0 }, true],
    ['closes in HTTP/1.0, whatever is said', [...LENGTH, 'Connection', 'keep-alive'], { httpMinor: 0 }, true],
    ['closes where that is said', [...LENGTH, 'Connection', 'close'], {}, true],
    ['closes where that is said among others', [...LENGTH, 'connection', 'X ,\tCLOSE , y'], {}, true],
    [
      'closes where that is said in one of two',
      ['Connection', 'close', ...LENGTH, 'Connection', 'X'],
      {},
      true,
    ],
    ['closes behind a body that only it ends', [], {}, true],
    ['closes behind a 204 that announced a body', LENGTH, { status: 204 }, true],
    ['closes behind a 204 that announced chunks', CHUNKED, { status: 204 }, true],
    ['goes on behind a 204 that announced nothing', ['Content-Length', '0'], { status: 204 }, false],
    ['goes on behind a 304 that tells a length', LENGTH, { status: 304 }, false],
    ['goes on behind the response to a HEAD', LENGTH, { method: 'HEAD' }, false],
  ] as const)('%s', (_, fields, message, close) => {
    expect(framing(fields, message).close).toBe(close);
  });

  test.each([
    [[], null],
    [['Keep-Alive', 'timeout=5'], 5_000],
    [['keep-alive', 'max=100, Timeout=15'], 15_000],
    [['Keep-Alive', 'timeout=0'], 0],
    [['Keep-Alive', 'max=100'], null],
    [['Keep-Alive', 'xtimeout=5'], null],
    [['Keep-Alive', 'timeout=5x'], null],
    [['Keep-Alive', 'timeout=-5'], null],
  ] as const)('is kept as long as the server says: %j', (fields, keepAliveMs) => {
    expect(framing(fields).keepAliveMs).toBe(keepAliveMs);
  });
});

test('only Transfer-Encoding is removed from the fields', () => {
  // One name is as long as Transfer-Encoding.
  const others = ['Connection', 'X', 'X-Forwarded-Proto', '2', 'Keep-Alive', 'timeout=1'];
  expect(framing(['A', '1', ...CHUNKED, ...others]).fields).toEqual(['A', '1', ...others]);
  expect(framing(LENGTH).fields).toEqual(LENGTH);
});

import { describe, expect, test } from 'vitest';
import { RequestTerms } from '../../../../src/http1/request/request-terms.ts';

function termsOf(httpMinor: number, ...fields: string[]): RequestTerms {
  return new RequestTerms({ httpMinor, fields });
}

describe('a connection persists (RFC 9112, 9.3)', () => {
  test.each([
    ['HTTP/1.1', 1, [], true],
    ['HTTP/1.1 and close', 1, ['Connection', 'close'], false],
    ['HTTP/1.1 and close in capitals', 1, ['CONNECTION', 'CLOSE'], false],
    ['HTTP/1.1 and close among others', 1, ['Connection', 'X-A ,\tClose, keep-alive'], false],
    ['HTTP/1.1 and close in a second line', 1, ['Connection', 'keep-alive', 'Connection', 'close'], false],
    ['HTTP/1.1 and close in a first line', 1, ['Connection', 'close', 'Connection', 'keep-alive'], false],
    ['HTTP/1.1 and an option that looks alike', 1, ['Connection', 'closed, x-close, "close"'], true],
    ['HTTP/1.1 and close behind a byte that is no blank', 1, ['Connection', '\xa0close'], true],
    ['HTTP/1.1 and close in another field', 1, ['Connectiom', 'close', 'Proxy-Connection', 'close'], true],
    ['HTTP/1.0', 0, [], false],
    ['HTTP/1.0 and keep-alive', 0, ['Connection', 'Keep-Alive'], true],
    ['HTTP/1.0 and keep-alive among others', 0, ['Connection', 'X-A, keep-alive'], true],
    ['HTTP/1.0 and keep-alive behind a byte that is no blank', 0, ['Connection', '\xa0keep-alive'], false],
    ['HTTP/1.0 and something else', 0, ['Connection', 'X-A'], false],
    ['HTTP/1.0 and both', 0, ['Connection', 'keep-alive, close'], false],
    ['HTTP/1.0 and close in a second line', 0, ['Connection', 'keep-alive', 'Connection', 'close'], false],
    ['HTTP/1.0 and close in a first line', 0, ['Connection', 'close', 'Connection', 'keep-alive'], false],
    ['HTTP/1.0 and keep-alive in another field', 0, ['Keep-Alive', 'keep-alive'], false],
  ])('or not: %s', (_, httpMinor, fields, persistent) => {
    expect(termsOf(httpMinor, ...fields).persistent).toBe(persistent);
  });
});

describe('a body is awaited by 100 (RFC 9110, 10.1.1)', () => {
  test.each([
    ['where it is expected', 1, ['expect', '100-continue'], true],
    ['in any letter case', 1, ['EXPECT', '100-Continue'], true],
    ['nowhere else', 1, ['Expecx', '100-continue', 'X', '100-continue'], false],
    ['not in HTTP/1.0', 0, ['Expect', '100-continue'], false],
  ])('%s', (_, httpMinor, fields, expected) => {
    expect(termsOf(httpMinor, ...fields).expectsContinue).toBe(expected);
  });
});

describe('the framing of a body (RFC 9112, 6.3)', () => {
  const LENGTH = ['Content-Length', '5'];
  const CHUNKED = ['Transfer-Encoding', 'chunked'];
  test.each([
    ['neither field', [], 0],
    ['a length', LENGTH, 5],
    ['a length in capitals', ['CONTENT-LENGTH', '5'], 5],
    ['a length of nothing', ['content-length', '0'], 0],
    ['chunks', CHUNKED, 'chunked'],
    ['chunks in capitals', ['TRANSFER-ENCODING', 'CHUNKED'], 'chunked'],
    ['names that are as long', ['Content_Length', '5', 'Transfer_Encoding', 'chunked'], 0],
    ['names that say it elsewhere', ['X-Content-Length', '5', 'Transfer', 'chunked'], 0],
  ])('follows from %s', (_, fields, framing) => {
    expect(termsOf(1, ...fields).framing).toBe(framing);
  });

  test.each([
    ['a length twice, the same', [...LENGTH, ...LENGTH]],
    ['a length twice', [...LENGTH, 'content-length', '6']],
    ['a length twice, the first empty', ['Content-Length', '', ...LENGTH]],
    ['a coding twice', [...CHUNKED, ...CHUNKED]],
    ['a coding twice, the first empty', ['Transfer-Encoding', '', ...CHUNKED]],
    ['a length and a coding', [...LENGTH, ...CHUNKED]],
    ['a coding and a length', [...CHUNKED, ...LENGTH]],
    ['a length that is none', ['Content-Length', '05']],
    ['another coding', ['Transfer-Encoding', 'gzip, chunked']],
  ])('is refused with %s', (_, fields) => {
    expect(termsOf(1, ...fields).framing).toHaveProperty('refused');
  });

  test('is refused with chunks in HTTP/1.0 (RFC 9112, 6.1)', () => {
    expect(termsOf(0, ...CHUNKED).framing).toHaveProperty('refused');
    expect(termsOf(0, ...LENGTH).framing).toBe(5);
  });
});

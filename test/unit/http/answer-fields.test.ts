import { expect, test } from 'vitest';
import { keepAnswerFields, keepTrailerFields } from '../../../src/http/index.ts';

test('fields pass in their own letter case, order and number', () => {
  const fields = ['Set-Cookie', 'a=1', 'set-cookie', 'b=2', 'X-Caf\u00e9', '\u00ff', 'Content-Length', '3'];
  expect(keepAnswerFields(fields, 200, false)).toEqual(fields);
});

test('hop-by-hop fields and those that Connection names stay behind', () => {
  const fields = [
    'Connection',
    'close, X-Hop',
    'x-hop',
    '1',
    'Keep-Alive',
    'timeout=5',
    'Upgrade',
    'h2c',
    'Proxy-Authenticate',
    'x',
    'ETag',
    '"e"',
  ];
  expect(keepAnswerFields(fields, 200, false)).toEqual(['ETag', '"e"']);
});

test('the request id is the gateway\u2019s own', () => {
  expect(keepAnswerFields(['X-Request-Id', 'theirs'], 200, false)).toEqual([]);
});

test('a 204 has no Content-Length, and neither has an interim nor a chunked answer', () => {
  expect(keepAnswerFields(['Content-Length', '0'], 204, false)).toEqual([]);
  expect(keepAnswerFields(['Content-Length', '5'], 103, false)).toEqual([]);
  expect(keepAnswerFields(['Content-Length', '5'], 200, true)).toEqual([]);
  expect(keepAnswerFields(['Content-Length', '5'], 304, false)).toEqual(['Content-Length', '5']);
});

test('trailers are announced only where they can follow', () => {
  expect(keepAnswerFields(['Trailer', 'X-Sum'], 200, true)).toEqual(['Trailer', 'X-Sum']);
  expect(keepAnswerFields(['Trailer', 'X-Sum'], 200, false)).toEqual([]);
});

test('of trailers those that tell of the body pass, and none that a head is made of', () => {
  const fields = [
    'X-Sum',
    'a',
    'Content-Length',
    '3',
    'ETag',
    '"e"',
    'content-type',
    'text/html',
    'Via',
    '1.1 x',
  ];
  expect(keepTrailerFields(fields)).toEqual(['X-Sum', 'a', 'ETag', '"e"']);
});

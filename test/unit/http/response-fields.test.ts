import { describe, expect, test } from 'vitest';
import { keepResponseFields, keepTrailerFields, type ResponsePolicy } from '../../../src/http/index.ts';

const kept = (fields: string[], policy: Partial<ResponsePolicy> = {}) =>
  keepResponseFields(fields, { status: 200, chunked: false, rateLimits: false, cors: false, ...policy });

test('fields pass in their own letter case, order and number', () => {
  const fields = ['Set-Cookie', 'a=1', 'set-cookie', 'b=2', 'X-Caf\u00e9', '\u00ff', 'Content-Length', '3'];
  expect(kept(fields)).toEqual(fields);
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
  expect(kept(fields)).toEqual(['ETag', '"e"']);
});

test('the length of a response passes even where Connection names it', () => {
  const fields = ['Connection', 'Content-Length, X-Hop', 'X-Hop', '1', 'Content-Length', '5'];
  expect(kept(fields)).toEqual(['Content-Length', '5']);
});

test('the request id is the gateway\u2019s own', () => {
  expect(kept(['X-Request-Id', 'theirs'])).toEqual([]);
});

test('a field that is only like one of the gateway is none of its own', () => {
  const fields = ['X.Request.Id', 'theirs', 'Keep_Alive', '1', 'Content~Length', '5'];
  expect(kept(fields)).toEqual(fields);
});

test('a 204 has no Content-Length, and neither has an interim nor a chunked response', () => {
  expect(kept(['Content-Length', '0'], { status: 204 })).toEqual([]);
  expect(kept(['Content-Length', '5'], { status: 103 })).toEqual([]);
  expect(kept(['Content-Length', '5'], { chunked: true })).toEqual([]);
  expect(kept(['Content-Length', '5'], { status: 304 })).toEqual(['Content-Length', '5']);
});

test('trailers are announced only where they can follow', () => {
  expect(kept(['Trailer', 'X-Sum'], { chunked: true })).toEqual(['Trailer', 'X-Sum']);
  expect(kept(['Trailer', 'X-Sum'])).toEqual([]);
});

describe('rate-limit fields of an upstream', () => {
  const theirs = ['X-RateLimit-Limit', '5', 'x-ratelimit-reset-after', '1.5', 'X_RateLimit_Scope', 'user'];
  const odd = ['X.RateLimit.Limit', '5', 'X~RateLimit-Global', 'true'];

  test('stay behind, in every spelling', () => {
    expect(kept([...theirs, ...odd, 'ETag', '"e"'])).toEqual(['ETag', '"e"']);
  });

  test('pass where the response speaks for itself', () => {
    expect(kept(theirs, { rateLimits: true })).toEqual(theirs);
  });
});

describe('CORS fields of an upstream', () => {
  const theirs = ['Access-Control-Allow-Origin', '*', 'access-control-allow-credentials', 'true'];

  test('pass where the gateway has no rules of its own', () => {
    expect(kept(theirs, { cors: true })).toEqual(theirs);
  });

  test('stay behind where it has', () => {
    expect(kept(theirs)).toEqual([]);
  });
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

test('nor do trailers pass that some reader takes for such, nor those that tell a browser who may read', () => {
  const fields = ['Content.Length', '3', 'X~RateLimit_Scope', 'user', 'Access-Control-Allow-Origin', '*'];
  expect(keepTrailerFields(fields)).toEqual([]);
});

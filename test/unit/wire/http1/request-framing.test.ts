import { describe, expect, test } from 'vitest';
import { type RequestFraming, requestFraming } from '../../../../src/wire/http1/request-framing.ts';

function framingOf(httpMinor: number, ...fields: string[]): RequestFraming {
  return requestFraming(fields, httpMinor);
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
    expect(framingOf(httpMinor, ...fields).persistent).toBe(persistent);
  });
});

describe('a request asks for a WebSocket (RFC 9110, 7.8)', () => {
  test.each([
    ['with both fields', 1, ['Connection', 'Upgrade', 'Upgrade', 'websocket'], 'websocket'],
    ['in any letter case', 1, ['UPGRADE', 'WebSocket', 'connection', 'keep-alive, upgrade'], 'websocket'],
    [
      'in two lines of Connection',
      1,
      ['Connection', 'a', 'Connection', 'upgrade', 'Upgrade', 'websocket'],
      'websocket',
    ],
    ['not without Connection', 1, ['Connection', 'keep-alive', 'Upgrade', 'websocket'], 'none'],
    ['not in HTTP/1.0', 0, ['Connection', 'Upgrade', 'Upgrade', 'websocket'], 'none'],
    ['not with another protocol', 1, ['Connection', 'Upgrade', 'Upgrade', 'h2c'], 'none'],
    ['not behind another', 1, ['Connection', 'Upgrade', 'Upgrade', 'h2c', 'Upgrade', 'websocket'], 'none'],
    ['not beside another', 1, ['Connection', 'Upgrade', 'Upgrade', 'websocket', 'Upgrade', 'h2c'], 'none'],
  ] as const)('%s', (_, httpMinor, fields, upgrade) => {
    const framing = framingOf(httpMinor, ...fields);
    expect(framing.upgrade).toBe(upgrade);
    // Behind a handshake come frames.
    if (upgrade === 'websocket') expect(framing.persistent).toBe(false);
  });
});

describe('a client waits for 100 before it sends the body (RFC 9110, 10.1.1)', () => {
  test.each([
    ['where it expects that', 1, ['expect', '100-continue'], 'continue'],
    ['in any letter case', 1, ['EXPECT', '100-Continue'], 'continue'],
    ['not with another field', 1, ['Expecx', '100-continue', 'X', '100-continue'], 'none'],
    ['not in HTTP/1.0', 0, ['Expect', '100-continue'], 'none'],
    ['where it expects nothing', 1, ['Expect', ''], 'none'],
    ['or expects something that is not known here', 1, ['Expect', '100-continue, x'], 'unknown'],
  ] as const)('%s', (_, httpMinor, fields, expectation) => {
    expect(framingOf(httpMinor, ...fields).expectation).toBe(expectation);
  });
});

describe('the length of a body (RFC 9112, 6.3)', () => {
  const LENGTH = ['Content-Length', '5'];
  const CHUNKED = ['Transfer-Encoding', 'chunked'];
  test.each([
    ['neither field', [], 0],
    ['a length', LENGTH, 5],
    ['a length in capitals', ['CONTENT-LENGTH', '5'], 5],
    ['a length of nothing', ['content-length', '0'], 0],
    ['a length of 15 digits', ['Content-Length', '999999999999999'], 999_999_999_999_999],
    ['chunks', CHUNKED, 'chunked'],
    ['chunks in capitals', ['TRANSFER-ENCODING', 'CHUNKED'], 'chunked'],
    ['names that are as long', ['Content_Length', '5', 'Transfer_Encoding', 'chunked'], 0],
    ['names that say it elsewhere', ['X-Content-Length', '5', 'Transfer', 'chunked'], 0],
  ])('follows from %s', (_, fields, bodyLength) => {
    expect(framingOf(1, ...fields).bodyLength).toBe(bodyLength);
  });

  test.each([
    ['a length twice, the same', [...LENGTH, ...LENGTH]],
    ['a length twice', [...LENGTH, 'content-length', '6']],
    ['a length twice, the first empty', ['Content-Length', '', ...LENGTH]],
    ['a coding twice', [...CHUNKED, ...CHUNKED]],
    ['a coding twice, the first empty', ['Transfer-Encoding', '', ...CHUNKED]],
    ['a length and a coding', [...LENGTH, ...CHUNKED]],
    ['a coding and a length', [...CHUNKED, ...LENGTH]],
    ['a length with a leading zero', ['Content-Length', '05']],
    ['another coding', ['Transfer-Encoding', 'gzip, chunked']],
    ['an expectation twice', ['Expect', '100-continue', 'expect', '100-continue']],
  ])('is rejected with %s', (_, fields) => {
    expect(framingOf(1, ...fields).bodyLength).toHaveProperty('rejected');
  });

  test('is rejected with chunks in HTTP/1.0 (RFC 9112, 6.1)', () => {
    expect(framingOf(0, ...CHUNKED).bodyLength).toHaveProperty('rejected');
    expect(framingOf(0, ...LENGTH).bodyLength).toBe(5);
  });

  test.each(['010', '00', '+5', '-1', '5, 5', '0x5', '5 ', '', '1000000000000000', '٣'])(
    'Content-Length "%s" is rejected',
    value => {
      expect(framingOf(1, 'Content-Length', value).bodyLength).toHaveProperty('rejected');
    },
  );

  test.each([',chunked', 'gzip, chunked', 'chunked;x', 'identity', 'chunked, chunked', ''])(
    'Transfer-Encoding "%s" is rejected',
    value => {
      expect(framingOf(1, 'Transfer-Encoding', value).bodyLength).toHaveProperty('rejected');
    },
  );
});

test.each([
  ['none without Connection', [], []],
  ['none where it only speaks of the connection', ['Connection', 'keep-alive', 'Connection', 'Close'], []],
  [
    'those of every line, in lower case',
    ['Connection', 'close, X-A', 'connection', ' X-B ,,te'],
    ['x-a', 'x-b', 'te'],
  ],
])('the fields that end at this hop: %s (RFC 9110, 7.6.1)', (_, fields, hopFields) => {
  expect(framingOf(1, ...fields).hopFields).toEqual(hopFields);
});

import { describe, expect, test } from 'vitest';
import { ChunkedBody } from '../../../../src/wire/http1/chunked-body.ts';
import { MalformedMessage } from '../../../../src/wire/http1/message.ts';

/** What the pieces, each in one read, decode to; `behind` is what is left of the last. */
function decode(...pieces: string[]) {
  return decodeWithin(16_384, ...pieces);
}

function decodeWithin(maxExtensionBytes: number, ...pieces: string[]) {
  let text = '';
  const body = new ChunkedBody((bytes, from, to) => {
    expect(to).toBeGreaterThan(from);
    text += Buffer.from(bytes.subarray(from, to)).toString('latin1');
  }, maxExtensionBytes);
  let behind = '';
  for (const piece of pieces) {
    const bytes = Buffer.from(piece, 'latin1');
    behind = piece.slice(body.decode(bytes, 0, bytes.length));
  }
  return { text, done: body.done, trailers: body.trailers, behind };
}

const whole = (text: string, trailers: string[] = [], behind = '') => ({
  text,
  done: true,
  trailers,
  behind,
});

describe('a body in chunks (RFC 9112, 7.1)', () => {
  test.each([
    ['none', '0\r\n\r\n', ''],
    ['one', '5\r\nhello\r\n0\r\n\r\n', 'hello'],
    ['more chunks than a size may have digits', `${'1\r\nx\r\n'.repeat(50)}0\r\n\r\n`, 'x'.repeat(50)],
    ['several', '1\r\nh\r\n4\r\nello\r\n0\r\n\r\n', 'hello'],
    ['a size in capitals', `A\r\n${'x'.repeat(10)}\r\n0\r\n\r\n`, 'x'.repeat(10)],
    ['a size in small letters', `1f\r\n${'x'.repeat(31)}\r\n0\r\n\r\n`, 'x'.repeat(31)],
    ['zeros before a size', '0005\r\nhello\r\n000\r\n\r\n', 'hello'],
    ['a size of 12 digits', '000000000005\r\nhello\r\n0\r\n\r\n', 'hello'],
    ['an extension of 255 bytes and its CR', `1;${'a'.repeat(255)}\r\nx\r\n0\r\n\r\n`, 'x'],
    ['data that looks like chunks', '5\r\n0\r\n\r\n\r\n0\r\n\r\n', '0\r\n\r\n'],
    ['extensions (7.1.1)', '5;a\r\nhello\r\n0;b=c;d="e;\\"f"\r\n\r\n', 'hello'],
    ['extensions with all that may be in quotes', '1;a="";b="\t \xff\\\\\\\t";c\r\nx\r\n0\r\n\r\n', 'x'],
  ])('is whole: %s', (_, bytes, text) => {
    expect(decode(bytes)).toEqual(whole(text));
    expect(decode(...bytes)).toEqual(whole(text));
    for (let at = 1; at < bytes.length; at++)
      expect(decode(bytes.slice(0, at), bytes.slice(at))).toEqual(whole(text));
    for (let end = 0; end < bytes.length; end++) expect(decode(bytes.slice(0, end)).done).toBe(false);
  });

  test('keeps every byte', () => {
    const bytes = Array.from({ length: 256 }, (_, i) => String.fromCharCode(i)).join('');
    expect(decode(`100\r\n${bytes}\r\n0\r\n\r\n`)).toEqual(whole(bytes));
  });

  test('leaves the bytes that follow', () => {
    expect(decode('1\r\nx\r\n0\r\n\r\nHTTP/1.1')).toEqual(whole('x', [], 'HTTP/1.1'));
    expect(decode('0\r\nA: b\r\n\r\nHTTP/1.1')).toEqual(whole('', ['A', 'b'], 'HTTP/1.1'));
    expect(decode('0\r\nA: ', 'b\r\n\r', '\nHTTP')).toEqual(whole('', ['A', 'b'], 'HTTP'));
  });

  test.each([
    ['no size', '\r\nhello\r\n'],
    ['no size but an extension', ';a\r\n'],
    ['a size without a digit', 'x\r\n'],
    ['a size with a sign', '+5\r\nhello\r\n'],
    ['a size with a prefix', '0x5\r\nhello\r\n'],
    ['a blank before a size', ' 5\r\nhello\r\n'],
    ['a blank behind a size', '5 \r\nhello\r\n'],
    ['a size of 13 digits', '0000000000005\r\nhello\r\n'],
    ['a size past all bounds', 'ffffffffffffffff\r\n'],
    ['a size line that ends in LF (2.2)', '5\nhello\r\n'],
    ['a size line with a bare CR', '5\rhello\r\n'],
    ['a size line with two CR', '5\r\r\nhello'],
    ['a chunk longer than its size', '5\r\nhello!\r\n'],
    ['a chunk that ends in LF', '5\r\nhello\n0\r\n\r\n'],
    ['a chunk that ends in CR', '5\r\nhello\r0\r\n\r\n'],
    ['an empty extension', '5;\r\nhello\r\n'],
    ['an extension without a name', '5;=b\r\nhello\r\n'],
    ['an extension without its value', '5;a=\r\nhello\r\n'],
    ['an extension with blanks', '5; a\r\nhello\r\n'],
    ['an extension with two values', '5;a=b=c\r\nhello\r\n'],
    ['an extension with more behind a quote', '5;a="b"c\r\nhello\r\n'],
    ['an extension with a quote in a name', '5;a"b\r\nhello\r\n'],
    ['an extension with an escaped control byte', '5;a="\\\0"\r\nhello\r\n'],
    ['an extension that ends in an escape', '5;a="b\\\r\nhello\r\n'],
    ['an extension with a byte above 0x7f outside of quotes', '5;a=\xff\r\nhello\r\n'],
    ['an extension with an open quote', '5;a="b\r\nhello\r\n'],
    ['an extension with a control byte', '5;a\0\r\nhello\r\n'],
    ['an extension with a bare LF', '5;a\nhello\r\n'],
    ['an extension of 257 bytes', `5;${'a'.repeat(256)}\r\nhello\r\n`],
    ['an extension without end', `5;${'a'.repeat(300)}\r\nhello\r\n`],
    ['a trailer that is no field', '0\r\nA : b\r\n\r\n'],
    ['a trailer with a control byte', '0\r\nA: \0\r\n\r\n'],
    ['a trailer continued', '0\r\nA: b\r\n c\r\n\r\n'],
    ['a last line that ends in LF', '0\r\n\n'],
    ['a last line of another byte and LF', '0\r\nX\n\r\n'],
    ['a last line with a bare CR', '0\r\n\rX'],
    ['trailers without end', `0\r\n${'A: b\r\n'.repeat(2_000)}`],
    ['a trailer without end', `0\r\nA: ${'b'.repeat(9_000)}`],
    ['a length as a trailer (RFC 9110, 6.5.1)', '0\r\nContent-Length: 5\r\n\r\n'],
    ['a coding as a trailer', '0\r\ntransfer-encoding: chunked\r\n\r\n'],
  ])('is refused with %s', (_, bytes) => {
    expect(() => decode(bytes)).toThrow(MalformedMessage);
    expect(() => decode(...bytes)).toThrow(MalformedMessage);
  });

  test('may have extensions up to a total limit, in any number of chunks and pieces', () => {
    const extended = (chunks: number) => `1;${'a'.repeat(199)}\r\nx\r\n`.repeat(chunks);
    expect(decode(`${extended(80)}0\r\n\r\n`).text).toHaveLength(80);
    expect(decode(...`${extended(80)}0\r\n\r\n`).text).toHaveLength(80);
    expect(() => decode(extended(82))).toThrow(MalformedMessage);
    expect(() => decode(...extended(82))).toThrow(MalformedMessage);
    expect(decodeWithin(Number.POSITIVE_INFINITY, `${extended(1_000)}0\r\n\r\n`).text).toHaveLength(1_000);
  });

  test('has trailers, as they came', () => {
    const bytes = '2\r\nok\r\n0\r\nX-Sum: a\xe9\r\nx-SUM:b\r\n\r\n';
    const expected = whole('ok', ['X-Sum', 'a\xe9', 'x-SUM', 'b']);
    for (let at = 1; at < bytes.length; at++)
      expect(decode(bytes.slice(0, at), bytes.slice(at))).toEqual(expected);
    expect(decode(...bytes)).toEqual(expected);
  });

  test('may have extensions of just as many bytes', () => {
    expect(decodeWithin(4, '1;a\r\nx\r\n0;b\r\n\r\n').done).toBe(true);
    expect(() => decodeWithin(3, '1;a\r\nx\r\n0;b\r\n\r\n')).toThrow(MalformedMessage);
  });

  test('has no end in bytes that an earlier read left behind those of this one', () => {
    const body = new ChunkedBody(() => {}, 0);
    const bytes = Buffer.from('0\r\n\r\n');
    expect([body.decode(bytes, 0, 4), body.done]).toEqual([4, false]);
  });

  test('limits its trailers even if they come in one read with much more behind them', () => {
    expect(() => decode(`0\r\n${'A: b\r\n'.repeat(300)}X: ${'y'.repeat(60_000)}\r\n\r\n`)).toThrow(
      MalformedMessage,
    );
    expect(decode(`0\r\n\r\n${'y'.repeat(60_000)}`).behind).toHaveLength(60_000);
  });
});

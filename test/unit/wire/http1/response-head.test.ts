import { describe, expect, test } from 'vitest';
import { MalformedMessage } from '../../../../src/wire/http1/message.ts';
import { type ResponseHead, readResponseHead } from '../../../../src/wire/http1/response-head.ts';

function read(text: string): ResponseHead | null {
  const bytes = Buffer.from(text, 'latin1');
  return readResponseHead(bytes, bytes.length, text);
}

const all = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, i) => String.fromCharCode(from + i));

describe('a status line', () => {
  test.each([
    ['HTTP/1.1 200 OK', 1, 200, 'OK'],
    ['HTTP/1.0 404 Not Found', 0, 404, 'Not Found'],
    ['HTTP/1.1 100 ', 1, 100, ''],
    ['HTTP/1.1 999  two  blanks ', 1, 999, ' two  blanks '],
    ['HTTP/1.1 200 a\tb\xe9\x80\xff', 1, 200, 'a\tb\xe9\x80\xff'],
    // RFC 9112, 4 wants the blank even before an empty reason; many a server leaves it out.
    ['HTTP/1.1 200', 1, 200, ''],
  ])('has a version, a status and a reason: %j', (line, httpMinor, status, reason) => {
    const text = `${line}\r\n\r\n`;
    expect(read(text)).toEqual({ httpMinor, status, reason, fields: [], bytes: text.length });
  });

  test.each([
    ['another protocol', 'HTTP/2.0 200 OK'],
    ['another protocol whose name begins alike', 'HTTPS/1.1 200 OK'],
    ['a version in small letters (RFC 9112, 2.3)', 'http/1.1 200 OK'],
    ['an undefined version', 'HTTP/1.2 200 OK'],
    ['a version of two digits', 'HTTP/1.11 200 OK'],
    ['no blank behind the version', 'HTTP/1.1200 OK'],
    ['two blanks behind the version', 'HTTP/1.1  200 OK'],
    ['a tab behind the version', 'HTTP/1.1\t200 OK'],
    ['a status of two digits (RFC 9112, 4)', 'HTTP/1.1 20 OK'],
    ['a status of four digits', 'HTTP/1.1 2000 OK'],
    ['a status below 100', 'HTTP/1.1 099 OK'],
    ['a status of zeros', 'HTTP/1.1 000 OK'],
    ['a status with a sign', 'HTTP/1.1 +20 OK'],
    ['a status with a slash', 'HTTP/1.1 2/0 OK'],
    ['a version that ends in a slash', 'HTTP/1./ 200 OK'],
    ['a status in letters', 'HTTP/1.1 abc OK'],
    ['no status', 'HTTP/1.1  OK    '],
    ['a tab before the reason', 'HTTP/1.1 200\tOK'],
    ['an empty line before it', '\r\nHTTP/1.1 200 OK'],
    ['a blank before it', ' HTTP/1.1 200 OK'],
  ])('is refused with %s', (_, line) => {
    expect(() => read(`${line}\r\n\r\n`)).toThrow(MalformedMessage);
  });

  test('is refused with a control byte in the reason, whichever', () => {
    for (const byte of [...all(0, 9), ...all(10, 32), '\x7f']) {
      expect(() => read(`HTTP/1.1 200 O${byte}K\r\n\r\n`), JSON.stringify(byte)).toThrow(MalformedMessage);
    }
  });
});

describe('a field', () => {
  const fieldsOf = (lines: string) => read(`HTTP/1.1 200 OK\r\n${lines}\r\n\r\n`)?.fields;

  test.each([
    ['A: b', ['A', 'b']],
    ['A:b', ['A', 'b']],
    ['a-B_c.1: b', ['a-B_c.1', 'b']],
    ['A:', ['A', '']],
    ['A: ', ['A', '']],
    ['A: \t b \t ', ['A', 'b']],
    ['A: b  c', ['A', 'b  c']],
    ['A: b:c', ['A', 'b:c']],
    ['A: 1\r\na: 2\r\nA: 1', ['A', '1', 'a', '2', 'A', '1']],
    ['__proto__: x', ['__proto__', 'x']],
  ])('has a name and a value without the blanks around it (RFC 9112, 5.1): %j', (lines, fields) => {
    expect(fieldsOf(lines)).toEqual(fields);
  });

  test('has a name of token characters and no others (RFC 9110, 5.6.2)', () => {
    const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]$/;
    for (const character of all(0, 256)) {
      const line = `X${character}Y: v`;
      if (token.test(character)) expect(fieldsOf(line)).toEqual([`X${character}Y`, 'v']);
      else if (character === ':') expect(fieldsOf(line)).toEqual(['X', 'Y: v']);
      else expect(() => fieldsOf(line), JSON.stringify(character)).toThrow(MalformedMessage);
    }
  });

  test('has a value of every byte but control bytes (RFC 9110, 5.5)', () => {
    for (const character of all(0, 256)) {
      const lines = `X: a${character}b`;
      if (character === '\t' || (character >= ' ' && character !== '\x7f'))
        expect(fieldsOf(lines)).toEqual(['X', `a${character}b`]);
      else expect(() => fieldsOf(lines), JSON.stringify(character)).toThrow(MalformedMessage);
    }
  });

  test.each([
    ['a blank before the colon (RFC 9112, 5.1)', 'A : b'],
    ['a tab before the colon', 'A\t: b'],
    ['no name', ': b'],
    ['no colon', 'A'],
    ['a continuation (RFC 9112, 5.2)', 'A: b\r\n c'],
    ['a continuation by a tab', 'A: b\r\n\tc'],
    ['a continuation as the first line', ' A: b'],
    ['a bare LF (RFC 9112, 2.2)', 'A: b\nB: c'],
    ['a bare CR', 'A: b\rB: c'],
    ['two CR', 'A: b\r\r\nB: c'],
  ])('is refused with %s', (_, lines) => {
    expect(() => fieldsOf(lines)).toThrow(MalformedMessage);
  });

  test('is refused as the 501st', () => {
    expect(fieldsOf(Array(500).fill('A: b').join('\r\n'))).toHaveLength(1_000);
    expect(() => fieldsOf(Array(501).fill('A: b').join('\r\n'))).toThrow('too many fields');
  });
});

describe('the end of a head', () => {
  const HEAD = 'HTTP/1.1 200 OK\r\nA: b\r\nLong-Name: some value \r\n\r\n';

  test('is not there before its last byte', () => {
    for (let end = 0; end < HEAD.length; end++) expect(read(HEAD.slice(0, end)), `${end}`).toBeNull();
    expect(read(HEAD)?.bytes).toBe(HEAD.length);
  });

  test('is found, whatever follows', () => {
    expect(read(`${HEAD}\0\r\n\r\nHTTP/1.1`)?.bytes).toBe(HEAD.length);
  });

  test('is a CR and an LF', () => {
    expect(() => read(`HTTP/1.1 200 OK\r\nA: b\r\n\rX`)).toThrow(MalformedMessage);
    expect(() => read(`HTTP/1.1 200 OK\r\nA: b\r\n\n`)).toThrow(MalformedMessage);
    expect(() => read(`HTTP/1.1 200 OK\n\n`)).toThrow(MalformedMessage);
  });

  test.each([
    ['S', 'SSH-2.0'],
    ['a byte of another protocol', '\x16\x03\x01'],
    ['a wrong letter', 'HTTP/1x'],
    ['a wrong version', 'HTTP/1.3 200 '],
    ['a control byte in the reason', 'HTTP/1.1 200 a\0'],
    ['a control byte in a value', 'HTTP/1.1 200 OK\r\nA: \0'],
    ['a blank in a name', 'HTTP/1.1 200 OK\r\nA '],
  ])('is rejected at once if no further byte could make it a response: %s', (_, text) => {
    expect(() => read(text)).toThrow(MalformedMessage);
  });
});

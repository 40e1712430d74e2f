import { describe, expect, test } from 'vitest';
import {
  interimResponse,
  type ResponseTerms,
  responseHead,
} from '../../../../src/wire/http1/response-head.ts';

const DATE = 'Thu, 01 Jan 1970 00:00:00 GMT';
const CLOSING: ResponseTerms = { date: DATE, keepAliveHint: null, chunked: false };

/** The lines of a head, and whether it ends as a head does. */
function lines(fields: string[], terms: Partial<ResponseTerms> = {}, status = 200, reason = 'OK'): string[] {
  const head = responseHead(status, reason, fields, { ...CLOSING, ...terms });
  expect(head.endsWith('\r\n\r\n')).toBe(true);
  return head.slice(0, -4).split('\r\n');
}

describe('the head of a response', () => {
  test('begins with a status line of our own version, its reason empty or not (RFC 9112, 4)', () => {
    expect(lines([], {}, 404, 'Not Found')[0]).toBe('HTTP/1.1 404 Not Found');
    expect(lines([], {}, 299, '')[0]).toBe('HTTP/1.1 299 ');
  });

  test('has the fields in their order and letter case', () => {
    const head = lines(['Set-Cookie', 'a', 'x-LOW', '', 'Set-Cookie', 'b']);
    expect(head.slice(1, 4)).toEqual(['Set-Cookie: a', 'x-LOW: ', 'Set-Cookie: b']);
  });

  test('passes every byte of a reason and a value unchanged', () => {
    const characters = Array.from({ length: 256 }, (_, byte) => String.fromCharCode(byte));
    for (const [byte, character] of characters.entries()) {
      const head = responseHead(200, `<${character}>`, ['X', `[${character}]`], CLOSING);
      const bytes = Buffer.from(head, 'latin1');
      expect(bytes[bytes.indexOf('X: [') + 4]).toBe(byte);
      expect(bytes.toString('latin1')).toBe(head);
      expect(head).toContain(`<${character}>\r\nX: [${character}]\r\n`);
    }
  });

  test('has one Date, its own if it came with one, in any letter case (RFC 9110, 6.6.1)', () => {
    expect(lines([]).filter(line => /^date:/i.test(line))).toEqual([`Date: ${DATE}`]);
    for (const name of ['Date', 'date', 'DATE'])
      expect(lines([name, 'then']).filter(line => /^date:/i.test(line))).toEqual([`${name}: then`]);
    expect(lines(['Dato', 'x', 'X-Date', 'y', 'Age', 'Date'])).toContain(`Date: ${DATE}`);
  });

  test('says that the connection closes, or how long it is kept (RFC 9112, 9.3)', () => {
    const connection = (terms: Partial<ResponseTerms>) =>
      lines(['A', 'b'], terms).filter(line => /^(?:connection|keep-alive):/i.test(line));
    expect(connection({ keepAliveHint: null })).toEqual(['Connection: close']);
    expect(connection({ keepAliveHint: 'timeout=5' })).toEqual([
      'Connection: keep-alive',
      'Keep-Alive: timeout=5',
    ]);
  });

  test('says that the body is chunked if and only if it is (RFC 9112, 6.1)', () => {
    for (const keepAliveHint of [null, 'timeout=5']) {
      const coding = (chunked: boolean) =>
        lines([], { keepAliveHint, chunked }).filter(line => /^transfer/i.test(line));
      expect(coding(true)).toEqual(['Transfer-Encoding: chunked']);
      expect(coding(false)).toEqual([]);
    }
  });
});

test('an interim response has its fields and nothing else (RFC 9110, 15.2)', () => {
  expect(interimResponse(103, 'Early Hints', ['Link', '<\xe9>', 'link', 'b'])).toBe(
    'HTTP/1.1 103 Early Hints\r\nLink: <\xe9>\r\nlink: b\r\n\r\n',
  );
  expect(interimResponse(199, '', [])).toBe('HTTP/1.1 199 \r\n\r\n');
});
